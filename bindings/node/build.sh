#!/bin/sh
# Builds holdfast.node, here or in a folder, with the library that pkg-config finds, and Node's headers, which stand
# beside node or come with Debian's libnode-dev.
#   build.sh [FOLDER]
set -eu
sources=$(cd "$(dirname "$0")" && pwd)
output=${1:-$sources}
headers=$(node -p 'require("path").resolve(process.execPath, "../../include/node")')
[ -e "$headers/node_api.h" ] || { echo "error: no node_api.h in $headers; on Debian install libnode-dev" >&2; exit 1; }
library=$(pkg-config --variable=libdir holdfast)
# shellcheck disable=SC2046 # Flags are words.
${CC:-cc} -std=gnu99 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -I"$headers" \
    $(pkg-config --cflags holdfast) "$sources"/*.c -o "$output/holdfast.node" -L"$library" -lholdfast -Wl,-rpath,"$library"
