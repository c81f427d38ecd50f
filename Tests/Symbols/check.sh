#!/usr/bin/env bash
# Usage: check.sh <library> <soname>. Checks that the library exports exactly the functions of the headers,
# needs nothing that a host may not have, carries no run path and no publishers, and stays small.
set -euo pipefail

library=$(realpath "$1")
soname=$2
cd "$(dirname "$0")/../.."

largest=$((12 * 1024 * 1024 - 256 * 1024))
allowed='^(libc|libm|libstdc\+\+|libgcc_s|libjansson|libpcre2-8|libsqlite3|ld-linux-[a-z0-9_-]+)\.so\.[0-9]+$'
failed=0

fail() {
    echo "FAILED: $1" >&2
    failed=1
}

# In the preprocessed headers only declarations of functions have a name followed at once by a parenthesis.
declared=$(cc -E -P -Iinclude include/holdfast.h | grep -oE '\bhf_[a-z0-9_]+\(' | tr -d '(' | sort -u)
# Each with the version of the contract that it belongs to, so that a program says which one it was linked with.
exported=$(nm -D --defined-only --extern-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | sort -u)
unversioned=$(grep -v '@@HOLDFAST_[0-9]*$' <<< "$exported" || true)
[ -z "$unversioned" ] || { echo "FAILED: without a version: $unversioned" >&2; exit 1; }
exported=$(sed 's/@@.*//' <<< "$exported" | sort -u)
dynamic=$(readelf -d -W "$library")

missing=$(comm -23 <(echo "$declared") <(echo "$exported"))
surplus=$(comm -13 <(echo "$declared") <(echo "$exported"))
[ -n "$declared" ] || fail "no functions were found in the headers"
[ -z "$missing" ] || fail "declared and not exported: $(echo "$missing" | tr '\n' ' ')"
[ -z "$surplus" ] || fail "exported and not declared: $(echo "$surplus" | tr '\n' ' ')"

for needed in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ $needed =~ $allowed ]] || fail "needs $needed"
done

! grep -qE '\((RPATH|RUNPATH)\)' <<< "$dynamic" || fail "has a run path"
grep -qF "[$soname]" <<< "$(grep SONAME <<< "$dynamic")" || fail "the soname is not $soname"

# A search for a text in a text, as the standard library has it, is 1.5 MB of code.
! grep -q _RegexParser "$library" || fail "contains Swift's regular expressions, which PCRE2 is for"
! grep -q OpenCombine "$library" || fail "contains OpenCombine, which is for the Swift face alone"

size=$(stat -c %s "$library")
[ "$size" -lt "$largest" ] || fail "$size bytes, allowed are $largest"

[ "$failed" -eq 0 ] || exit 1
echo "$(wc -l <<< "$exported") functions exported as declared; $size bytes"
