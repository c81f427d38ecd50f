//! The store's events: who waits for what, and who takes them from the library's queue.
//!
//! What the library is given as user_data is a number. An event that one thread has taken may be of a stream that
//! another one frees just then: a pointer would dangle, a number is no longer found.
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::os::raw::c_void;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{mem, ptr};

use holdfast_sys as sys;

use crate::error::{bytes, Error, Status};
use crate::receipt::Receipt;

/// One event, as far as anybody wants to know.
struct Event {
    is_end: bool,
    outcome: Result<(), Error>,
    receipt: String,
    value: String,
    position: String,
}

/// What has come for one commit or stream, and who is to be told of more.
#[derive(Default)]
struct Inbox {
    events: VecDeque<Event>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Inboxes {
    last: usize,
    open: HashMap<usize, Inbox>,
    /// Nothing comes any more.
    closed: bool,
}

/// How long a thread waits in the library before it looks again. It is woken before: but a wake that comes just before
/// it waits may be taken by another thread that does (see `hf_store_wake`).
const SLICE: Duration = Duration::from_millis(100);

/// A store's handle with its events. Closed and freed with the last who has it.
pub(crate) struct Queue {
    pub(crate) store: *mut sys::hf_store,
    inboxes: Mutex<Inboxes>,
    /// Whether a thread is waiting in the library for the others, too.
    driven: Mutex<bool>,
    delivered: Condvar,
}

// SAFETY: the library allows every call on a store from any thread, several at once.
unsafe impl Send for Queue {}
unsafe impl Sync for Queue {}

/// A lock that a panic has left: what it guards is whole between any two lines here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Queue {
    pub(crate) fn new(store: *mut sys::hf_store) -> Arc<Queue> {
        let (inboxes, driven, delivered) = Default::default();
        Arc::new(Queue { store, inboxes, driven, delivered })
    }

    /// Takes what is ready, waiting for the first, and hands it to whom it is for. -1 for ever.
    fn take(&self, timeout_ms: i64) -> Result<usize, Error> {
        const ROOM: usize = 64;
        // SAFETY: numbers, pointers and functions that may be NULL: all of it may be zero.
        let mut events: [sys::hf_event; ROOM] = unsafe { mem::zeroed() };
        // SAFETY: the array has so many elements.
        let count = unsafe { sys::hf_store_events(self.store, events.as_mut_ptr(), ROOM, timeout_ms) };
        let mut wakers = Vec::new();
        let mut inboxes = lock(&self.inboxes);
        if count < 0 {
            inboxes.closed = true;
            wakers.extend(inboxes.open.values_mut().filter_map(|inbox| inbox.waker.take()));
        }
        for event in &events[..count.max(0) as usize] {
            if let Some(inbox) = inboxes.open.get_mut(&(event.user_data as usize)) {
                // SAFETY: the event is not freed yet.
                inbox.events.push_back(unsafe { Event::read(event) });
                wakers.extend(inbox.waker.take());
            }
        }
        drop(inboxes);
        wakers.into_iter().for_each(Waker::wake);
        if count < 0 {
            return Err(Error::new(
                Status(count.unsigned_abs()),
                "the store is closed and has no more events",
            ));
        }
        // SAFETY: so many were taken, and nothing of them is kept.
        unsafe { sys::hf_events_free(events.as_mut_ptr(), count as usize) }
        Ok(count as usize)
    }

    /// For who does not wait here: see `Store::deliver`.
    pub(crate) fn deliver(&self, timeout: Option<Duration>) -> Result<usize, Error> {
        let taken = self.take(milliseconds(timeout))?;
        if taken > 0 {
            self.nudge();
        }
        Ok(taken)
    }

    /// Has everybody who waits look whether what they wait for has come.
    pub(crate) fn nudge(&self) {
        let driven = *lock(&self.driven);
        self.delivered.notify_all();
        if driven {
            // SAFETY: the store's handle lives as long as self.
            unsafe { sys::hf_store_wake(self.store, ptr::null_mut()) };
        }
    }

    /// Waits until something has come: one thread of those that wait takes the events of all. False: in vain.
    pub(crate) fn drive_until(&self, deadline: Option<Instant>, mut come: impl FnMut() -> bool) -> bool {
        let mut driven = lock(&self.driven);
        loop {
            if come() {
                return true;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            if *driven {
                driven = match left {
                    None => self.delivered.wait(driven).unwrap_or_else(|poisoned| poisoned.into_inner()),
                    Some(left) => {
                        self.delivered
                            .wait_timeout(driven, left)
                            .unwrap_or_else(|poisoned| poisoned.into_inner())
                            .0
                    }
                };
                continue;
            }
            *driven = true;
            drop(driven);
            let taken = self.take(milliseconds(Some(left.map_or(SLICE, |left| left.min(SLICE)))));
            driven = lock(&self.driven);
            *driven = false;
            self.delivered.notify_all();
            if taken.is_err() {
                return come();
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: nobody has the handle any more. It finishes what was accepted, which takes its time.
        unsafe { sys::hf_store_free(self.store) }
    }
}

fn milliseconds(timeout: Option<Duration>) -> i64 {
    // Rounded up: who has half a millisecond left is not to ask in vain.
    timeout.map_or(-1, |timeout| timeout.as_micros().saturating_add(999).min(1 << 52) as i64 / 1000)
}

impl Event {
    /// # Safety
    /// The event was taken and is not freed.
    unsafe fn read(event: &sys::hf_event) -> Event {
        Event {
            is_end: event.kind == sys::HF_EVENT_END || event.kind == sys::HF_EVENT_COMMIT,
            outcome: match event.status {
                sys::HF_OK => Ok(()),
                status => Err(Error::read(status, event.error)),
            },
            receipt: bytes(event.receipt.data, event.receipt.length),
            value: bytes(event.value.data, event.value.length),
            position: bytes(event.position.data, event.position.length),
        }
    }
}

/// A place in the queue of who waits for events.
struct Subscription {
    queue: Arc<Queue>,
    token: usize,
}

impl Subscription {
    fn new(queue: &Arc<Queue>) -> Subscription {
        let mut inboxes = lock(&queue.inboxes);
        inboxes.last += 1;
        let token = inboxes.last;
        inboxes.open.insert(token, Inbox::default());
        drop(inboxes);
        Subscription { queue: queue.clone(), token }
    }

    /// The next event; pending until it comes, CLOSED when none does.
    fn poll(&self, context: Option<&mut Context<'_>>) -> Poll<Result<Event, Error>> {
        let mut inboxes = lock(&self.queue.inboxes);
        let closed = inboxes.closed;
        let inbox = inboxes.open.get_mut(&self.token).expect("it is open as long as its subscription");
        if let Some(event) = inbox.events.pop_front() {
            return Poll::Ready(Ok(event));
        }
        if closed {
            return Poll::Ready(Err(Error::new(Status::CLOSED, "the store was closed")));
        }
        inbox.waker = context.map(|context| context.waker().clone());
        Poll::Pending
    }

    /// The next event, waiting for it on this thread; None when the time has passed.
    fn wait(&self, timeout: Option<Duration>) -> Option<Result<Event, Error>> {
        let mut next = Poll::Pending;
        self.queue.drive_until(timeout.map(|timeout| Instant::now() + timeout), || {
            next = self.poll(None);
            next.is_ready()
        });
        match next {
            Poll::Ready(event) => Some(event),
            Poll::Pending => None,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let inbox = lock(&self.queue.inboxes).open.remove(&self.token);
        drop(inbox); // Outside of the lock: a waker is the program's.
    }
}

/// A commit under way: a future of its receipt. It goes on when this is dropped.
///
/// Somebody has to take the store's events: [`Store::block_on`](crate::Store::block_on), [`Commit::wait`], or
/// [`Store::deliver`](crate::Store::deliver) in a reactor.
#[must_use = "a commit may fail"]
pub struct Commit(Subscription);

impl Commit {
    pub(crate) fn new(queue: &Arc<Queue>) -> Commit {
        Commit(Subscription::new(queue))
    }

    pub(crate) fn user_data(&self) -> *mut c_void {
        self.0.token as *mut c_void
    }

    /// Waits for the outcome on this thread.
    pub fn wait(self) -> Result<Receipt, Error> {
        match self.0.wait(None) {
            Some(event) => receipt(event),
            None => Err(Error::new(Status::CLOSED, "the store was closed")),
        }
    }

    /// Waits as long as that for the outcome; else this is given back, and the commit goes on.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Result<Receipt, Error>, Commit> {
        match self.0.wait(Some(timeout)) {
            Some(event) => Ok(receipt(event)),
            None => Err(self),
        }
    }
}

fn receipt(event: Result<Event, Error>) -> Result<Receipt, Error> {
    let event = event?;
    event.outcome?;
    Receipt::read(&event.receipt)
}

impl Future for Commit {
    type Output = Result<Receipt, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(Some(context)).map(receipt)
    }
}

/// What a stream tells: JSON, as `stream.h` says.
#[derive(Clone, Debug)]
pub struct News {
    /// The whole result at first, then how it changes; of an observer, the commits.
    pub json: String,
    /// Behind what it tells of.
    pub position: String,
}

/// A live query, or an observer: an iterator that waits for news on this thread, or [`Live::next`] to await them.
/// It ends when the store is closed. Dropped it follows no more.
#[must_use = "a live query that is dropped follows nothing"]
pub struct Live {
    subscription: Subscription,
    handle: *mut sys::hf_stream,
    ended: bool,
}

// SAFETY: the library allows every call on a stream from any thread; what it has read is behind `&mut self`.
unsafe impl Send for Live {}

impl Live {
    /// Opens a stream with the user_data that it is given.
    pub(crate) fn open(
        queue: &Arc<Queue>,
        open: impl FnOnce(*mut c_void) -> Result<*mut sys::hf_stream, Error>,
    ) -> Result<Live, Error> {
        let subscription = Subscription::new(queue);
        let handle = open(subscription.token as *mut c_void)?;
        Ok(Live { subscription, handle, ended: false })
    }

    fn read(&mut self, event: Result<Event, Error>) -> Option<Result<News, Error>> {
        let event = match event {
            Ok(event) => event,
            Err(_) => {
                self.ended = true;
                return None;
            }
        };
        self.ended |= event.is_end;
        match event.outcome {
            Ok(()) if event.is_end => None,
            // That its store was closed is how a stream ends, and no failure of it.
            Err(error) if event.is_end && error.status() == Status::CLOSED => None,
            Ok(()) => Some(Ok(News { json: event.value, position: event.position })),
            Err(error) => Some(Err(error)),
        }
    }

    /// The next news, None at the end. Somebody has to take the store's events, as for a [`Commit`].
    #[allow(clippy::should_implement_trait)] // It is awaited; the iterator's waits.
    pub async fn next(&mut self) -> Option<Result<News, Error>> {
        if self.ended {
            return None;
        }
        let event = Next(&self.subscription).await;
        self.read(event)
    }

    /// The next news, waiting as long as that for them; None when there are none, or no more.
    pub fn next_timeout(&mut self, timeout: Duration) -> Option<Result<News, Error>> {
        if self.ended {
            return None;
        }
        let event = self.subscription.wait(Some(timeout))?;
        self.read(event)
    }
}

impl Iterator for Live {
    type Item = Result<News, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.subscription.wait(None)?;
        self.read(event)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's own.
        unsafe { sys::hf_stream_free(self.handle) }
    }
}

struct Next<'s>(&'s Subscription);

impl Future for Next<'_> {
    type Output = Result<Event, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(Some(context))
    }
}
