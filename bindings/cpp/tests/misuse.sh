#!/usr/bin/env bash
# What must not compile: each line a sentence and a statement, tried in a function that has a store, a repository and a
# transaction. The frame itself has to compile, so that nothing fails for another reason.
#   misuse.sh COMPILER FLAGS...
set -euo pipefail

folder=$(mktemp --directory); trap 'rm -r "$folder"' EXIT
failed=0

# Compiled once: of a header beside its .gch the compiler takes that.
"$@" -x c++-header "$(dirname "$0")/../holdfast.hpp" -o "$folder/holdfast.hpp.gch"

compiles() { # statement, compiler and flags
    local statement=$1
    shift
    cat > "$folder/misuse.cpp" << END
struct Plain {};
void misuse(holdfast::Store &store, holdfast::Repository &songs, holdfast::Transaction &t) {
    (void)store; (void)songs; (void)t;
    $statement
}
END
    "$@" -Werror -fsyntax-only -include "$folder/holdfast.hpp" "$folder/misuse.cpp" 2> "$folder/errors"
}

compiles 't.commit();' "$@" || { cat "$folder/errors" >&2; echo "error: the frame itself does not compile" >&2; exit 1; }
while IFS='|' read -r sentence statement; do
    if compiles "$statement" "$@"; then
        echo "error: it compiles, although $sentence: $statement" >&2
        failed=1
    fi
done << 'END'
a store is not copied|holdfast::Store copy(store);
a transaction is not copied|holdfast::Transaction copy(t);
a stream is not copied|holdfast::Stream s = store.observe([](const holdfast::Event &) {}); auto copy = s;
a transaction that is gone is not worked in|songs.within(store.begin()).save("{}");
a commit's future is not dropped|t.submit();
an open store is not dropped|holdfast::Store::open("memory:");
a stream that ends at once is not dropped|songs.live("{}", [](const holdfast::Event &) {});
a result that may be an error is not dropped|holdfast::attempt([&] { t.commit(); });
a type without to_entity is not stored|store.typed<Plain>("plain").save(Plain());
a callback takes an event|t.submit([](int) {});
a body takes its transaction|store.transact([] {});
END
exit "$failed"
