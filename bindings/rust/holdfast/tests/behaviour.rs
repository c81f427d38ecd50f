//! The crate against the real library: what programs meet, and what they do wrong.
use std::future::Future;
use std::os::unix::io::AsRawFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use holdfast::{Error, Repository, Status, Store};

type Outcome<T = ()> = Result<T, Error>;
const LONG: Duration = Duration::from_secs(60);

fn memory() -> Store {
    Store::open("memory:", "").unwrap()
}

fn songs(store: &Store) -> Repository<'static> {
    store.repository("songs", "").unwrap()
}

fn status<T>(outcome: Result<T, Error>) -> Option<Status> {
    outcome.err().map(|error| error.status())
}

fn number(json: &str, member: &str) -> u64 {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    value[member].as_u64().unwrap()
}

#[test]
fn entities_are_added_changed_found_and_deleted() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let added = songs.add(r#"{"id": "s1", "plays": 1}"#)?;
    assert_eq!(songs.fetch("s1")?, Some(added.clone()));
    assert_eq!(status(songs.add(r#"{"id": "s1"}"#)), Some(Status::EXISTS));
    assert_eq!(songs.patch("s1", r#"{"plays": 2}"#, added.version)?.json, r#"{"id": "s1", "plays": 2}"#);
    assert_eq!(status(songs.update(r#"{"id": "s1"}"#, added.version)), Some(Status::VERSION_MISMATCH));
    assert_eq!(status(songs.update(r#"{"id": "s2"}"#, 0)), Some(Status::NOT_FOUND));
    songs.modify("s2", r#"{"$inc": {"plays": 5}}"#, Some("{}"))?;
    assert_eq!(songs.fetch("nobody")?, None);
    assert_eq!(songs.count(r#"{"plays": {"$gt": 1}}"#, "")?, 2);
    assert_eq!(number(&songs.first("{}", r#"{"sort": {"plays": -1}}"#)?.unwrap().json, "plays"), 5);
    assert_eq!(songs.find("{}", r#"{"limit": 1}"#)?.len(), 1);
    songs.add_many(r#"[{"id": "s3"}, {"id": "s4"}]"#)?;
    let all: Result<Vec<_>, _> = songs.cursor("{}", "")?.collect();
    assert_eq!(all?.len(), 4);
    songs.delete("s2", 0)?;
    assert_eq!(status(songs.delete("s2", 0)), Some(Status::NOT_FOUND));
    assert!(!songs.contains("s2")? && songs.contains("s1")?);
    Ok(())
}

#[test]
fn errors_tell_what_is_wrong_and_where() {
    let store = memory();
    let error = songs(&store).find(r#"{"a": {"$near": 1}}"#, "").unwrap_err();
    assert_eq!(error.status(), Status::INVALID_QUERY);
    assert!(error.detail().contains("$near") && !error.is_retryable() && !error.to_string().is_empty());
    assert_eq!(format!("{:?}", error.status()), "HF_INVALID_QUERY");
    assert_eq!(status(Store::open("memory:", r#"{"durabilty": 1}"#)), Some(Status::INVALID_OPTION));
    assert_eq!(status(Store::open("memory:", "queue")), Some(Status::INVALID_OPTION));
    assert_eq!(status(Store::open("memory\0:", "")), Some(Status::INVALID_ARGUMENT));
    assert_eq!(status(store.repository("no good name", "")), Some(Status::INVALID_NAME));
    let boxed: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert!(boxed.downcast_ref::<Error>().is_some());
}

#[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
struct Song {
    id: String,
    plays: u32,
}
holdfast::serde_entity!(Song);

#[test]
fn types_that_serde_knows_are_stored() -> Outcome {
    let store = memory();
    let songs = store.typed::<Song>("songs", "")?;
    songs.add(&Song { id: "s\"1".into(), plays: 3 })?;
    let version = songs.save(&Song { id: "s2".into(), plays: 4 })?;
    assert_eq!(songs.fetch("s\"1")?, Some(Song { id: "s\"1".into(), plays: 3 }));
    assert_eq!(songs.find(r#"{"plays": {"$gte": 4}}"#, "")?.len(), 1);
    store.transact(|t| songs.within(t).update(&Song { id: "s2".into(), plays: 5 }, version))?;
    assert_eq!(songs.first(r#"{"plays": 5}"#, "")?.unwrap().id, "s2");
    songs.repository().save(r#"{"id": "broken", "plays": "many"}"#)?;
    assert_eq!(status(songs.fetch("broken")), Some(Status::INVALID_ENTITY));
    Ok(())
}

#[test]
fn what_is_not_committed_goes_back() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    {
        let transaction = store.begin("")?;
        songs.within(&transaction).save(r#"{"id": "s1"}"#)?;
        assert!(songs.within(&transaction).contains("s1")?);
    }
    assert_eq!(songs.count("{}", "")?, 0);
    let transaction = store.begin("")?;
    let inside = songs.within(&transaction);
    inside.save(r#"{"id": "kept"}"#)?;
    let failed = transaction.scope(|| {
        inside.save(r#"{"id": "undone"}"#)?;
        inside.update(r#"{"id": "missing"}"#, 0)
    });
    assert_eq!(status(failed), Some(Status::NOT_FOUND));
    transaction.scope(|| inside.save(r#"{"id": "scoped"}"#))?;
    let receipt = transaction.commit()?;
    let ids: Vec<_> = receipt.changes.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["kept", "scoped"]);
    assert_eq!(receipt.changes[0].version, receipt.sequence);
    Ok(())
}

#[test]
fn a_conflict_runs_the_body_again() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    songs.save(r#"{"id": "s1", "plays": 0}"#)?;
    let mut runs = 0;
    let (plays, receipt) = store.transact_with("", |t| {
        let inside = songs.within(t);
        let plays = number(&inside.fetch("s1")?.unwrap().json, "plays") + 1;
        runs += 1;
        if runs == 1 {
            songs.modify("s1", r#"{"$inc": {"plays": 10}}"#, None)?; // Somebody else is quicker.
        }
        inside.save(&format!(r#"{{"id": "s1", "plays": {plays}}}"#))?;
        Ok::<_, Error>(plays)
    })?;
    assert_eq!((runs, plays, receipt.attempts), (2, Some(11), 2));

    let mut attempts = 0;
    let refused = store.transact_with(r#"{"max_attempts": 3}"#, |t| {
        attempts += 1;
        songs.within(t).fetch("s1")?;
        songs.modify("s1", r#"{"$inc": {"plays": 1}}"#, None)?;
        songs.within(t).save(r#"{"id": "s2"}"#)
    });
    assert_eq!((status(refused), attempts), (Some(Status::CONFLICT), 3));
    Ok(())
}

#[derive(Debug)]
enum Own {
    Refused(u32),
    Store(Error),
}
impl From<Error> for Own {
    fn from(error: Error) -> Own {
        Own::Store(error)
    }
}

#[test]
fn an_error_or_a_panic_in_the_body_rolls_back_and_arrives() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let refused = store.transact(|t| {
        songs.within(t).save(r#"{"id": "s1"}"#)?;
        Err::<(), _>(Own::Refused(42))
    });
    assert!(matches!(refused, Err(Own::Refused(42))));
    let missing = store.transact(|t| {
        songs.within(t).delete("nobody", 0)?;
        Ok::<_, Own>(())
    });
    assert!(matches!(missing, Err(Own::Store(error)) if error.status() == Status::NOT_FOUND));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transact(|t| {
            songs.within(t).save(r#"{"id": "s1"}"#)?;
            if songs.within(t).count("{}", "")? == 1 {
                std::panic::panic_any(7_u8);
            }
            Ok::<_, Error>(())
        })
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref::<u8>(), Some(&7));
    assert_eq!(songs.count("{}", "")?, 0);
    Ok(())
}

#[test]
fn an_idempotency_key_answers_the_first_receipt() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let once = |plays| {
        store.transact_with(r#"{"idempotency_key": "k"}"#, |t| {
            songs.within(t).save(r#"{"id": "s1"}"#)?;
            Ok::<_, Error>(plays)
        })
    };
    let ((first, receipt), (second, replayed)) = (once(1)?, once(2)?);
    assert_eq!((first, second, replayed.is_replayed), (Some(1), None, true));
    assert_eq!(receipt.sequence, replayed.sequence);
    Ok(())
}

#[test]
fn commits_are_awaited_waited_for_and_told_in_order() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let submit = |id: u32| {
        let transaction = store.begin("")?;
        songs.within(&transaction).save(&format!(r#"{{"id": {id}}}"#))?;
        transaction.submit()
    };
    let commits = (0..200).map(submit).collect::<Outcome<Vec<_>>>()?;
    let sequences = store.block_on(async move {
        let mut sequences = Vec::new();
        for commit in commits {
            sequences.push(commit.await?.sequence);
        }
        Ok::<_, Error>(sequences)
    })?;
    assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]) && sequences.len() == 200);
    assert_eq!(submit(200)?.wait()?.changes.len(), 1);
    assert!(submit(201)?.wait_timeout(LONG).is_ok());
    drop(submit(202)?); // It goes on, and is stored before what comes later.
    submit(203)?.wait()?;
    assert_eq!(songs.count("{}", "")?, 204);

    let transaction = store.begin("")?;
    songs.within(&transaction).fetch("1")?;
    songs.within(&transaction).save(r#"{"id": "late"}"#)?;
    songs.patch("1", r#"{"a": 1}"#, 0)?;
    let error = transaction.submit()?.wait().unwrap_err();
    assert!(error.status() == Status::CONFLICT && error.is_retryable() && error.detail().contains("\"1\""));
    Ok(())
}

#[test]
fn threads_that_wait_take_events_for_each_other() -> Outcome {
    let store = memory();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let store = store.clone();
            thread::spawn(move || -> Outcome {
                for run in 0..50 {
                    let transaction = store.begin("")?;
                    songs(&store).within(&transaction).save(&format!(r#"{{"id": "{thread}-{run}"}}"#))?;
                    let commit = transaction.submit()?;
                    let receipt = if run % 2 == 0 { commit.wait()? } else { store.block_on(commit)? };
                    assert_eq!(receipt.changes[0].id, format!("{thread}-{run}"));
                }
                Ok(())
            })
        })
        .collect();
    threads.into_iter().try_for_each(|thread| thread.join().unwrap())?;
    assert_eq!(songs(&store).count("{}", "")?, 400);
    Ok(())
}

#[test]
fn threads_count_to_the_same_number() -> Outcome {
    let store = memory();
    songs(&store).save(r#"{"id": "s1", "plays": 0}"#)?;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    store
                        .transact(|t| {
                            let inside = songs(&store).within(t);
                            let plays = number(&inside.fetch("s1")?.unwrap().json, "plays") + 1;
                            inside.save(&format!(r#"{{"id": "s1", "plays": {plays}}}"#))
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(number(&songs(&store).fetch("s1")?.unwrap().json, "plays"), 100);
    Ok(())
}

extern "C" {
    fn poll(descriptors: *mut PollDescriptor, count: std::os::raw::c_ulong, timeout_ms: i32) -> i32;
}
#[repr(C)]
struct PollDescriptor {
    descriptor: i32,
    events: i16,
    received: i16,
}

#[test]
fn a_reactor_waits_for_the_descriptor() -> Outcome {
    let store = memory();
    let transaction = store.begin("")?;
    songs(&store).within(&transaction).save(r#"{"id": "s1"}"#)?;
    let mut commit = transaction.submit()?;
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut first = Pin::new(&mut commit).poll(&mut context);
    let started = Instant::now();
    while first.is_pending() {
        let mut waiting = PollDescriptor { descriptor: store.as_raw_fd(), events: 1, received: 0 };
        // SAFETY: one descriptor, as the count says.
        assert_eq!(unsafe { poll(&mut waiting, 1, 60_000) }, 1);
        store.deliver(Some(Duration::ZERO))?;
        first = Pin::new(&mut commit).poll(&mut context);
        assert!(started.elapsed() < LONG);
    }
    assert!(matches!(first, Poll::Ready(Ok(_))) && wakes.0.load(Ordering::SeqCst) == 1);
    Ok(())
}

#[test]
fn who_delivers_and_has_nothing_to_deliver_waits() -> Outcome {
    let store = memory();
    let transaction = store.begin("")?;
    songs(&store).within(&transaction).save(r#"{"id": "s1"}"#)?;
    let commit = transaction.submit()?;
    assert_eq!(store.deliver(Some(LONG))?, 1);
    for _ in 0..3 {
        let started = Instant::now();
        assert_eq!(store.deliver(Some(Duration::from_millis(50)))?, 0);
        assert!(started.elapsed() >= Duration::from_millis(50));
    }
    commit.wait()?;
    Ok(())
}

#[derive(Default)]
struct Wakes(AtomicU32);
impl std::task::Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_live_query_follows_and_ends_with_its_store() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    songs.save(r#"{"id": "s1", "plays": 9}"#)?;
    let mut live = songs.live(r#"{"plays": {"$gt": 5}}"#, "")?;
    assert!(live.next_timeout(LONG).unwrap()?.json.contains(r#""snapshot":[{"id": "s1""#));
    songs.save(r#"{"id": "s2", "plays": 1}"#)?;
    songs.save(r#"{"id": "s3", "plays": 6}"#)?;
    let news = store.block_on(live.next()).unwrap()?;
    assert!(news.json.contains(r#""inserted":[{"position":1,"id":"s3""#) && !news.position.is_empty());
    assert!(live.next_timeout(Duration::from_millis(20)).is_none());

    let mut observer = store.observe(r#"{"repository": "songs", "id": "s3"}"#)?;
    let told = thread::spawn(move || Iterator::next(&mut observer).unwrap().unwrap().json);
    songs.delete("s3", 0)?;
    assert!(told.join().unwrap().contains(r#""delete""#));
    assert_eq!(status(songs.live("{", "")), Some(Status::INVALID_JSON));

    let closer = store.clone();
    let closing = thread::spawn(move || closer.close(None));
    // The deletion may still be told; then there is an end.
    assert!(live.by_ref().take_while(|news| news.is_ok()).count() <= 1);
    assert!(Iterator::next(&mut live).is_none());
    closing.join().unwrap()
}

#[test]
fn streams_are_dropped_while_others_take_their_events() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let stop = Mutex::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !*stop.lock().unwrap() {
                    store.deliver(Some(Duration::from_millis(1))).unwrap();
                }
            });
        }
        for number in 0..200 {
            let live = songs.live("{}", r#"{"limit": 3}"#).unwrap();
            songs.save(&format!(r#"{{"id": {number}}}"#)).unwrap();
            drop(live);
        }
        *stop.lock().unwrap() = true;
    });
    Ok(())
}

#[test]
fn a_store_that_closes_early_finishes_what_it_accepted() -> Outcome {
    let store = memory();
    let songs = songs(&store);
    let open = store.begin("")?;
    songs.within(&open).save(r#"{"id": "s1"}"#)?;
    let accepted = store.begin("")?;
    songs.within(&accepted).save(r#"{"id": "s2"}"#)?;
    let commit = accepted.submit()?;
    store.close(None)?;
    assert!(commit.wait()?.sequence > 0);
    assert_eq!(status(songs.count("{}", "")), Some(Status::CLOSED));
    assert!(open.commit().is_err());
    assert_eq!(status(store.begin("")), Some(Status::CLOSED));
    store.close(None)
}

#[test]
fn deadlines_end_waits_and_retries() -> Outcome {
    let store = Store::open("memory:", r#"{"max_in_flight": 1}"#)?;
    let songs = songs(&store);
    let transaction = store.begin("")?;
    songs.within(&transaction).save(r#"{"id": "s1"}"#)?;
    let first = transaction.submit()?;
    let second = store.begin(r#"{"timeout_ms": 50}"#)?;
    songs.within(&second).save(r#"{"id": "s2"}"#)?;
    // The one place is taken until somebody takes the event of the first.
    let started = Instant::now();
    assert_eq!(status(second.submit()), Some(Status::BUSY));
    assert!(started.elapsed() >= Duration::from_millis(50));
    first.wait()?;

    songs.save(r#"{"id": "s1", "plays": 0}"#)?;
    let refused = store.transact_with(r#"{"timeout_ms": 100, "max_attempts": 1000}"#, |t| {
        songs.within(t).fetch("s1")?;
        songs.modify("s1", r#"{"$inc": {"plays": 1}}"#, None)?;
        songs.within(t).save(r#"{"id": "s2"}"#)
    });
    assert!(refused.is_err() && started.elapsed() < LONG);
    Ok(())
}

#[test]
fn everything_may_go_to_other_threads() {
    fn send<T: Send>() {}
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Store>();
    send_and_sync::<Repository<'static>>();
    send_and_sync::<holdfast::Transaction>();
    send_and_sync::<holdfast::Typed<'static, Song>>();
    send_and_sync::<Error>();
    send::<holdfast::Commit>();
    send::<holdfast::Live>();
    send::<holdfast::Cursor<'static>>();
}
