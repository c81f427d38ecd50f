#!/usr/bin/env bash
# Usage: debian.sh PYTHON LIBRARY VERSION WORK OUTPUT. Builds Debian's source package and its binary packages into OUTPUT, from
# what git has. PYTHON has click, rich and prompt_toolkit, for the command's manual page and completions.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 library=$2 version=$3 work=$4 output=$5
: "${SOURCE_DATE_EPOCH:?}"
sources=$work/holdfast-$version
rm -rf "$work" "$output"/holdfast_[0-9]* "$output"/libholdfast* "$output"/python3-holdfast*
mkdir -p "$sources" "$output"

git ls-files -z | tar --create --null --files-from=- | tar --extract -C "$sources"
find "$sources" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" -C "$work" "holdfast-$version" | xz -T1 > "$work/holdfast_$version.orig.tar.xz"

cp -r "$sources/packaging/debian" "$sources/debian"
HOLDFAST_LIBRARY=$library PYTHONPATH=bindings/python PYTHONDONTWRITEBYTECODE=1 \
    "$python" packaging/generated.py "$sources/debian" "$version"
# The text of the licence, as Debian's format wants it.
sed 's/^$/./; s/^/ /' LICENSE > "$work/licence"
sed -i -e "/^@MIT@$/{r $work/licence
    d}" "$sources/debian/copyright"
cat > "$sources/debian/changelog" <<END
holdfast ($version-1) unstable; urgency=medium

  * See /usr/share/doc/libholdfast0/changelog.gz.

 -- The Holdfast authors <authors@holdfast.example>  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END

cd "$sources"
HOLDFAST_LIBRARY=$library dpkg-buildpackage --unsigned-source --unsigned-changes --no-check-builddeps > "$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; exit 1; }
cp ../*.deb ../*.dsc ../*.tar.xz ../*.changes ../*.buildinfo "$output"
