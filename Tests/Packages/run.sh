#!/usr/bin/env bash
# A package outside the tree requires this one by version, from a local git tag, and runs. Needs no network.
# What is tested is the last commit, not the working tree.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet --no-hardlinks "$root" "$work/holdfast"
git -C "$work/holdfast" tag 1.0.0

cp -R "$root/Tests/Packages/Outside" "$work/outside"
sed "s|@URL@|file://$work/holdfast|" "$work/outside/Package.swift.in" > "$work/outside/Package.swift"
rm "$work/outside/Package.swift.in"
# A cache of its own: the clone's place means nothing to later runs.
swift run --package-path "$work/outside" --cache-path "$work/cache" Outside "$work/store.db"
grep -q '"version" : "1.0.0"' "$work/outside/Package.resolved"
