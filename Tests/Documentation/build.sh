#!/usr/bin/env bash
# Builds the documentation of the Swift modules, .build/documentation/MODULE.doccarchive, every warning an error; has the
# rules checked that DocC has none for; and makes of it a part of the site, .build/site/swift. The modules must have been built: `make documentation` does both.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(swift build --show-bin-path)
target=$(swiftc -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
work=.build/documentation
site=.build/site/swift
rm -rf "$work" "$site"
mkdir -p "$site"

includes=(-I "$build/Modules")
while IFS= read -r map; do includes+=(-I "$(dirname "$map")"); done \
    < <(find -L "$build" Sources -maxdepth 2 -name module.modulemap)

for module in Holdfast HoldfastFamiliar HoldfastTestSupport; do
    catalogue=Sources/$module/$module.docc
    symbols=$work/symbols/$module
    mkdir -p "$symbols/own" "$symbols/all"
    swift-symbolgraph-extract -module-name "$module" -target "$target" "${includes[@]}" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$symbols/all"
    # Beside it stand what the module adds to types of other modules, which has no pages.
    cp "$symbols/all/$module.symbols.json" "$symbols/own"
    docc convert "$catalogue" --additional-symbol-graph-dir "$symbols/own" \
        --output-path "$work/$module.doccarchive" --fallback-bundle-identifier "$module" --warnings-as-errors
    python3 Tests/Documentation/check.py "$catalogue" "$symbols/all" "$work/$module.doccarchive"
    docc process-archive transform-for-static-hosting "$work/$module.doccarchive" --output-path "$site/$module" \
        --hosting-base-path "swift/$module"
done
echo "To read it: python3 -m http.server --directory .build/site, then http://localhost:8000/swift/Holdfast/documentation/holdfast"
