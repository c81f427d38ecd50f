#!/usr/bin/env bash
# The Swift programs of the documents and of the catalogues' pages, in a package outside the tree that requires this one by
# version, from a local git tag. Each prints what its comments say. Needs the network for OpenCombine alone. What is required
# is the last commit, not the working tree; the programs are the working tree's.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet --no-hardlinks "$root" "$work/holdfast"
git -C "$work/holdfast" tag 1.0.0

mkdir "$work/outside"
find "$root"/docs/*.md "$root"/docs/{guides,reference} "$root"/Sources/*/*.docc -name '*.md' -o -name '*.swift' \
    | xargs python3 "$root/Tests/Documents/documents.py" "$work/outside" "$root/README.md"
programs=$(ls "$work/outside/Sources")
sed -e "s|@URL@|file://$work/holdfast|" -e "s|@PROGRAMS@|$(printf '"%s", ' $programs)|" \
    "$root/Tests/Packages/Package.swift.in" > "$work/outside/Package.swift"

# A cache of its own: the clone's place means nothing to later runs.
swift build --package-path "$work/outside" --cache-path "$work/cache"
grep -q '"version" : "1.0.0"' "$work/outside/Package.resolved"

failed=0
for program in $programs; do
    # A directory each, for stores with files.
    mkdir "$work/$program"
    (cd "$work/$program" && timeout 600 "$work/outside/.build/debug/$program" > printed) \
        || { echo "FAILED: $program ended with $?" >&2; failed=1; }
    diff "$work/outside/$program.txt" "$work/$program/printed" || { echo "FAILED: $program" >&2; failed=1; }
done
[ "$failed" = 0 ]
