package holdfast

import (
	"context"
	"encoding/json"
	"errors"
)

// Typed is a repository of a type of the program's, as encoding/json has it.
type Typed[T any] struct{ repository *Repository }

// Of opens a repository of a type.
func Of[T any](ctx context.Context, store *Store, name string, opts any) (*Typed[T], error) {
	repository, err := store.Repository(ctx, name, opts)
	return &Typed[T]{repository}, err
}

// Within is the same repository in a transaction.
func (t *Typed[T]) Within(tx *Tx) *Typed[T] { return &Typed[T]{t.repository.Within(tx)} }

// Repository is for everything that needs no type.
func (t *Typed[T]) Repository() *Repository { return t.repository }

// Add stores a new value, and answers its version.
func (t *Typed[T]) Add(ctx context.Context, value T) (uint64, error) {
	return version(t.repository.Add(ctx, value))
}

// Save stores a value, new or not, and answers its version.
func (t *Typed[T]) Save(ctx context.Context, value T) (uint64, error) {
	return version(t.repository.Save(ctx, value))
}

// Update replaces an existing value, and answers its version.
func (t *Typed[T]) Update(ctx context.Context, value T, expectedVersion uint64) (uint64, error) {
	return version(t.repository.Update(ctx, value, expectedVersion))
}

func version(entity Entity, err error) (uint64, error) { return entity.Version, err }

// Fetch fetches one value; false where there is none.
func (t *Typed[T]) Fetch(ctx context.Context, id string) (value T, found bool, err error) {
	return decoded[T](t.repository.Fetch(ctx, id))
}

// First answers the first value that matches a filter; false where there is none.
func (t *Typed[T]) First(ctx context.Context, filter, opts any) (value T, found bool, err error) {
	return decoded[T](t.repository.First(ctx, filter, opts))
}

// Find answers the values that match a filter.
func (t *Typed[T]) Find(ctx context.Context, filter, opts any) ([]T, error) {
	entities, err := t.repository.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(entities))
	for i, entity := range entities {
		if err := json.Unmarshal(entity.JSON, &values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func decoded[T any](entity Entity, err error) (value T, found bool, failed error) {
	if errors.Is(err, ErrNotFound) {
		return value, false, nil
	}
	if err == nil {
		err = json.Unmarshal(entity.JSON, &value)
	}
	return value, err == nil, err
}
