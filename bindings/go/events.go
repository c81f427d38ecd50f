package holdfast

// #include "shim.h"
import "C"

import (
	"context"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// receiver is who waits for events: a commit or a stream.
type receiver interface {
	// put is given each event, and at last, if it still waits then, the error of a store that was closed.
	put(event event)
}

// event is a copy of what the library told.
type event struct {
	isEnd                    bool
	err                      error
	receipt, value, position string
}

// queue takes a store's events. What the library has as user_data is a number, so that it holds nothing of Go's.
type queue struct {
	mutex     sync.Mutex
	receivers map[C.uintptr_t]receiver
	last      C.uintptr_t
	closed    bool
	// ended is closed when the store is, and every event was told.
	ended chan struct{}
}

func newQueue(store *C.hf_store) (*queue, error) {
	var descriptor C.int
	err := call(context.Background(), func(e **C.hf_error) C.hf_status {
		return C.hf_store_event_fd(store, &descriptor, e)
	})
	if err != nil {
		return nil, err
	}
	// A descriptor of our own, because os.File closes it. The library's is non-blocking, and so is this.
	syscall.ForkLock.RLock()
	own, err := syscall.Dup(int(descriptor))
	if err == nil {
		syscall.CloseOnExec(own)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(own), "holdfast events")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	q := &queue{receivers: map[C.uintptr_t]receiver{}, ended: make(chan struct{})}
	go q.run(store, file, conn)
	return q, nil
}

// run takes events until the store is closed. While there are none it is parked in Go's poller, on no thread.
func (q *queue) run(store *C.hf_store, file *os.File, conn syscall.RawConn) {
	defer close(q.ended)
	defer file.Close()
	const room = 64
	events := (*[room]C.hf_event)(C.calloc(room, C.sizeof_hf_event))
	defer C.free(unsafe.Pointer(events))
	for {
		var count C.int32_t
		err := conn.Read(func(uintptr) bool {
			count = C.hf_store_events(store, &events[0], room, 0)
			return count != 0
		})
		if err != nil || count < 0 {
			q.close()
			return
		}
		for i := range events[:count] {
			q.tell(&events[i])
		}
		C.hf_events_free(&events[0], C.size_t(count))
	}
}

func (q *queue) tell(from *C.hf_event) {
	token := C.hf_go_token(from)
	isEnd := from.kind == C.HF_EVENT_COMMIT || from.kind == C.HF_EVENT_END
	q.mutex.Lock()
	receiver := q.receivers[token]
	if isEnd {
		delete(q.receivers, token)
	}
	q.mutex.Unlock()
	if receiver == nil {
		return // A stream that was closed meanwhile.
	}
	told := event{
		isEnd:    isEnd,
		receipt:  lent(from.receipt.data, from.receipt.length),
		value:    lent(from.value.data, from.value.length),
		position: lent(from.position.data, from.position.length),
	}
	if from.status != C.HF_OK {
		told.err = failure(from.status, from.error)
	}
	receiver.put(told)
}

func (q *queue) close() {
	q.mutex.Lock()
	left := q.receivers
	q.receivers, q.closed = nil, true
	q.mutex.Unlock()
	for _, receiver := range left {
		receiver.put(event{isEnd: true, err: errClosed})
	}
}

var errClosed = &Error{Status: ErrClosed, Message: "the store was closed"}

func (q *queue) open(receiver receiver) C.uintptr_t {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.last++
	if q.closed {
		receiver.put(event{isEnd: true, err: errClosed})
	} else {
		q.receivers[q.last] = receiver
	}
	return q.last
}

func (q *queue) forget(token C.uintptr_t) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.receivers, token)
}

// Commit is a commit under way.
type Commit struct {
	tx      *Tx
	done    chan struct{}
	receipt *Receipt
	err     error
}

func (c *Commit) put(event event) {
	if c.err = event.err; c.err == nil {
		c.receipt, c.err = receiptOf(event.receipt)
	}
	close(c.done)
}

// Done is closed when the commit has ended.
func (c *Commit) Done() <-chan struct{} { return c.done }

// Wait waits for the outcome. A context that ends, ends the wait alone.
func (c *Commit) Wait(ctx context.Context) (*Receipt, error) {
	select {
	case <-c.done:
		return c.receipt, c.err
	default:
	}
	select {
	case <-c.done:
		return c.receipt, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Cancel withdraws the commit while it is queued; ErrInvalidState when it is too late. Wait tells the outcome.
func (c *Commit) Cancel() error {
	return c.tx.call(context.Background(), func(e **C.hf_error) C.hf_status {
		return C.hf_transaction_cancel(c.tx.handle, e)
	})
}

// Live is a live query or an observer, to be gone through as rows are:
//
//	for live.Next(ctx) {
//		use(live.News())
//	}
//	err := live.Err()
type Live struct {
	store  *Store
	handle *C.hf_stream
	token  C.uintptr_t
	inbox  *inbox
	news   News
	err    error
	ended  bool
}

// News is what a stream tells: JSON, as stream.h says, and the position behind it.
type News struct {
	JSON     string
	Position string
}

// inbox holds what Next has not taken yet.
type inbox struct {
	mutex  sync.Mutex
	events []event
	filled chan struct{}
}

func (i *inbox) put(event event) {
	i.mutex.Lock()
	i.events = append(i.events, event)
	i.mutex.Unlock()
	select {
	case i.filled <- struct{}{}:
	default:
	}
}

func (i *inbox) take() (event, bool) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if len(i.events) == 0 {
		return event{}, false
	}
	first := i.events[0]
	i.events = i.events[1:]
	return first, true
}

func (s *Store) live(ctx context.Context, open func(C.uintptr_t, **C.hf_stream, **C.hf_error) C.hf_status) (*Live, error) {
	live := &Live{store: s, inbox: &inbox{filled: make(chan struct{}, 1)}}
	live.token = s.queue.open(live.inbox)
	// cgo looks at the whole of what a pointer is in: a handle that is given out stands alone.
	var handle *C.hf_stream
	err := s.call(ctx, func(e **C.hf_error) C.hf_status { return open(live.token, &handle, e) })
	if err != nil {
		s.queue.forget(live.token)
		return nil, err
	}
	live.handle = handle
	runtime.SetFinalizer(live, func(live *Live) { live.Close() })
	return live, nil
}

// Observe follows what is committed. options: as for hf_stream_open.
func (s *Store) Observe(ctx context.Context, opts any) (*Live, error) {
	with, err := options(opts)
	if err != nil {
		return nil, err
	}
	return s.live(ctx, func(token C.uintptr_t, out **C.hf_stream, e **C.hf_error) C.hf_status {
		return C.hf_go_observe(s.handle, with, token, out, e)
	})
}

// Next waits for news. False: the context has ended, something was lost (ErrCursorLost), or no more will come; Err tells
// which, and but for the last Next may be called again. Not for several goroutines at once.
func (l *Live) Next(ctx context.Context) bool {
	if l.ended {
		return false
	}
	for {
		if event, ok := l.inbox.take(); ok {
			l.news, l.err, l.ended = News{event.value, event.position}, event.err, event.isEnd
			if l.ended && l.err == nil {
				l.err = errClosed
			}
			return l.err == nil
		}
		select {
		case <-l.inbox.filled:
		case <-ctx.Done():
			l.err = ctx.Err()
			return false
		}
	}
}

// News answers what Next has found.
func (l *Live) News() News { return l.news }

// Err tells why Next was false: ErrClosed when the store was closed, or the error of the context.
func (l *Live) Err() error { return l.err }

// Close follows no more. Closing again is fine.
func (l *Live) Close() {
	runtime.SetFinalizer(l, nil)
	l.store.queue.forget(l.token)
	C.hf_stream_free(l.handle)
	l.inbox.put(event{isEnd: true, err: errClosed})
}
