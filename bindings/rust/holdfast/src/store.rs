//! A database: open, transactions, events, close.
use std::any::Any;
use std::future::Future;
use std::os::raw::{c_int, c_void};
use std::os::unix::io::{AsRawFd, RawFd};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use std::{pin, ptr};

use holdfast_sys as sys;

use crate::error::{buffer, check, terminated, Error, Status};
use crate::events::{Live, Queue};
use crate::receipt::Receipt;
use crate::repository::Repository;
use crate::transaction::Transaction;
use crate::typed::{Stored, Typed};

/// A database. Clones are the same one; it is closed when the last is dropped, and so are the commits and streams of
/// it. Accepted commits are finished before.
#[derive(Clone)]
pub struct Store {
    queue: Arc<Queue>,
}

impl Store {
    /// Opens a store, creating it where there is none. url, options: as for `hf_store_open`; its "delivery" is always
    /// "queue".
    pub fn open(url: &str, options: &str) -> Result<Store, Error> {
        let (url, options) = (terminated(url)?, terminated(&with_queue(options)?)?);
        let mut handle = ptr::null_mut();
        // SAFETY: the texts are closed with NUL and copied by the library.
        unsafe {
            check(|error| sys::hf_version_select(sys::HF_API_VERSION, error))?;
            check(|error| sys::hf_store_open(url.as_ptr(), options.as_ptr(), &mut handle, error))?;
        }
        Ok(Store { queue: Queue::new(handle) })
    }

    fn handle(&self) -> *mut sys::hf_store {
        self.queue.store
    }

    /// Opens a repository, creating it where there is none. options: as for `hf_repository_open`.
    pub fn repository(&self, name: &str, options: &str) -> Result<Repository<'static>, Error> {
        let (name, options) = (terminated(name)?, terminated(options)?);
        let mut handle = ptr::null_mut();
        check(|error| {
            // SAFETY: the texts are closed with NUL and copied by the library.
            unsafe {
                sys::hf_repository_open(self.handle(), name.as_ptr(), options.as_ptr(), &mut handle, error)
            }
        })?;
        Ok(Repository::new(handle, self.queue.clone()))
    }

    /// A repository of a type of the program's.
    pub fn typed<T: Stored>(&self, name: &str, options: &str) -> Result<Typed<'static, T>, Error> {
        Ok(Typed::new(self.repository(name, options)?))
    }

    /// Begins a transaction. options: as for `hf_transaction_begin`.
    pub fn begin(&self, options: &str) -> Result<Transaction, Error> {
        let options = terminated(options)?;
        let mut handle = ptr::null_mut();
        check(|error| {
            // SAFETY: the text is closed with NUL and copied by the library.
            unsafe { sys::hf_transaction_begin(self.handle(), options.as_ptr(), &mut handle, error) }
        })?;
        Ok(Transaction::new(handle, self.queue.clone(), true))
    }

    /// Runs the body in a transaction and commits it; after a conflict it runs again. An error that it answers, or a
    /// panic, rolls back and arrives here.
    pub fn transact<T, E: From<Error>>(
        &self,
        body: impl FnMut(&Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let (value, _) = self.transact_with("", body)?;
        // Without an idempotency key, every commit comes from a run of the body.
        value.ok_or_else(|| Error::new(Status::INTERNAL, "a commit without a run").into())
    }

    /// `transact` with options, as for `hf_store_transact`: `{"timeout_ms": 500, "max_attempts": 3}`. With an
    /// idempotency key that was used before, the body does not run: no value, and the first receipt.
    pub fn transact_with<T, E: From<Error>>(
        &self,
        options: &str,
        body: impl FnMut(&Transaction) -> Result<T, E>,
    ) -> Result<(Option<T>, Receipt), E> {
        let options = terminated(options)?;
        let mut run = Run { queue: &self.queue, body, outcome: None, panic: None };
        let receipt = buffer(|receipt, error| {
            // SAFETY: `run` is what `once` expects, and outlives the call.
            unsafe {
                let (once, run) = (once_of(&run), &mut run as *mut _ as *mut c_void);
                sys::hf_store_transact(self.handle(), once, run, options.as_ptr(), receipt, error)
            }
        });
        if let Some(panic) = run.panic {
            resume_unwind(panic);
        }
        match (receipt, run.outcome) {
            (Ok(receipt), outcome) => Ok((outcome.and_then(Result::ok), Receipt::read(&receipt)?)),
            (Err(_), Some(Err(own))) => Err(own),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Follows what is committed. options: as for `hf_stream_open`.
    pub fn observe(&self, options: &str) -> Result<Live, Error> {
        let options = terminated(options)?;
        Live::open(&self.queue, |user_data| {
            let mut handle = ptr::null_mut();
            check(|error| {
                let (store, options) = (self.handle(), options.as_ptr());
                // SAFETY: the text is closed with NUL; user_data is a number.
                unsafe { sys::hf_stream_open(store, options, None, user_data, None, &mut handle, error) }
            })?;
            Ok(handle)
        })
    }

    /// Hands the events that are ready to their futures and streams, waiting for the first (None: for ever), and answers
    /// how many; 0 when the time has passed, or, seldom, before. For a reactor, which calls it with zero when the descriptor (`as_raw_fd`) is readable; who waits with
    /// [`Store::block_on`], `Commit::wait` or a stream's iterator takes events by itself. `CLOSED` when the store is
    /// closed and everything was taken.
    pub fn deliver(&self, timeout: Option<Duration>) -> Result<usize, Error> {
        self.queue.deliver(timeout)
    }

    /// Runs a future on this thread, which takes the store's events while it waits. The future may be of anything; its
    /// wakers may be called from any thread.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = Box::pin(future);
        let alarm = Arc::new(Alarm { queue: self.queue.clone(), rings: AtomicBool::new(false) });
        let waker = Waker::from(alarm.clone());
        loop {
            let polled = pin::Pin::as_mut(&mut future).poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(output) = polled {
                return output;
            }
            if !self.queue.drive_until(None, || alarm.rings.swap(false, Ordering::SeqCst)) {
                // The store is closed, and the future is of something else: it has to be looked after without events.
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
    }

    /// Makes everything committed before this call durable.
    pub fn sync(&self) -> Result<(), Error> {
        // SAFETY: the handle lives as long as self.
        check(|error| unsafe { sys::hf_store_sync(self.handle(), error) })
    }

    /// The store as JSON: see `hf_store_describe`.
    pub fn describe(&self) -> Result<String, Error> {
        // SAFETY: as above.
        buffer(|out, error| unsafe { sys::hf_store_describe(self.handle(), out, error) })
    }

    /// Closes it, whoever else has it: what comes later is `CLOSED`. None: as long as it takes; else `TIMEOUT`, to be
    /// called again.
    pub fn close(&self, timeout: Option<Duration>) -> Result<(), Error> {
        let milliseconds = timeout.map_or(-1, |timeout| timeout.as_millis().min(1 << 52) as i64);
        // SAFETY: as above.
        let closed = check(|error| unsafe { sys::hf_store_close(self.handle(), milliseconds, error) });
        self.queue.nudge();
        closed
    }
}

/// The descriptor that is readable while [`Store::deliver`] has something to do. It is the library's: do not read
/// from it, nor close it.
impl AsRawFd for Store {
    fn as_raw_fd(&self) -> RawFd {
        let mut descriptor: c_int = -1;
        // SAFETY: the handle lives as long as self. With "queue" delivery it cannot fail but after a fork: -1.
        unsafe { sys::hf_store_event_fd(self.handle(), &mut descriptor, ptr::null_mut()) };
        descriptor
    }
}

/// The options with the delivery that this crate relies on.
fn with_queue(options: &str) -> Result<String, Error> {
    let options = options.trim();
    let members = match options.strip_prefix('{') {
        None if options.is_empty() => "}",
        None => return Err(Error::new(Status::INVALID_OPTION, "options are a JSON object")),
        Some(members) => members.trim_start(),
    };
    Ok(format!(r#"{{"delivery": "queue"{}{members}"#, if members.starts_with('}') { "" } else { ", " }))
}

/// A body on its way through the library's retry loop.
struct Run<'q, Body, T, E> {
    queue: &'q Arc<Queue>,
    body: Body,
    outcome: Option<Result<T, E>>,
    panic: Option<Box<dyn Any + Send>>,
}

/// The trampoline for this very type of run.
fn once_of<Body, T, E>(_: &Run<'_, Body, T, E>) -> sys::hf_transaction_fn
where
    Body: FnMut(&Transaction) -> Result<T, E>,
{
    Some(once::<Body, T, E>)
}

unsafe extern "C" fn once<Body, T, E>(
    handle: *mut sys::hf_transaction,
    user_data: *mut c_void,
    _out_error: *mut *mut sys::hf_error,
) -> sys::hf_status
where
    Body: FnMut(&Transaction) -> Result<T, E>,
{
    let run = &mut *user_data.cast::<Run<'_, Body, T, E>>();
    let transaction = Transaction::new(handle, run.queue.clone(), false);
    // No panic passes through C. What it leaves behind half done is the body's own, as in any function.
    match catch_unwind(AssertUnwindSafe(|| (run.body)(&transaction))) {
        Ok(Ok(value)) => {
            run.outcome = Some(Ok(value));
            sys::HF_OK
        }
        Ok(Err(_)) if transaction.is_conflicted() => {
            run.outcome = None;
            sys::HF_CONFLICT
        }
        Ok(Err(error)) => {
            run.outcome = Some(Err(error));
            sys::HF_HOST_ERROR
        }
        Err(panic) => {
            run.panic = Some(panic);
            sys::HF_HOST_ERROR
        }
    }
}

/// Wakes a thread that waits in `block_on`, wherever it waits.
struct Alarm {
    queue: Arc<Queue>,
    rings: AtomicBool,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rings.store(true, Ordering::SeqCst);
        self.queue.nudge();
    }
}
