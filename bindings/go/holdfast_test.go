package holdfast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

var background = context.Background()

const long = time.Minute

// Every test leaves no handle behind, once what it has forgotten is collected.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := handlesLeft(); left != 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "FAILED: %d handles are left\n", left)
		code = 1
	}
	os.Exit(code)
}

func handlesLeft() int {
	for deadline := time.Now().Add(long); time.Now().Before(deadline) && HandleCount("") != 0; {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return HandleCount("")
}

func memory(t *testing.T, opts any) (*Store, *Repository) {
	t.Helper()
	store, err := Open(background, "memory:", opts)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	songs, err := store.Repository(background, "songs", nil)
	must(t, err)
	return store, songs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks that an error is of this status.
func is(t *testing.T, err error, status Status) {
	t.Helper()
	if !errors.Is(err, status) {
		t.Fatalf("%v, where %v was expected", err, status)
	}
}

func equal[T any](t *testing.T, found, expected T) {
	t.Helper()
	if any(found) != any(expected) {
		t.Fatalf("%v, where %v was expected", found, expected)
	}
}

func ignore[T any](_ T, err error) error { return err }

type Song struct {
	ID    string `json:"id"`
	Plays int    `json:"plays"`
}

func TestEntitiesAreAddedChangedFoundAndDeleted(t *testing.T) {
	_, songs := memory(t, nil)
	added, err := songs.Add(background, Song{"s1", 1})
	must(t, err)
	fetched, err := songs.Fetch(background, "s1")
	must(t, err)
	equal(t, fetched.Version, added.Version)
	equal(t, string(fetched.JSON), `{"id":"s1","plays":1}`)
	is(t, ignore(songs.Add(background, `{"id": "s1"}`)), ErrExists)
	must(t, ignore(songs.Patch(background, "s1", `{"plays": 2}`, added.Version)))
	is(t, ignore(songs.Update(background, Song{"s1", 0}, added.Version)), ErrVersionMismatch)
	is(t, ignore(songs.Update(background, Song{"s2", 0}, 0)), ErrNotFound)
	must(t, ignore(songs.Modify(background, "s2", `{"$inc": {"plays": 5}}`, "{}")))
	is(t, ignore(songs.Fetch(background, "nobody")), ErrNotFound)
	count, err := songs.Count(background, map[string]any{"plays": map[string]int{"$gt": 1}})
	must(t, err)
	equal(t, count, 2)
	first, err := songs.First(background, nil, `{"sort": {"plays": -1}}`)
	must(t, err)
	if !strings.Contains(string(first.JSON), "s2") {
		t.Fatal(string(first.JSON))
	}
	must(t, songs.AddMany(background, []Song{{"s3", 3}, {"s4", 4}}))
	rows, err := songs.Query(background, nil, nil)
	must(t, err)
	defer rows.Close()
	plays := 0
	for rows.Next() {
		var song Song
		must(t, rows.Scan(&song))
		plays += song.Plays
	}
	must(t, rows.Err())
	equal(t, plays, 2+5+3+4)
	must(t, songs.Delete(background, "s2", 0))
	is(t, songs.Delete(background, "s2", 0), ErrNotFound)
	contains, err := songs.Contains(background, "s2")
	must(t, err)
	equal(t, contains, false)
}

func TestErrorsTellWhatIsWrongAndWhere(t *testing.T) {
	store, songs := memory(t, nil)
	err := ignore(songs.Find(background, `{"a": {"$near": 1}}`, nil))
	var failed *Error
	if !errors.As(fmt.Errorf("asked for songs: %w", err), &failed) {
		t.Fatal(err)
	}
	equal(t, failed.Status, ErrInvalidQuery)
	equal(t, failed.Retryable, false)
	equal(t, failed.Status.Error(), "HF_INVALID_QUERY")
	if !strings.Contains(string(failed.Detail), "$near") {
		t.Fatal(string(failed.Detail))
	}
	is(t, ignore(Open(background, "memory:", map[string]any{"durabilty": 1})), ErrInvalidOption)
	is(t, ignore(Open(background, "memory:", "queue")), ErrInvalidOption)
	is(t, ignore(Open(background, "memory\x00:", nil)), ErrInvalidArgument)
	is(t, ignore(store.Repository(background, "no good name", nil)), ErrInvalidName)
	is(t, ignore(songs.Save(background, "")), ErrInvalidJSON)
	if err := ignore(songs.Save(background, func() {})); err == nil {
		t.Fatal("a function was stored")
	}
}

func TestTypesAreStored(t *testing.T) {
	store, _ := memory(t, nil)
	songs, err := Of[Song](background, store, "songs", nil)
	must(t, err)
	must(t, ignore(songs.Add(background, Song{`s"1`, 3})))
	version, err := songs.Save(background, Song{"s2", 4})
	must(t, err)
	song, found, err := songs.Fetch(background, `s"1`)
	must(t, err)
	equal(t, song, Song{`s"1`, 3})
	equal(t, found, true)
	_, found, err = songs.Fetch(background, "nobody")
	must(t, err)
	equal(t, found, false)
	_, err = store.Transact(background, nil, func(tx *Tx) error {
		return ignore(songs.Within(tx).Update(background, Song{"s2", 5}, version))
	})
	must(t, err)
	all, err := songs.Find(background, `{"plays": 5}`, nil)
	must(t, err)
	equal(t, len(all), 1)
	must(t, ignore(songs.Repository().Save(background, `{"id": "broken", "plays": "many"}`)))
	if _, _, err := songs.Fetch(background, "broken"); err == nil {
		t.Fatal("what is no number was read as one")
	}
}

func TestWhatIsNotCommittedGoesBack(t *testing.T) {
	store, songs := memory(t, nil)
	tx, err := store.Begin(background, nil)
	must(t, err)
	must(t, ignore(songs.Within(tx).Save(background, Song{"s1", 1})))
	must(t, tx.Rollback())
	is(t, ignore(songs.Within(tx).Save(background, Song{"s1", 1})), ErrInvalidState)
	tx, err = store.Begin(background, nil)
	must(t, err)
	defer tx.Rollback()
	inside := songs.Within(tx)
	is(t, tx.Scope(func() error {
		must(t, ignore(inside.Save(background, Song{"undone", 1})))
		return inside.Delete(background, "nobody", 0)
	}), ErrNotFound)
	func() {
		defer func() { equal(t, recover(), any("no")) }()
		_ = tx.Scope(func() error {
			must(t, ignore(inside.Save(background, Song{"undone", 1})))
			panic("no")
		})
	}()
	must(t, tx.Scope(func() error { return ignore(inside.Save(background, Song{"scoped", 1})) }))
	receipt, err := tx.Commit(background)
	must(t, err)
	equal(t, len(receipt.Changes), 1)
	equal(t, receipt.Changes[0], Change{"songs", "scoped", "put", receipt.Sequence})
	is(t, tx.Rollback(), ErrInvalidState)
}

func TestAConflictRunsTheBodyAgain(t *testing.T) {
	store, _ := memory(t, nil)
	songs, err := Of[Song](background, store, "songs", nil)
	must(t, err)
	must(t, ignore(songs.Save(background, Song{"s1", 0})))
	runs := 0
	receipt, err := store.Transact(background, nil, func(tx *Tx) error {
		song, _, err := songs.Within(tx).Fetch(background, "s1")
		if err != nil {
			return err
		}
		if runs++; runs == 1 { // Somebody else is quicker.
			must(t, ignore(songs.Repository().Modify(background, "s1", `{"$inc": {"plays": 10}}`, nil)))
		}
		song.Plays++
		return ignore(songs.Within(tx).Save(background, song))
	})
	must(t, err)
	song, _, err := songs.Fetch(background, "s1")
	must(t, err)
	equal(t, song.Plays, 11)
	equal(t, runs, 2)
	equal(t, receipt.Attempts, 2)

	runs = 0
	_, err = store.Transact(background, nil, func(tx *Tx) error {
		runs++
		return fmt.Errorf("wrapped: %w", &Error{Status: ErrConflict})
	})
	is(t, err, ErrConflict)
	equal(t, runs, 100)
}

func TestAnErrorOrAPanicInTheBodyRollsBackAndArrives(t *testing.T) {
	store, songs := memory(t, nil)
	own := errors.New("own")
	_, err := store.Transact(background, nil, func(tx *Tx) error {
		must(t, ignore(songs.Within(tx).Save(background, Song{"s1", 1})))
		return own
	})
	equal(t, err, own)
	func() {
		defer func() { equal(t, recover(), any("mine")) }()
		_, _ = store.Transact(background, nil, func(tx *Tx) error {
			must(t, ignore(songs.Within(tx).Save(background, Song{"s1", 1})))
			panic("mine")
		})
	}()
	count, err := songs.Count(background, nil)
	must(t, err)
	equal(t, count, 0)
}

func TestAnIdempotencyKeyAnswersTheFirstReceipt(t *testing.T) {
	store, _ := memory(t, nil)
	songs, err := Of[Song](background, store, "songs", nil)
	must(t, err)
	play := func() *Receipt {
		receipt, err := store.Transact(background, `{"idempotency_key": "k"}`, func(tx *Tx) error {
			song, _, err := songs.Within(tx).Fetch(background, "s1")
			must(t, err)
			return ignore(songs.Within(tx).Save(background, Song{"s1", song.Plays + 1})) // something else the second time
		})
		must(t, err)
		return receipt
	}
	first, second := play(), play()
	equal(t, second.Sequence, first.Sequence)
	equal(t, second.Replayed && !first.Replayed, true)
	song, _, err := songs.Fetch(background, "s1")
	must(t, err)
	equal(t, song.Plays, 1)
	// The same request twice at once: the one that is slower gets the other's receipt, whatever it wrote.
	var faster *Receipt
	slower, err := store.Transact(background, `{"idempotency_key": "both"}`, func(tx *Tx) error {
		if faster == nil {
			faster, err = store.Transact(background, `{"idempotency_key": "both"}`, func(tx *Tx) error {
				return ignore(songs.Within(tx).Save(background, Song{"s2", 1}))
			})
			must(t, err)
		}
		return ignore(songs.Within(tx).Save(background, Song{"s2", 2}))
	})
	must(t, err)
	equal(t, slower.Replayed && slower.Sequence == faster.Sequence, true)
	// Also where its own body refuses, for what the other has stored.
	refused, err := store.Transact(background, `{"idempotency_key": "refused"}`, func(tx *Tx) error {
		_, err := store.Transact(background, `{"idempotency_key": "refused"}`, func(tx *Tx) error {
			return ignore(songs.Within(tx).Save(background, Song{"s3", 1}))
		})
		must(t, err)
		return errors.New("there is one already")
	})
	must(t, err)
	equal(t, refused.Replayed, true)
}
