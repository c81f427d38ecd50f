#!/usr/bin/env bash
# The Swift programs of the README and of the documentation's pages, in a package outside the tree that requires this one by
# version, from a local git tag. Each prints what its comments say. Needs the network for OpenCombine alone. What is required
# is the last commit, not the working tree; the programs are the working tree's.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet --no-hardlinks "$root" "$work/holdfast"
git -C "$work/holdfast" tag 1.0.0

mkdir "$work/outside"
find "$root"/Sources/*/*.docc -name '*.md' -o -name '*.swift' \
    | xargs python3 "$root/Tests/Readme/documents.py" "$work/outside" "$root/README.md"
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
    told=$work/outside/$program.txt
    [ ! -e "$told" ] || diff "$told" "$work/$program/printed" || { echo "FAILED: $program" >&2; failed=1; }
done
[ "$failed" = 0 ]

cd "$work/READMEProgram"
cat printed
grep -qF 'Song(id: "s1", title: "Gloria", plays: 1)' printed
grep -qxF 'from a callback 2' printed
grep -qxF '2 Gloria 0' printed
grep -qxF 'true 1' printed
grep -qxF 'put Birdland' printed
grep -qxF '["Amandrai", "Birdland", "Birdland"]' printed
