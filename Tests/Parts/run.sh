#!/usr/bin/env bash
# Usage: run.sh FOLDER PART ... Runs the parts of `make test`, two at a time: most of them wait for servers, kills and
# timers, or have one thread. What a part prints goes into FOLDER, and is shown once the part has ended, so that no
# two are mixed. Says at the end which have failed, and why. The library must have been built: no part builds it again
# while another has it loaded.
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

printf '%s\n' "$@" | xargs --max-procs=2 -I PART bash -c 'run PART'

failed=()
for part in "$@"; do
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
echo "All parts passed: $*"
