#!/usr/bin/env bash
# Compiles each public header alone, and the umbrella, as C99 and as C++17, with every compiler found.
set -euo pipefail
cd "$(dirname "$0")/../.."

warnings="-Wall -Wextra -Wpedantic -Werror"
count=0

compile() { # compiler, language, standard, header
    command -v "$1" > /dev/null || return 0
    # $warnings is a list of words.
    # shellcheck disable=SC2086
    echo "#include <$4>" | "$1" -x "$2" "-std=$3" $warnings -Iinclude -Ibindings/c/include -fsyntax-only - ||
        { echo "$4 does not compile with $1 as $3" >&2; exit 1; }
    count=$((count + 1))
}

for header in holdfast.h $(cd include && ls holdfast/*.h) $(cd bindings/c/include && ls holdfast/*.h); do
    compile gcc c c99 "$header"
    compile clang c c99 "$header"
    compile g++ c++ c++17 "$header"
    compile clang++ c++ c++17 "$header"
done

# A host's own number is a value of the enumeration in C++, too: a constant expression may hold no other.
for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    printf '%s\n' '#include <holdfast.h>' 'constexpr hf_status own = static_cast<hf_status>(4711);' \
        'static_assert(static_cast<uint32_t>(own) == 4711, "");' |
        "$compiler" -x c++ -std=c++17 -Iinclude -fsyntax-only - ||
        { echo "4711 is no hf_status with $compiler" >&2; exit 1; }
    count=$((count + 1))
done

[ "$count" -gt 0 ] || { echo "No C compiler was found" >&2; exit 1; }
echo "$count compilations of headers passed"
