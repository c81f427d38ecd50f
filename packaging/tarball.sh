#!/usr/bin/env bash
# Usage: tarball.sh PYTHON LIBRARY VERSION SONAME WORK OUTPUT. Packs library, headers, files of pkg-config and CMake, licences
# and what it is made of. PYTHON has cyclonedx.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 library=$2 version=$3 soname=$4 work=$5 output=$6
: "${SOURCE_DATE_EPOCH:?}"
name=holdfast-$version-linux-x86_64
rm -rf "$work" "$output"/holdfast-*.tar.zst
mkdir -p "$work/$name/licences" "$output"

packaging/install.sh "$work/$name" "" /lib "$library" "$version" "$soname"
# It may lie anywhere.
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|; s|^libdir=.*|libdir=${prefix}/lib|' "$work/$name/lib/pkgconfig/holdfast.pc"
"$python" packaging/sbom.py "$library" "$version" > "$work/$name/share/holdfast/sbom.cdx.json"
packaging/licences.sh "$work/$name/licences/"
cp LICENSE "$work/$name/licences/holdfast"
git ls-files -z docs | tar --create --null --files-from=- | tar --extract -C "$work/$name/share/holdfast"
sed "s|@VERSION@|$version|" packaging/README.tarball > "$work/$name/README"

tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" -C "$work" "$name" | zstd --quiet -19 -T1 > "$output/$name.tar.zst"
