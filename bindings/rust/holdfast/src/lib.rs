//! Holdfast: an embeddable transactional repository of JSON entities.
//!
//! ```
//! # fn main() -> Result<(), holdfast::Error> {
//! let store = holdfast::Store::open("memory:", "")?;
//! let songs = store.repository("songs", "")?;
//! store.transact(|t| {
//!     // Runs again after a conflict; an error rolls back.
//!     let songs = songs.within(t);
//!     songs.save(r#"{"id": "s1", "plays": 1}"#)?;
//!     Ok::<_, holdfast::Error>(songs.count("{}", "")?)
//! })?;
//! let transaction = store.begin("")?; // Rolled back unless it is committed.
//! songs.within(&transaction).save(r#"{"id": "s2"}"#)?;
//! let receipt = store.block_on(transaction.submit()?)?;
//! assert_eq!(receipt.changes[0].id, "s2");
//! # Ok(())
//! # }
//! ```
//!
//! Entities, filters, updates and options are JSON texts, which `repository.h` of the C API describes; an empty text
//! for options means the defaults. Everything may be used from any thread. No thread of the library's ever enters the
//! program: events are taken from the store's queue by whoever waits for one, see [`Store::deliver`].
#![warn(missing_docs)]

mod error;
mod events;
mod receipt;
mod repository;
#[rustfmt::skip]
mod status;
mod store;
mod transaction;
mod typed;

pub use error::{CommitState, Error, Status};
pub use events::{Commit, Live, News};
pub use receipt::{Change, Receipt};
pub use repository::{Cursor, Entity, Repository};
pub use store::Store;
pub use transaction::Transaction;
pub use typed::{Stored, Typed};

/// What `serde_entity!` needs of serde.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde_json;

/// The README's program compiles.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../../README.md")]
struct Readme;

/// How many handles of a kind live in this process, "" for all: for tests that nothing leaks.
pub fn handle_count(kind: &str) -> usize {
    let kind = std::ffi::CString::new(kind).unwrap_or_default();
    // SAFETY: a text that is closed with NUL, or NULL.
    unsafe {
        holdfast_sys::hf_handle_count(if kind.as_bytes().is_empty() {
            std::ptr::null()
        } else {
            kind.as_ptr()
        })
    }
}
