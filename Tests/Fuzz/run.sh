#!/usr/bin/env bash
# Runs a fuzz target for a while, from the committed seeds and from what earlier runs kept: run.sh DIRECTORY TARGET SECONDS
set -euo pipefail
build=$1 target=$2 seconds=$3
sources=$(cd "$(dirname "$0")" && pwd)
corpus=$build/corpus/$target seeds=$build/seeds/$target log=$build/$target.log

# One seed a line.
rm -rf "$seeds"
mkdir -p "$corpus" "$seeds"
if [ -e "$sources/seeds/$target.txt" ]; then
    split --lines=1 --suffix-length=3 "$sources/seeds/$target.txt" "$seeds/"
fi

# Stack traces of few frames and a small quarantine make the address sanitizer twice as fast.
export ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=16:thread_local_quarantine_size_kb=64
case $target in
    payload) options=(-max_len=2048) ;;
    handles) options=(-max_len=400 -len_control=5) ;;
    *) options=(-max_len=1024) ;;
esac
# What a store keeps between two inputs would be taken for a leak, also at the end: Swift's references in enumerations
# have tags, by which the sanitizer does not know them. The targets count the handles instead.
if [ "$target" != payload ]; then
    ASAN_OPTIONS+=:detect_leaks=0
fi

# A crash is told in the log, not asked about at the terminal.
export SWIFT_BACKTRACE=enable=no

if ! "$build/$target" -max_total_time="$seconds" -timeout=300 -rss_limit_mb=3072 -print_final_stats=1 \
    -dict="$sources/json.dict" -artifact_prefix="$build/$target-" "${options[@]}" "$corpus" "$seeds" > "$log" 2>&1; then
    grep -vE '^#[0-9]+|NEW_FUNC|^INFO' "$log" | tail -n 60 >&2
    echo "FAILED: $target: run $build/$target with the file named above" >&2
    exit 1
fi
awk -v target="$target" '/^stat::number_of_executed_units/ { runs = $2 } /^Done/ { seconds = $5 }
    END { printf "%s: %d inputs in %d s\n", target, runs, seconds }' "$log"
