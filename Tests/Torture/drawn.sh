#!/usr/bin/env bash
# Runs a program with a seed and with limits of the library that are drawn from it, and prints both:
#
#     drawn.sh [OPTION of draw.py ...] PROGRAM ...
#
# HOLDFAST_SEED and HOLDFAST_LIMITS, where they are set, are taken instead: that runs it with the same again. The seed decides
# what a program draws; the moments at which processes meet are the system's.
set -euo pipefail
options=()
while [[ $1 == --* ]]; do
    options+=("$1")
    shift
done
export HOLDFAST_SEED=${HOLDFAST_SEED:-$((RANDOM * 32768 + RANDOM))}
draw=$(dirname "$0")/../DrawnLimits/draw.py
export HOLDFAST_LIMITS=${HOLDFAST_LIMITS-$(python3 "$draw" "$HOLDFAST_SEED" "${options[@]}")}
echo "HOLDFAST_SEED=$HOLDFAST_SEED HOLDFAST_LIMITS=$HOLDFAST_LIMITS $*"
exec "$@"
