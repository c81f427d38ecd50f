//! In a process of its own, because it counts the handles of all: whatever is dropped in whatever order leaves nothing.
use holdfast::{handle_count, Error, Store};

#[test]
fn nothing_is_left_behind() -> Result<(), Error> {
    for round in 0..20 {
        let store = Store::open("memory:", "")?;
        let songs = store.repository("songs", "")?;
        let live = songs.live("{}", "")?;
        let observer = store.observe("")?;
        let cursor = songs.cursor("{}", "")?;
        let mut commits = Vec::new();
        for id in 0..20 {
            let transaction = store.begin("")?;
            songs.within(&transaction).save(&format!(r#"{{"id": {id}}}"#))?;
            commits.push(transaction.submit()?);
        }
        let open = store.begin("")?;
        songs.within(&open).save(r#"{"id": "open"}"#)?;
        assert!(songs.find("{", "").is_err());
        if round % 2 == 0 {
            drop(store);
            drop((commits, live, observer, cursor, open, songs));
        } else {
            drop((songs, open, cursor, observer));
            commits.truncate(7);
            for commit in commits {
                commit.wait()?;
            }
            drop((live, store));
        }
        assert_eq!(handle_count(""), 0, "after round {round}");
    }
    Ok(())
}
