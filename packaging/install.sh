#!/usr/bin/env bash
# Usage: install.sh ROOT PREFIX LIBDIR LIBRARY VERSION SONAME. Puts the library, the headers, the files of pkg-config and CMake,
# and the contract as data below ROOT, as they lie under PREFIX and LIBDIR. Needs no make of the whole.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$1 prefix=$2 libraries=$3 library=$4 version=$5 soname=$6

install -d "$root$libraries/pkgconfig" "$root$libraries/cmake/Holdfast" "$root$prefix/include/holdfast" \
    "$root$prefix/share/holdfast"
install -m 644 "$library" "$root$libraries/libholdfast.so.$version"
ln -sf "libholdfast.so.$version" "$root$libraries/$soname"
ln -sf "$soname" "$root$libraries/libholdfast.so"
install -m 644 include/holdfast.h bindings/cpp/holdfast.hpp "$root$prefix/include/"
install -m 644 include/holdfast/*.h bindings/c/include/holdfast/testing.h "$root$prefix/include/holdfast/"
install -m 644 bindings/abi/holdfast-abi.json bindings/c/holdfast.supp "$root$prefix/share/holdfast/"
sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libraries|" -e "s|@VERSION@|$version|" bindings/c/holdfast.pc.in \
    > "$root$libraries/pkgconfig/holdfast.pc"
relative=$(realpath --no-symlinks --canonicalize-missing --relative-to="$libraries/cmake/Holdfast" "${prefix:-/}")
for file in HoldfastConfig HoldfastConfigVersion; do
    sed -e "s|@RELATIVE@|$relative|" -e "s|@VERSION@|$version|" -e "s|@SONAME@|$soname|" \
        "packaging/cmake/$file.cmake.in" > "$root$libraries/cmake/Holdfast/$file.cmake"
done
