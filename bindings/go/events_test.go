package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCommitsAreToldInOrder(t *testing.T) {
	store, songs := memory(t, nil)
	var commits []*Commit
	for i := 0; i < 200; i++ {
		tx, err := store.Begin(background, nil)
		must(t, err)
		must(t, ignore(songs.Within(tx).Save(background, Song{fmt.Sprint(i), i})))
		commit, err := tx.Submit(background)
		must(t, err)
		commits = append(commits, commit)
	}
	last := uint64(0)
	for _, commit := range commits {
		<-commit.Done()
		receipt, err := commit.Wait(background)
		must(t, err)
		equal(t, receipt.Sequence > last, true)
		last = receipt.Sequence
	}
	is(t, commits[0].Cancel(), ErrInvalidState)

	tx, err := store.Begin(background, nil)
	must(t, err)
	must(t, ignore(songs.Within(tx).Fetch(background, "1")))
	must(t, ignore(songs.Within(tx).Save(background, Song{"late", 1})))
	must(t, ignore(songs.Patch(background, "1", `{"plays": 0}`, 0)))
	commit, err := tx.Submit(background)
	must(t, err)
	_, err = commit.Wait(background)
	is(t, err, ErrConflict)
	var failed *Error
	equal(t, errors.As(err, &failed) && failed.Retryable && strings.Contains(string(failed.Detail), `"1"`), true)
}

func TestGoroutinesCountToTheSameNumber(t *testing.T) {
	store, err := Open(background, filepath.Join(t.TempDir(), "count.db"), nil)
	must(t, err)
	defer store.Close()
	songs, err := Of[Song](background, store, "songs", nil)
	must(t, err)
	must(t, ignore(songs.Save(background, Song{"s1", 0})))
	ctx, cancel := context.WithTimeout(background, long)
	defer cancel()
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for run := 0; run < 10; run++ {
				_, err := store.Transact(ctx, nil, func(tx *Tx) error {
					song, _, err := songs.Within(tx).Fetch(ctx, "s1")
					if err != nil {
						return err
					}
					song.Plays++
					return ignore(songs.Within(tx).Save(ctx, song))
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	song, _, err := songs.Fetch(background, "s1")
	must(t, err)
	equal(t, song.Plays, 80)
}

func TestALiveQueryFollows(t *testing.T) {
	store, songs := memory(t, nil)
	ctx, cancel := context.WithTimeout(background, long)
	defer cancel()
	must(t, ignore(songs.Save(ctx, Song{"s1", 9})))
	live, err := songs.Live(ctx, `{"plays": {"$gt": 5}}`, nil)
	must(t, err)
	next := func() string {
		t.Helper()
		if !live.Next(ctx) {
			t.Fatal(live.Err())
		}
		return live.News().JSON
	}
	equal(t, strings.Contains(next(), `"snapshot":[{"id":"s1"`), true)
	must(t, ignore(songs.Save(ctx, Song{"s2", 1})))
	must(t, ignore(songs.Save(ctx, Song{"s3", 6})))
	equal(t, strings.Contains(next(), `"inserted":[{"position":1,"id":"s3"`), true)
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	equal(t, live.Next(short), false)
	equal(t, live.Err(), context.DeadlineExceeded)
	must(t, songs.Delete(ctx, "s3", 0))
	equal(t, strings.Contains(next(), `"removed"`), true) // A wait that ended ended nothing else.

	observer, err := store.Observe(ctx, `{"repository": "songs", "id": "s4"}`)
	must(t, err)
	must(t, ignore(songs.Save(ctx, Song{"s4", 1})))
	equal(t, observer.Next(ctx) && strings.Contains(observer.News().JSON, `"s4"`), true)
	go observer.Close()
	equal(t, observer.Next(ctx), false)
	is(t, observer.Err(), ErrClosed)
	is(t, ignore(songs.Live(ctx, "{", nil)), ErrInvalidJSON)

	must(t, store.Close())
	for live.Next(ctx) {
	}
	is(t, live.Err(), ErrClosed)
	equal(t, live.Next(ctx), false)
}

func TestAContextEndsCalls(t *testing.T) {
	store, songs := memory(t, map[string]any{"max_in_flight": 1000})
	over, cancel := context.WithCancel(background)
	cancel()
	err := ignore(songs.Fetch(over, "s1"))
	is(t, err, ErrCancelled)
	equal(t, errors.Is(err, context.Canceled), true)

	many := make([]Song, 20000)
	for i := range many {
		many[i] = Song{fmt.Sprint(i), i}
	}
	must(t, songs.AddMany(background, many))
	deadline, stop := context.WithTimeout(background, 30*time.Millisecond)
	defer stop()
	started := time.Now()
	for err = nil; err == nil && time.Since(started) < long; {
		_, err = songs.Find(deadline, `{"$nor": [{"plays": {"$gte": 0}}]}`, nil) // A scan that finds nothing.
	}
	is(t, err, ErrCancelled)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)

	must(t, ignore(songs.Save(background, Song{"hot", 0})))
	again, stop := context.WithTimeout(background, 50*time.Millisecond)
	defer stop()
	for err = nil; err == nil; {
		_, err = store.Transact(again, nil, func(tx *Tx) error {
			return ignore(songs.Within(tx).Fetch(again, "hot"))
		})
	}
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
}

func TestAnEndedContextWithdrawsACommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	store, err := Open(background, path, nil)
	must(t, err)
	defer store.Close()
	songs, err := store.Repository(background, "songs", nil)
	must(t, err)
	tx, err := store.Begin(background, nil)
	must(t, err)
	must(t, ignore(songs.Within(tx).Save(background, Song{"s1", 1})))

	// Another program has the file locked.
	other := exec.Command("sqlite3", path)
	input, err := other.StdinPipe()
	must(t, err)
	output, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	must(t, ignore(io.WriteString(input, "BEGIN IMMEDIATE;\n.print locked\n")))
	must(t, ignore(io.ReadFull(output, make([]byte, len("locked")))))
	deadline, stop := context.WithTimeout(background, 100*time.Millisecond)
	defer stop()
	started := time.Now()
	_, err = tx.Commit(deadline)
	is(t, err, ErrCancelled)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
	equal(t, time.Since(started) < 20*time.Second, true) // It would wait for half a minute.
	must(t, input.Close())
	must(t, other.Wait())

	contains, err := songs.Contains(background, "s1")
	must(t, err)
	equal(t, contains, false)
	over, cancel := context.WithCancel(background)
	cancel()
	equal(t, errors.Is(ignore(store.Begin(over, nil)), context.Canceled), true)
}

func TestAStoreThatClosesEarlyFinishesWhatItAccepted(t *testing.T) {
	store, songs := memory(t, nil)
	open, err := store.Begin(background, nil)
	must(t, err)
	must(t, ignore(songs.Within(open).Save(background, Song{"s1", 1})))
	accepted, err := store.Begin(background, nil)
	must(t, err)
	must(t, ignore(songs.Within(accepted).Save(background, Song{"s2", 1})))
	commit, err := accepted.Submit(background)
	must(t, err)
	must(t, store.Close())
	receipt, err := commit.Wait(background)
	must(t, err)
	equal(t, receipt.Sequence > 0, true)
	is(t, ignore(songs.Count(background, nil)), ErrClosed)
	if _, err := open.Commit(background); err == nil {
		t.Fatal("it was committed behind the end")
	}
	is(t, ignore(store.Begin(background, nil)), ErrClosed)
	must(t, store.Close())
}

func TestWhatIsForgottenIsCollectedWhileCommitsAreUnderWay(t *testing.T) {
	forget := func() {
		store, err := Open(background, "memory:", nil)
		must(t, err)
		songs, err := store.Repository(background, "songs", nil)
		must(t, err)
		must(t, ignore(songs.Live(background, nil, nil)))
		must(t, ignore(songs.Query(background, nil, nil)))
		for i := 0; i < 50; i++ {
			tx, err := store.Begin(background, nil)
			must(t, err)
			must(t, ignore(songs.Within(tx).Save(background, Song{fmt.Sprint(i), i})))
			if i%2 == 0 {
				must(t, ignore(tx.Submit(background)))
			}
			if i%10 == 0 {
				runtime.GC()
			}
		}
	}
	for round := 0; round < 5; round++ {
		forget()
	}
	equal(t, handlesLeft(), 0)
}

func TestABusyQueueIsToldInTime(t *testing.T) {
	store, songs := memory(t, map[string]any{"max_in_flight": 1})
	// Go's goroutine empties the queue: with one place all come through, one after the other.
	var commits []*Commit
	for i := 0; i < 100; i++ {
		tx, err := store.Begin(background, nil)
		must(t, err)
		must(t, ignore(songs.Within(tx).Save(background, Song{fmt.Sprint(i), i})))
		commit, err := tx.Submit(background)
		must(t, err)
		commits = append(commits, commit)
	}
	for _, commit := range commits {
		must(t, ignore(commit.Wait(background)))
	}
}
