#!/usr/bin/env bash
# Usage: licences.sh PREFIX [DEBIAN]. Writes the licences of what the library is made of to PREFIX and the part's name: of
# all parts, or with DEBIAN of those alone that Debian's package links into the library.
set -euo pipefail
prefix=$1
documents=/usr/share/doc

cp "$(dirname "$(readlink -f "$(command -v swiftc)")")/../share/swift/LICENSE.txt" "${prefix}swift"
cp $documents/libstemmer-dev/copyright "${prefix}snowball"
[ "${2:-}" = DEBIAN ] && exit
cp $documents/libjansson-dev/copyright "${prefix}jansson"
cp $documents/libpcre2-dev/copyright "${prefix}pcre2"
cp $documents/libsqlite3-dev/copyright "${prefix}sqlite"
cp $documents/libstdc++6/copyright "${prefix}libstdc++"
chmod 644 "${prefix}"*
