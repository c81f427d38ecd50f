#!/usr/bin/env bash
# Usage: run.sh FOLDER PART ... [beside PART ...] Runs the parts of `make test`, two at a time, for most of them have one
# thread; and beside those, one after the other, the parts that mostly wait for servers, kills and timers. What a part
# prints goes into FOLDER, and is shown once the part has ended, so that no two are mixed. Says at the end which have
# failed, and why. The library must have been built: no part builds it again while another has it loaded.
set -euo pipefail
cd "$(dirname "$0")/../.."

export FOLDER=$1
shift
mkdir -p "$FOLDER"
rm -f "$FOLDER"/*

# How the parts' tools mark the line that names a failure: Swift Testing, cmocka, pytest, compilers and the parts' own scripts.
failure_lines='✘|\[  (FAILED|ERROR)|^(FAILED|ERROR)|^E  |error: |: error|[1-9][0-9]* wrong|WRONG|Error [0-9]'

run() {
    local part=$1 outcome=passed
    echo "=== $part begins"
    SECONDS=0
    "${MAKE:-make}" --no-print-directory --old-file=library "$part" > "$FOLDER/$part.txt" 2>&1 < /dev/null || outcome=failed
    if [ "$outcome" = failed ]; then
        touch "$FOLDER/$part.failed"
    fi
    {
        flock 9
        cat "$FOLDER/$part.txt"
        echo "=== $part $outcome in $SECONDS s"
    } 9> "$FOLDER/output.lock"
}
export -f run

busy=() waiting=()
while [ $# -gt 0 ] && [ "$1" != beside ]; do
    busy+=("$1")
    shift
done
[ $# -eq 0 ] || waiting=("${@:2}")

# By xargs, and not in the background, where a shell has what it starts ignore Ctrl-C.
lane() {
    local count=$1
    shift
    printf '%s\n' "$@" | xargs --no-run-if-empty --max-procs="$count" -I PART bash -c 'run PART'
}
export -f lane
printf '%s\n' "2 ${busy[*]}" "1 ${waiting[*]}" | xargs --max-procs=2 -I LANE bash -c 'lane LANE'

failed=()
parts=("${busy[@]}" "${waiting[@]}")
for part in "${parts[@]}"; do
    if [ -e "$FOLDER/$part.failed" ]; then
        failed+=("$part")
        echo "=== $part ended with"
        tail -n 20 "$FOLDER/$part.txt"
        echo "=== $part told of what failed"
        grep -aE "$failure_lines" "$FOLDER/$part.txt" | head -n 60 || true
    fi
done
if [ "${#failed[@]}" -gt 0 ]; then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
echo "All parts passed: ${parts[*]}"
