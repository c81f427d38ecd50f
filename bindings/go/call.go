package holdfast

// #cgo pkg-config: holdfast
// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"unsafe"
)

// Status is the kind of a failure, by the library's number. It is an error itself, so that errors.Is(err, ErrConflict)
// asks for it.
type Status uint32

// Error is the status's name in C.
func (s Status) Error() string { return C.GoString(C.hf_status_name(C.hf_status(s))) }

// CommitState is what became of a commit whose call failed.
type CommitState uint32

const (
	// CommitNone: nothing of it was stored.
	CommitNone CommitState = C.HF_COMMIT_NONE
	// CommitUnknown: it may or may not have been stored.
	CommitUnknown CommitState = C.HF_COMMIT_UNKNOWN
	// CommitDone: it was stored, although something afterwards failed.
	CommitDone CommitState = C.HF_COMMIT_DONE
)

// Error is what a call failed with. errors.Is compares it with the statuses and, where a context ended the call, with
// context.Canceled and context.DeadlineExceeded.
type Error struct {
	Status  Status
	Message string
	// Detail is a JSON object for programs: see hf_error_detail.
	Detail json.RawMessage
	// Retryable tells whether the same work may succeed when it is done again.
	Retryable   bool
	CommitState CommitState
	cause       error
}

func (e *Error) Error() string { return "holdfast: " + e.Message }

// Unwrap answers what ended the call: the error of its context.
func (e *Error) Unwrap() error { return e.cause }

// Is tells whether the target is the status of this error.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// failure reads an error of the library's, which stays its owner's.
func failure(status C.hf_status, from *C.hf_error) *Error {
	if from == nil {
		return &Error{Status: Status(status), Message: Status(status).Error(), Detail: json.RawMessage("{}")}
	}
	var length C.size_t
	detail := C.hf_error_detail(from, &length)
	return &Error{
		Status:      Status(status),
		Message:     C.GoString(C.hf_error_message(from)),
		Detail:      json.RawMessage(C.GoStringN(detail, C.int(length))),
		Retryable:   bool(C.hf_error_is_retryable(from)),
		CommitState: CommitState(C.hf_error_commit_state(from)),
	}
}

// call makes a call of the library's, which ends when the context does: within about 20 ms, with nothing half done.
func call(ctx context.Context, run func(**C.hf_error) C.hf_status) error {
	if err := ctx.Err(); err != nil {
		return &Error{Status: ErrCancelled, Message: err.Error(), Detail: json.RawMessage("{}"), cause: err}
	}
	var from *C.hf_error
	var status C.hf_status
	if ctx.Done() == nil {
		status = run(&from)
	} else {
		// The library asks on the thread of the call.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cancelled := (*C.int)(C.calloc(1, C.sizeof_int))
		returned, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-ctx.Done():
				C.hf_go_cancel(cancelled)
			case <-returned:
			}
		}()
		C.hf_go_check(cancelled)
		status = run(&from)
		C.hf_go_check(nil)
		close(returned)
		<-watched
		C.free(unsafe.Pointer(cancelled))
	}
	if status == C.HF_OK {
		return nil
	}
	defer C.hf_error_free(from)
	err := failure(status, from)
	if err.Status == ErrCancelled {
		err.cause = ctx.Err()
	}
	return err
}

// text is what C reads of a string: nil where it is empty. The library copies it before it returns.
type text struct {
	data   *C.char
	length C.size_t
}

func textOf(s string) text {
	if s == "" {
		return text{}
	}
	bytes := []byte(s)
	return text{(*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(s))}
}

// terminated is a string that C reads up to its NUL.
func terminated(s string) (*C.char, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, &Error{Status: ErrInvalidArgument, Message: "a text with a NUL in it names nothing"}
	}
	return textOf(s + "\x00").data, nil
}

// encoded is JSON: a string, []byte and json.RawMessage are that already, nil is nothing, all else is marshalled.
func encoded(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case []byte:
		return string(value), nil
	case json.RawMessage:
		return string(value), nil
	}
	bytes, err := json.Marshal(value)
	return string(bytes), err
}

// options is encoded, for C.
func options(value any) (*C.char, error) {
	json, err := encoded(value)
	if err != nil {
		return nil, err
	}
	return terminated(json)
}

// take is the text of a buffer, which is freed.
func take(buffer *C.hf_buffer) string {
	defer C.hf_buffer_free(buffer)
	return lent(buffer.data, buffer.length)
}

func lent(data *C.char, length C.size_t) string {
	if data == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(data)), int(length)))
}

// HandleCount tells how many handles of a kind live in this process, "" for all: for tests that nothing leaks.
func HandleCount(kind string) int {
	name, err := terminated(kind)
	if err != nil {
		return 0
	}
	if kind == "" {
		name = nil
	}
	return int(C.hf_handle_count(name))
}
