// Package holdfast is an embeddable transactional repository of JSON entities.
//
//	store, err := holdfast.Open(ctx, "music.db", nil)
//	songs, err := holdfast.Of[Song](ctx, store, "songs", nil)
//	receipt, err := store.Transact(ctx, nil, func(tx *holdfast.Tx) error { // runs again after a conflict
//		song, found, err := songs.Within(tx).Fetch(ctx, "s1")
//		...
//		_, err = songs.Within(tx).Save(ctx, song)
//		return err
//	})
//
// Calls end when their context does. Filters, updates, entities and options are JSON as the C API's headers describe: a
// string or []byte is taken as it is, any other value is marshalled, nil means all, or the defaults. Everything may be
// used by any number of goroutines; handles need no order of closing, and what is forgotten is collected. No function
// of the program's is ever called by the library: it has a queue, whose descriptor Go's own poller waits for.
package holdfast

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
)

// Store is a database. Close it; one that is forgotten is closed when it is collected.
type Store struct {
	handle *C.hf_store
	queue  *queue
}

// Open opens a store, creating it where there is none. url, options: as for hf_store_open; "delivery" is always
// "queue".
func Open(ctx context.Context, url string, opts any) (*Store, error) {
	name, err := terminated(url)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if given, err := encoded(opts); err != nil {
		return nil, err
	} else if given != "" {
		if err := json.Unmarshal([]byte(given), &members); err != nil {
			return nil, &Error{Status: ErrInvalidOption, Message: "options are a JSON object: " + err.Error()}
		}
	}
	members["delivery"] = json.RawMessage(`"queue"`)
	with, err := options(members)
	if err != nil {
		return nil, err
	}
	if err := call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_version_select(C.HF_API_VERSION, e) }); err != nil {
		return nil, err
	}
	var handle *C.hf_store
	if err := call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_store_open(name, with, &handle, e) }); err != nil {
		return nil, err
	}
	queue, err := newQueue(handle)
	if err != nil {
		C.hf_store_free(handle)
		return nil, err
	}
	store := &Store{handle, queue}
	// Closing takes its time, which finalizers have not.
	runtime.SetFinalizer(store, func(store *Store) { go free(store.handle, store.queue) })
	return store, nil
}

func free(handle *C.hf_store, queue *queue) {
	C.hf_store_close(handle, -1, nil)
	<-queue.ended
	C.hf_store_free(handle)
}

// Close refuses new work, rolls back open transactions, finishes and tells what was accepted. Closing again is fine.
func (s *Store) Close() error {
	err := s.call(context.Background(), func(e **C.hf_error) C.hf_status { return C.hf_store_close(s.handle, -1, e) })
	if err == nil {
		<-s.queue.ended
	}
	return err
}

func (s *Store) call(ctx context.Context, run func(**C.hf_error) C.hf_status) error {
	defer runtime.KeepAlive(s)
	return call(ctx, run)
}

// Sync makes everything committed before this call durable.
func (s *Store) Sync(ctx context.Context) error {
	return s.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_store_sync(s.handle, e) })
}

// Describe answers the store as JSON: see hf_store_describe.
func (s *Store) Describe(ctx context.Context) (string, error) {
	var buffer C.hf_buffer
	err := s.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_store_describe(s.handle, &buffer, e) })
	return take(&buffer), err
}

// Begin begins a transaction. options: as for hf_transaction_begin.
func (s *Store) Begin(ctx context.Context, opts any) (*Tx, error) {
	with, err := options(opts)
	if err != nil {
		return nil, err
	}
	var handle *C.hf_transaction
	err = s.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_transaction_begin(s.handle, with, &handle, e) })
	if err != nil {
		return nil, err
	}
	return newTx(s, handle), nil
}

// maxAttempts is the library's own default.
const maxAttempts = 100

// known is the receipt of the commit that used the options' idempotency key; nil where none did, or there is no key.
func (s *Store) known(ctx context.Context, opts any) (*Receipt, error) {
	given, err := encoded(opts)
	if err != nil {
		return nil, err
	}
	var read struct {
		Key string `json:"idempotency_key"`
	}
	if json.Unmarshal([]byte(given), &read) != nil || read.Key == "" {
		return nil, nil // What is wrong with options Begin tells.
	}
	with, err := terminated(given)
	if err != nil {
		return nil, err
	}
	var buffer C.hf_buffer
	err = s.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_go_known(s.handle, with, &buffer, e) })
	text := take(&buffer)
	if err != nil {
		return nil, err
	}
	if receipt, err := receiptOf(text); err != nil || receipt.Replayed {
		return receipt, err
	}
	return nil, nil
}

// Transact runs the body in a transaction and commits it; after a conflict it runs again, at most 100 times, as long as
// the context allows. An error of the body's, or a panic, rolls back; one that wraps ErrConflict is a conflict. options: as for hf_transaction_begin. With an
// idempotency key that was used the body does not run, and the first receipt is answered.
func (s *Store) Transact(ctx context.Context, opts any, body func(tx *Tx) error) (*Receipt, error) {
	if known, err := s.known(ctx, opts); known != nil || err != nil {
		return known, err
	}
	tx, err := s.Begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		receipt, err := tx.attempt(ctx, body)
		if err == nil {
			receipt.Attempts = attempt
			return receipt, nil
		}
		// What stood in its way may be what the same request has stored, which came at the same time and was faster.
		if known, failed := s.known(ctx, opts); known != nil && failed == nil {
			return known, nil
		}
		if !errors.Is(err, ErrConflict) || attempt == maxAttempts {
			return nil, err
		}
		if tx, err = tx.again(ctx); err != nil {
			return nil, err
		}
	}
}
