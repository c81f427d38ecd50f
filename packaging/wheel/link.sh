#!/usr/bin/env bash
# Usage: link.sh BUILD SONAME OUTPUT. Links the objects that `make library` has compiled once more, for a wheel: with the C++
# runtime inside, with what glibc 2.34 lacks, and with locks that bear another SQLite in the process.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 soname=$2 output=$3
work=$(dirname "$output")
mkdir -p "$work/static"

for part in sqlite_locks older_glibc; do
    cc -std=c99 -O2 -fPIC -fno-builtin-hypotf -Wall -Wextra -Werror -c "packaging/wheel/$part.c" -o "$work/$part.o"
done
# The linker takes the first that it finds: of the C++ runtime only the archive lies here.
ln -sf "$(c++ -print-file-name=libstdc++.a)" "$work/static/"

wrapped=$(make --no-print-directory runtime-wrapped)
swiftc -emit-library -o "$output" -static-stdlib -module-name holdfast \
    "@$build/release-library/release/holdfast.product/Objects.LinkFileList" "$work/sqlite_locks.o" "$work/older_glibc.o" \
    "-L$work/static" -l:libstemmer.a -ljansson -lpcre2-8 -lsqlite3 \
    -Xlinker "--version-script=$PWD/bindings/c/exports.map" -Xlinker --gc-sections \
    -Xlinker "-soname=$soname" -Xlinker -z -Xlinker nodelete \
    $(for function in $wrapped; do echo -Xlinker "--wrap=$function"; done)
objcopy --strip-all "$output"
