#!/usr/bin/env bash
# Rules of this code that no formatter knows.
set -euo pipefail
cd "$(dirname "$0")/../.."

failed=0

forbid() { # what it would mean, pattern, paths
    local meaning=$1 pattern=$2
    shift 2
    # A catalogue's programs are none of the library.
    if grep -rnE --include='*.swift' --include='*.c' --include='*.h' --include='*.py' --exclude-dir='*.docc' \
        "$pattern" "$@"; then
        echo "FAILED: $meaning" >&2
        failed=1
    fi
}

# All of which the shared library is made.
library=(Sources/Holdfast{Environment,Query,Storage,Core,Services,SQLite,PostgreSQL,Engines,ABI})

forbid "Foundation would make the library nine times as large" \
    '^ *((public|internal|package|private|fileprivate) )?import Foundation' \
    "${library[@]}"
forbid "the boundary must not trap on a caller's input" \
    'try!|fatalError\(|preconditionFailure\(' Sources/HoldfastABI
forbid "the library never prints" '(^|[^a-zA-Z_.])(print|debugPrint)\(' \
    "${library[@]}" Sources/Holdfast
forbid "a skipped test proves nothing" 'XCTSkip|\.disabled\(|pytest\.mark\.skip|pytest\.skip\(|[^_]skip\(\);' \
    Tests bindings/python

forbid "an option in the middle of a sentence is found by nobody: begin a line with it" \
    '^ \* [^ ].*"[a-z_]+": (bool|[0-9]+\.\.|text|array|object|"[a-z0-9]+" \|)' include

# Words of our own that stood for those of the field, which docs/glossary.md has. Tests may call things as they like.
retire() { # the word that stands for it, pattern
    if grep -rniE --include='*.swift' --include='*.[ch]' --include='*.py' --include='*.md' --exclude-dir=tests \
        --exclude-dir=generated "$2" Sources include bindings docs ./*.md; then
        echo "FAILED: the glossary has another word for this: $1" >&2
        failed=1
    fi
}
retire "validation, or evaluation on the newest state" '\bjudg(e|es|ed|ing)\b'
retire "before-image" '\bformer (entity|entities|text|body|value|state|one)s?\b'
retire "maintenance, or sweep" '\b(the care of|caretaker|tend(s|ed|er))\b'

while IFS= read -r file; do
    if grep -q 'jansson\.h' "$file"; then
        echo "FAILED: $file: only CHoldfastPayload sees jansson" >&2
        failed=1
    fi
done < <(find Sources include -name '*.[ch]' -not -path 'Sources/CHoldfastPayload/*' -not -path 'Sources/CJansson/*')

while read -r lines file; do
    if [ "$file" != total ] && [ "$lines" -gt 500 ]; then
        echo "FAILED: $file has $lines lines; one concept a file, 500 lines at most" >&2
        failed=1
    fi
done < <(find Sources Tests include bindings -name '*.swift' -o -name '*.[ch]' -o -name '*.py' -o -name '*.cpp' -o -name '*.go' \
    -o -name '*.js' -o -name '*.rs' -not -name declarations.rs | xargs wc -l)

exit "$failed"
