#!/usr/bin/env bash
# What must not compile: each line the compiler's reason, a sentence and a statement, tried in a function that has a
# store, a repository and a transaction. The frame itself has to compile.
#   misuse.sh RUSTC FOLDER-WITH-THE-CRATE
set -euo pipefail

rustc=$1 built=$2
folder=$(mktemp --directory); trap 'rm -r "$folder"' EXIT
failed=0

compiles() { # statement
    cat > "$folder/misuse.rs" << END
#![allow(unused)]
#![deny(unused_must_use)]
use holdfast::*;
struct Plain;
fn misuse(store: Store, songs: Repository<'static>, t: Transaction) -> Result<(), Error> {
    $1
    Ok(())
}
END
    "$rustc" --edition 2021 --crate-type lib --emit metadata -o "$folder/misuse.rmeta" -L dependency="$built/deps" \
        --extern holdfast="$built/libholdfast.rlib" "$folder/misuse.rs" 2> "$folder/errors"
}

compiles 't.commit()?; store.begin("")?.submit()?.wait()?;' ||
    { cat "$folder/errors" >&2; echo "error: the frame itself does not compile" >&2; exit 1; }
while IFS='|' read -r reason sentence statement; do
    if compiles "$statement"; then
        echo "error: it compiles, although $sentence: $statement" >&2
        failed=1
    elif ! grep -q "$reason" "$folder/errors"; then
        cat "$folder/errors" >&2
        echo "error: it was to fail with $reason, since $sentence: $statement" >&2
        failed=1
    fi
done << 'END'
E0382|a transaction ends once|t.commit()?; t.commit()?;
E0382|nobody works in a transaction that was committed|t.commit()?; songs.within(&t).save("{}")?;
E0505|what a transaction sees ends with it|let inside = songs.within(&t); t.commit()?; inside.count("{}", "")?;
E0716|a transaction outlives the work in it|let inside = songs.within(&store.begin("")?); inside.count("{}", "")?;
E0507|a body does not commit its own transaction|store.transact(|t| { t.commit()?; Ok::<_, Error>(()) })?;
E0521|a body's transaction does not leave it|let mut kept = None; store.transact(|t| { kept = Some(songs.within(t)); Ok::<_, Error>(()) })?;
E0277|a type that says nothing is not stored|store.typed::<Plain>("plain", "")?;
unused .*Commit.* must be used|a commit's outcome is looked at|t.submit()?;
unused .*Live.* must be used|a live query that ends at once is pointless|songs.live("{}", "")?;
unused .*Result.* must be used|a failed write is looked at|songs.save("{}");
E0277|a cursor is used by one thread at a time|fn sync<T: Sync>(_: T) {} sync(songs.cursor("{}", "")?);
E0599|a transaction is not copied|let other = t.clone();
END
exit "$failed"
