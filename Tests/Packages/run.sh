#!/usr/bin/env bash
# The README's Swift program, as a package outside the tree that requires this one by version, from a local git tag.
# Needs the network for OpenCombine alone. What is tested is the last commit, not the working tree.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet --no-hardlinks "$root" "$work/holdfast"
git -C "$work/holdfast" tag 1.0.0

mkdir -p "$work/outside/Sources/Outside"
sed "s|@URL@|file://$work/holdfast|" "$root/Tests/Packages/Package.swift.in" > "$work/outside/Package.swift"
sed -n '/^```swift$/,/^```$/p' "$root/README.md" | sed '/^```/d' > "$work/outside/Sources/Outside/main.swift"

cd "$work"
# A cache of its own: the clone's place means nothing to later runs.
swift run --package-path "$work/outside" --cache-path "$work/cache" Outside | tee "$work/printed"
grep -q '"version" : "1.0.0"' "$work/outside/Package.resolved"
grep -qF 'Song(id: "s1", title: "Gloria", plays: 1)' "$work/printed"
grep -qxF 'from a callback 2' "$work/printed"
grep -qxF '2 Gloria 0' "$work/printed"
grep -qxF 'true 1' "$work/printed"
