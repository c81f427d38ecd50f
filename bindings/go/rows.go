package holdfast

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
)

// Rows are what Query finds, read in pieces that take little memory:
//
//	defer rows.Close()
//	for rows.Next() {
//		err := rows.Scan(&song)
//	}
//	err := rows.Err()
type Rows struct {
	repository *Repository
	ctx        context.Context
	handle     *C.hf_cursor
	piece      []Entity
	row        Entity
	err        error
	ended      bool
}

// Query is Find for any number of entities. The context is that of all reading.
func (r *Repository) Query(ctx context.Context, filter, opts any) (*Rows, error) {
	given, with, err := query(filter, opts)
	if err != nil {
		return nil, err
	}
	var handle *C.hf_cursor
	err = r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_cursor_open(r.handle, tx, given.data, given.length, with, &handle, e)
	})
	if err != nil {
		return nil, err
	}
	rows := &Rows{repository: r, ctx: ctx, handle: handle}
	runtime.SetFinalizer(rows, func(rows *Rows) { rows.Close() })
	return rows, nil
}

// Next goes to the next entity; false at the end, or where reading failed: see Err.
func (rows *Rows) Next() bool {
	if len(rows.piece) == 0 && !rows.ended {
		var list C.hf_entity_list
		rows.err = rows.repository.call(rows.ctx, func(_ *C.hf_transaction, e **C.hf_error) C.hf_status {
			return C.hf_cursor_next(rows.handle, 0, &list, e)
		})
		rows.piece = takeList(&list)
		rows.ended = len(rows.piece) == 0
	}
	if len(rows.piece) == 0 {
		return false
	}
	rows.row, rows.piece = rows.piece[0], rows.piece[1:]
	return true
}

// Entity is where Next has gone to.
func (rows *Rows) Entity() Entity { return rows.row }

// Scan unmarshals it.
func (rows *Rows) Scan(into any) error { return json.Unmarshal(rows.row.JSON, into) }

// Err tells what reading failed with; nil at the end.
func (rows *Rows) Err() error { return rows.err }

// Close frees the snapshot. Closing again is fine.
func (rows *Rows) Close() {
	runtime.SetFinalizer(rows, nil)
	C.hf_cursor_free(rows.handle)
	rows.piece, rows.ended = nil, true
}
