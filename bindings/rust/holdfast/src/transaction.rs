//! One unit of work over a store.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use holdfast_sys as sys;

use crate::error::{buffer, check, Error, Status};
use crate::events::{Commit, Queue};
use crate::receipt::Receipt;

/// One unit of work. What is not committed when it is dropped is rolled back.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction {
    pub(crate) handle: *mut sys::hf_transaction,
    queue: Arc<Queue>,
    owned: bool,
    /// Whether a call in it met a conflict: whatever its body makes of that, it can only be run again.
    conflicted: AtomicBool,
}

// SAFETY: the library allows every call on a transaction from any thread, several at once.
unsafe impl Send for Transaction {}
unsafe impl Sync for Transaction {}

impl Transaction {
    /// Takes the handle over, or borrows it for the time of a body.
    pub(crate) fn new(handle: *mut sys::hf_transaction, queue: Arc<Queue>, owned: bool) -> Transaction {
        Transaction { handle, queue, owned, conflicted: AtomicBool::new(false) }
    }

    /// Notes what a call in the transaction answered.
    pub(crate) fn note(&self, error: &Error) {
        if error.status() == Status::CONFLICT {
            self.conflicted.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_conflicted(&self) -> bool {
        self.conflicted.load(Ordering::Relaxed)
    }

    /// Commits and waits for the outcome.
    pub fn commit(self) -> Result<Receipt, Error> {
        // SAFETY: the handle lives as long as self.
        let receipt = buffer(|out, error| unsafe { sys::hf_transaction_commit(self.handle, out, error) })?;
        Receipt::read(&receipt)
    }

    /// Hands the commit over. It goes on whether anybody waits for it or not; the future tells its receipt.
    ///
    /// Where "max_in_flight" commits are under way this waits for a place, and somebody has to take events meanwhile:
    /// `BUSY` after the transaction's "timeout_ms", or at once with `"when_full": "refuse"`.
    pub fn submit(self) -> Result<Commit, Error> {
        let commit = Commit::new(&self.queue);
        check(|error| {
            // SAFETY: the token is no pointer to the library, which hands it back with the event.
            unsafe { sys::hf_transaction_submit(self.handle, None, commit.user_data(), None, error) }
        })?;
        Ok(commit)
    }

    /// Discards it, as dropping it does.
    pub fn rollback(self) -> Result<(), Error> {
        // SAFETY: the handle lives as long as self.
        check(|error| unsafe { sys::hf_transaction_rollback(self.handle, error) })
    }

    /// Runs a part that is all or nothing by itself: what it wrote goes back when it answers an error, or panics.
    pub fn scope<T, E: From<Error>>(&self, body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut scope = Scope { transaction: self, number: 0, ended: false };
        check(|error| {
            // SAFETY: the handle lives as long as self.
            unsafe { sys::hf_transaction_begin_scope(self.handle, 0, &mut scope.number, error) }
        })
        .map_err(|error| {
            scope.ended = true;
            error
        })?;
        let value = body()?;
        scope.ended = true;
        // SAFETY: as above.
        check(|error| unsafe { sys::hf_transaction_end_scope(self.handle, scope.number, true, error) })?;
        Ok(value)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the handle is this object's own, and nobody uses it any more.
            unsafe { sys::hf_transaction_free(self.handle) }
        }
    }
}

/// A scope under way, which goes back unless it was ended.
struct Scope<'t> {
    transaction: &'t Transaction,
    number: u64,
    ended: bool,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // What it answers the commit tells again, and the body's own error says more.
            let _ = check(|error| {
                // SAFETY: the transaction is borrowed.
                unsafe { sys::hf_transaction_end_scope(self.transaction.handle, self.number, false, error) }
            });
        }
    }
}
