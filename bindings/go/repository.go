package holdfast

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"unsafe"
)

// Repository is a named collection of entities, or what a transaction sees of it. Without a transaction a write is one
// of its own.
type Repository struct {
	store  *Store
	handle *C.hf_repository
	tx     *Tx
	// origin is what the handle belongs to, where this is what a transaction sees.
	origin *Repository
}

// Entity is one entity: its bytes as stored, and its version; 0 where an open transaction wrote it.
type Entity struct {
	JSON    json.RawMessage
	Version uint64
}

// Repository opens a repository, creating it where there is none. options: as for hf_repository_open.
func (s *Store) Repository(ctx context.Context, name string, opts any) (*Repository, error) {
	called, err := terminated(name)
	if err != nil {
		return nil, err
	}
	with, err := options(opts)
	if err != nil {
		return nil, err
	}
	var handle *C.hf_repository
	err = s.call(ctx, func(e **C.hf_error) C.hf_status { return C.hf_repository_open(s.handle, called, with, &handle, e) })
	if err != nil {
		return nil, err
	}
	repository := &Repository{store: s, handle: handle}
	runtime.SetFinalizer(repository, func(r *Repository) { C.hf_repository_free(r.handle) })
	return repository, nil
}

// Within is the same repository in a transaction.
func (r *Repository) Within(tx *Tx) *Repository {
	origin := r
	if r.origin != nil {
		origin = r.origin
	}
	return &Repository{store: r.store, handle: r.handle, tx: tx, origin: origin}
}

func (r *Repository) call(ctx context.Context, run func(tx *C.hf_transaction, e **C.hf_error) C.hf_status) error {
	defer runtime.KeepAlive(r)
	var tx *C.hf_transaction
	if r.tx != nil {
		tx = r.tx.handle
	}
	return call(ctx, func(e **C.hf_error) C.hf_status { return run(tx, e) })
}

// one makes a call that answers an entity.
func (r *Repository) one(
	ctx context.Context, run func(tx *C.hf_transaction, out *C.hf_entity, e **C.hf_error) C.hf_status,
) (Entity, error) {
	var out C.hf_entity
	err := r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status { return run(tx, &out, e) })
	defer C.hf_entity_free(&out)
	if err != nil {
		return Entity{}, err
	}
	return Entity{json.RawMessage(lent(out.data, out.length)), uint64(out.version)}, nil
}

// writer is one of the functions that take an entity.
type writer func(tx *C.hf_transaction, entity text, out *C.hf_entity, e **C.hf_error) C.hf_status

func (r *Repository) write(ctx context.Context, entity any, write writer) (Entity, error) {
	json, err := encoded(entity)
	if err != nil {
		return Entity{}, err
	}
	given := textOf(json)
	return r.one(ctx, func(tx *C.hf_transaction, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return write(tx, given, out, e)
	})
}

// Add stores a new entity, which is given an id if it has none. ErrExists when the id is taken.
func (r *Repository) Add(ctx context.Context, entity any) (Entity, error) {
	return r.write(ctx, entity, func(tx *C.hf_transaction, given text, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_add(r.handle, tx, given.data, given.length, out, e)
	})
}

// Save stores an entity, new or not.
func (r *Repository) Save(ctx context.Context, entity any) (Entity, error) {
	return r.write(ctx, entity, func(tx *C.hf_transaction, given text, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_save(r.handle, tx, given.data, given.length, out, e)
	})
}

// Update replaces an existing entity. ErrNotFound; ErrVersionMismatch unless it has the version (0: any).
func (r *Repository) Update(ctx context.Context, entity any, expectedVersion uint64) (Entity, error) {
	return r.write(ctx, entity, func(tx *C.hf_transaction, given text, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_update(r.handle, tx, given.data, given.length, C.uint64_t(expectedVersion), out, e)
	})
}

// Patch changes some members by a JSON merge patch. Fails as Update does.
func (r *Repository) Patch(ctx context.Context, id string, patch any, expectedVersion uint64) (Entity, error) {
	key := textOf(id)
	return r.write(ctx, patch, func(tx *C.hf_transaction, given text, out *C.hf_entity, e **C.hf_error) C.hf_status {
		expected := C.uint64_t(expectedVersion)
		return C.hf_repository_patch(r.handle, tx, key.data, key.length, given.data, given.length, expected, out, e)
	})
}

// Modify changes an entity by update operators; begins with `initial` where there is none, unless that is nil.
func (r *Repository) Modify(ctx context.Context, id string, update, initial any) (Entity, error) {
	first, err := encoded(initial)
	if err != nil {
		return Entity{}, err
	}
	key, begin := textOf(id), textOf(first)
	return r.write(ctx, update, func(tx *C.hf_transaction, given text, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_modify(r.handle, tx, key.data, key.length, given.data, given.length, begin.data,
			begin.length, 0, out, e)
	})
}

// Delete deletes an entity. Fails as Update does.
func (r *Repository) Delete(ctx context.Context, id string, expectedVersion uint64) error {
	key := textOf(id)
	return r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_repository_delete(r.handle, tx, key.data, key.length, C.uint64_t(expectedVersion), e)
	})
}

// AddMany stores the entities of a JSON array, all or none.
func (r *Repository) AddMany(ctx context.Context, entities any) error {
	json, err := encoded(entities)
	if err != nil {
		return err
	}
	given := textOf(json)
	return r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_repository_add_many(r.handle, tx, given.data, given.length, nil, e)
	})
}

// Fetch fetches one entity; ErrNotFound where there is none.
func (r *Repository) Fetch(ctx context.Context, id string) (Entity, error) {
	key := textOf(id)
	return r.one(ctx, func(tx *C.hf_transaction, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_fetch(r.handle, tx, key.data, key.length, out, e)
	})
}

// Contains tells whether there is an entity of this id.
func (r *Repository) Contains(ctx context.Context, id string) (bool, error) {
	key := textOf(id)
	var contains C.bool
	err := r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_repository_contains(r.handle, tx, key.data, key.length, &contains, e)
	})
	return bool(contains), err
}

// query is a filter and its options, for C.
func query(filter, opts any) (text, *C.char, error) {
	json, err := encoded(filter)
	if err != nil {
		return text{}, nil, err
	}
	with, err := options(opts)
	return textOf(json), with, err
}

// Find answers the entities that match a filter. options: as for hf_repository_find.
func (r *Repository) Find(ctx context.Context, filter, opts any) ([]Entity, error) {
	given, with, err := query(filter, opts)
	if err != nil {
		return nil, err
	}
	var list C.hf_entity_list
	err = r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_repository_find(r.handle, tx, given.data, given.length, with, &list, e)
	})
	return takeList(&list), err
}

// First answers the first of them; ErrNotFound where there is none.
func (r *Repository) First(ctx context.Context, filter, opts any) (Entity, error) {
	given, with, err := query(filter, opts)
	if err != nil {
		return Entity{}, err
	}
	return r.one(ctx, func(tx *C.hf_transaction, out *C.hf_entity, e **C.hf_error) C.hf_status {
		return C.hf_repository_first(r.handle, tx, given.data, given.length, with, out, e)
	})
}

// Count counts those that match.
func (r *Repository) Count(ctx context.Context, filter any) (uint64, error) {
	given, _, err := query(filter, nil)
	if err != nil {
		return 0, err
	}
	var count C.uint64_t
	err = r.call(ctx, func(tx *C.hf_transaction, e **C.hf_error) C.hf_status {
		return C.hf_repository_count(r.handle, tx, given.data, given.length, nil, &count, e)
	})
	return uint64(count), err
}

// Live follows a query's result: the whole of it, then how it changes.
func (r *Repository) Live(ctx context.Context, filter, opts any) (*Live, error) {
	given, with, err := query(filter, opts)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(r)
	return r.store.live(ctx, func(token C.uintptr_t, out **C.hf_stream, e **C.hf_error) C.hf_status {
		return C.hf_go_live(r.handle, given.data, given.length, with, token, out, e)
	})
}

func takeList(list *C.hf_entity_list) []Entity {
	defer C.hf_entity_list_free(list)
	entities := make([]Entity, 0, int(list.count))
	for _, item := range unsafe.Slice(list.items, int(list.count)) {
		entities = append(entities, Entity{json.RawMessage(lent(item.data, item.length)), uint64(item.version)})
	}
	return entities
}
