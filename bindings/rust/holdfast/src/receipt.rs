//! What a commit answers.
use std::{ptr, slice};

use holdfast_sys as sys;

use crate::error::{bytes, check, text, Error};

/// What became of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The repository's name.
    pub repository: String,
    /// The entity's id.
    pub id: String,
    /// Its version from now on.
    pub version: u64,
    /// Whether it was deleted; else it was stored.
    pub is_deletion: bool,
}

/// What a commit answers: see `receipt.h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The commit's number in the store's order; 0 when it changed nothing.
    pub sequence: u64,
    /// Its place in the store's history; empty when it changed nothing.
    pub position: String,
    /// One for each entity, ordered by repository and id.
    pub changes: Vec<Change>,
    /// How often the transaction ran.
    pub attempts: i32,
    /// Whether it was synced to the disk when it was told.
    pub is_durable: bool,
    /// Whether an earlier commit with the same idempotency key is answered again.
    pub is_replayed: bool,
}

impl Receipt {
    pub(crate) fn read(json: &str) -> Result<Receipt, Error> {
        let mut read = sys::hf_receipt {
            sequence: 0,
            position: ptr::null(),
            changes: ptr::null(),
            change_count: 0,
            attempts: 0,
            is_durable: false,
            is_replayed: false,
            is_atomic: false,
        };
        // SAFETY: the text has so many bytes; what was read is valid until it is freed here.
        unsafe {
            check(|error| sys::hf_receipt_read(json.as_ptr().cast(), json.len(), &mut read, error))?;
            let changes = match read.change_count {
                0 => &[][..],
                count => slice::from_raw_parts(read.changes, count),
            };
            let receipt = Receipt {
                sequence: read.sequence,
                position: text(read.position),
                changes: changes
                    .iter()
                    .map(|change| Change {
                        repository: text(change.repository),
                        id: bytes(change.id, change.id_length),
                        version: change.version,
                        is_deletion: change.is_deletion,
                    })
                    .collect(),
                attempts: read.attempts,
                is_durable: read.is_durable,
                is_replayed: read.is_replayed,
            };
            sys::hf_receipt_free(&mut read);
            Ok(receipt)
        }
    }
}
