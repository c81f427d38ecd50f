#!/usr/bin/env bash
# Runs a program with a seed and with limits of the library that are drawn from it, and prints both: drawn.sh PROGRAM ...
# HOLDFAST_SEED and HOLDFAST_LIMITS, where they are set, are taken instead: that runs it with the same again. The seed decides
# what a program draws; the moments at which processes meet are the system's.
set -euo pipefail
export HOLDFAST_SEED=${HOLDFAST_SEED:-$((RANDOM * 32768 + RANDOM))}
export HOLDFAST_LIMITS=${HOLDFAST_LIMITS-$(python3 "$(dirname "$0")/../DrawnLimits/draw.py" "$HOLDFAST_SEED")}
echo "HOLDFAST_SEED=$HOLDFAST_SEED HOLDFAST_LIMITS=$HOLDFAST_LIMITS $*"
exec "$@"
