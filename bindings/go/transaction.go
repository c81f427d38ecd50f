package holdfast

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
)

// Tx is one unit of work: end it by Commit, Submit or Rollback. One that is forgotten is rolled back.
type Tx struct {
	store  *Store
	handle *C.hf_transaction
}

func newTx(store *Store, handle *C.hf_transaction) *Tx {
	tx := &Tx{store, handle}
	runtime.SetFinalizer(tx, func(tx *Tx) { C.hf_transaction_free(tx.handle) })
	return tx
}

func (tx *Tx) call(ctx context.Context, run func(**C.hf_error) C.hf_status) error {
	defer runtime.KeepAlive(tx)
	return call(ctx, run)
}

// Receipt is what a commit answers: see receipt.h.
type Receipt struct {
	// Sequence is the commit's number in the store's order; 0 when it changed nothing.
	Sequence uint64 `json:"sequence"`
	// Position is its place in the store's history.
	Position string   `json:"position"`
	Changes  []Change `json:"changes"`
	Attempts int      `json:"attempts"`
	// Durable tells whether it was synced to the disk when it was told.
	Durable bool `json:"durable"`
	// Replayed tells whether an earlier commit with the same idempotency key is answered again.
	Replayed bool `json:"replayed"`
}

// Change is what became of one entity.
type Change struct {
	Repository string `json:"repository"`
	ID         string `json:"id"`
	// Operation is "put" or "delete".
	Operation string `json:"operation"`
	Version   uint64 `json:"version"`
}

func receiptOf(text string) (*Receipt, error) {
	receipt := &Receipt{}
	if err := json.Unmarshal([]byte(text), receipt); err != nil {
		return nil, &Error{Status: ErrInternal, Message: "a receipt cannot be read: " + err.Error(), CommitState: CommitDone}
	}
	return receipt, nil
}

// Commit commits and waits for the outcome. A context that ends withdraws it while it is queued; once it is being stored
// the true result is told, late if need be.
func (tx *Tx) Commit(ctx context.Context) (*Receipt, error) {
	var buffer C.hf_buffer
	err := tx.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_transaction_commit(tx.handle, &buffer, e) })
	receipt := take(&buffer)
	if err != nil {
		return nil, err
	}
	return receiptOf(receipt)
}

// Rollback discards the transaction. After Commit or Submit it answers ErrInvalidState, so that it may be deferred.
func (tx *Tx) Rollback() error {
	return tx.call(context.Background(), func(e **C.hf_error) C.hf_status {
		return C.hf_transaction_rollback(tx.handle, e)
	})
}

// Scope runs a part that is all or nothing by itself: what it wrote goes back when it answers an error, or panics.
func (tx *Tx) Scope(body func() error) (err error) {
	background := context.Background()
	var scope C.uint64_t
	err = tx.call(background, func(e **C.hf_error) C.hf_status {
		return C.hf_transaction_begin_scope(tx.handle, 0, &scope, e)
	})
	if err != nil {
		return err
	}
	succeeded := false
	defer func() {
		ended := tx.call(background, func(e **C.hf_error) C.hf_status {
			return C.hf_transaction_end_scope(tx.handle, scope, C.bool(succeeded), e)
		})
		if err == nil {
			err = ended
		}
	}()
	err = body()
	succeeded = err == nil
	return err
}

// Submit hands the commit over and returns. It goes on whether anybody waits for it or not.
//
// Where "max_in_flight" commits are under way it waits for a place: ErrBusy after "timeout_ms", or at once with
// "when_full": "refuse".
func (tx *Tx) Submit(ctx context.Context) (*Commit, error) {
	commit := &Commit{tx: tx, done: make(chan struct{})}
	token := tx.store.queue.open(commit)
	err := tx.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_go_submit(tx.handle, token, e) })
	if err != nil {
		tx.store.queue.forget(token)
		return nil, err
	}
	return commit, nil
}

// attempt runs the body and commits; whatever else happens rolls back.
func (tx *Tx) attempt(ctx context.Context, body func(tx *Tx) error) (*Receipt, error) {
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback() // After a commit that failed there is nothing left to roll back.
		}
	}()
	if err := body(tx); err != nil {
		return nil, err
	}
	receipt, err := tx.Commit(ctx)
	committed = err == nil
	return receipt, err
}

// again is the next attempt after a conflict, once it is its turn.
func (tx *Tx) again(ctx context.Context) (*Tx, error) {
	var handle *C.hf_transaction
	var turn *C.hf_future
	err := tx.call(ctx, func(e **C.hf_error) C.hf_status {
		return C.hf_transaction_retry(tx.handle, nil, &handle, &turn, e)
	})
	if err != nil {
		return nil, err
	}
	defer C.hf_future_free(turn)
	next := newTx(tx.store, handle)
	err = next.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_future_wait(turn, nil, -1, nil, nil, e) })
	return next, err
}
