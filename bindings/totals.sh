#!/usr/bin/env bash
# Runs a host's example of the ISO registers, and compares its totals with those of C's, which is run first.
#   totals.sh FOLDER HOST COMMAND...
set -euo pipefail

folder=$1 host=$2
shift 2
timeout 120 "$@" > "$folder/$host.txt" || { cat "$folder/$host.txt"; echo "error: $host's example has failed" >&2; exit 1; }
grep -oE '[0-9]+ (entities|constructed languages|completed in commit order, 0 failed)' \
    "$folder/$host.txt" > "$folder/$host.totals" || true
if [ "$(wc -l < "$folder/$host.totals")" -ne 3 ] || ! diff "$folder/c.totals" "$folder/$host.totals"; then
    echo "error: $host's example prints other totals than C's" >&2
    exit 1
fi
echo "$host: $(paste -sd, "$folder/$host.totals")"
