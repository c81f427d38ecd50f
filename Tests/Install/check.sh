#!/usr/bin/env bash
# Usage: check.sh FOLDER. Installs into folders of it with spaces in their names, builds a program with what pkg-config
# says, runs it, also under valgrind, and uninstalls: nothing is left then.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

folder=$1
rm -rf "$folder"
mkdir -p "$folder"
root="$folder/the root" prefix="/opt/my tools" libraries="/opt/my tools/lib 64"
where=(DESTDIR="$root" PREFIX="$prefix" LIBDIR="$libraries")

# What others have put there stays.
mkdir -p "$root$prefix/include"
touch "$root$prefix/include/other.h"
make --no-print-directory install "${where[@]}" > /dev/null
for file in "include/holdfast.hpp" "include/holdfast/status.h" "include/holdfast/testing.h" "share/doc/holdfast/LICENSE" \
    "share/doc/holdfast/holdfast.supp" "lib 64/libholdfast.so" "lib 64/pkgconfig/holdfast.pc"; do
    [ -s "$root$prefix/$file" ] || fail "$file is not installed"
done

export PKG_CONFIG_PATH="$root$libraries/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
# The names with spaces come quoted.
eval "flags=($(pkg-config --cflags --libs holdfast))"
cc -Wall -Wextra -Werror -pthread Tests/Install/program.c -o "$folder/program" "${flags[@]}"
export LD_LIBRARY_PATH="$root$libraries"
"$folder/program" "$folder/songs.db" || fail "the program ended with $?"
valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
    --suppressions="$root$prefix/share/doc/holdfast/holdfast.supp" "$folder/program" "$folder/more.db" ||
    fail "valgrind finds something in the program"

# What a debugger asks for lies beside the library.
linked=$(readelf --string-dump=.gnu_debuglink "$root$libraries/libholdfast.so" | grep -o 'libholdfast[^ ]*debug')
position=$(nm "$root$libraries/$linked" | awk '$3 ~ /18hf_repository_save.*tF$/ && !found++ { print $1 }')
line=$(addr2line -e "$root$libraries/$linked" "$position")
[[ $line == *Repositories.swift:* ]] || fail "hf_repository_save is said to be in $line"

make --no-print-directory uninstall "${where[@]}" > /dev/null
left=$(cd "$root" && find . ! -type d)
[ "$left" = "./opt/my tools/include/other.h" ] || fail "left after uninstalling: $left"
left=$(cd "$root" && find . -type d -empty)
[ -z "$left" ] || fail "empty folders are left: $left"
echo "installed, used under valgrind, and uninstalled"
