//! A named collection of entities: write and read.
use std::collections::VecDeque;
use std::sync::Arc;
use std::{ptr, slice};

use holdfast_sys as sys;

use crate::error::{bytes, check, found, terminated, Error};
use crate::events::{Live, Queue};
use crate::transaction::Transaction;

/// One entity: its bytes as stored, and its version; 0 where an open transaction wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The JSON object.
    pub json: String,
    /// To be given as an expected version.
    pub version: u64,
}

struct Handle(*mut sys::hf_repository);

// SAFETY: the library allows every call on a repository from any thread, several at once.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody has the handle any more.
        unsafe { sys::hf_repository_free(self.0) }
    }
}

/// A named collection of entities, or what a transaction sees of it. Clones are the same one. Texts are JSON, as
/// `repository.h` says; a filter of "{}" matches all. Without a transaction a write is one of its own.
#[derive(Clone)]
pub struct Repository<'t> {
    handle: Arc<Handle>,
    queue: Arc<Queue>,
    transaction: Option<&'t Transaction>,
}

type Place = *mut *mut sys::hf_error;

impl<'t> Repository<'t> {
    pub(crate) fn new(handle: *mut sys::hf_repository, queue: Arc<Queue>) -> Repository<'static> {
        Repository { handle: Arc::new(Handle(handle)), queue, transaction: None }
    }

    /// The same repository in a transaction.
    pub fn within<'u>(&self, transaction: &'u Transaction) -> Repository<'u> {
        Repository { handle: self.handle.clone(), queue: self.queue.clone(), transaction: Some(transaction) }
    }

    fn inside(&self) -> *mut sys::hf_transaction {
        self.transaction.map_or(ptr::null_mut(), |transaction| transaction.handle)
    }

    /// Tells the transaction what a call in it answered.
    fn noted<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let (Err(error), Some(transaction)) = (&outcome, self.transaction) {
            transaction.note(error);
        }
        outcome
    }

    // SAFETY, for all calls below: the handles live as long as self, texts are given with their length and copied by
    // the library, options are closed with NUL, and what is filled in is this function's own.

    fn entity(
        &self,
        call: impl FnOnce(*mut sys::hf_entity, Place) -> sys::hf_status,
    ) -> Result<Option<Entity>, Error> {
        let mut entity = sys::hf_entity { data: ptr::null_mut(), length: 0, capacity: 0, version: 0 };
        let outcome = self.noted(found(|error| call(&mut entity, error)));
        unsafe {
            let fetched = Entity { json: bytes(entity.data, entity.length), version: entity.version };
            sys::hf_entity_free(&mut entity);
            Ok(outcome?.then_some(fetched))
        }
    }

    fn stored(
        &self,
        call: impl FnOnce(*mut sys::hf_entity, Place) -> sys::hf_status,
    ) -> Result<Entity, Error> {
        let mut entity = sys::hf_entity { data: ptr::null_mut(), length: 0, capacity: 0, version: 0 };
        let outcome = self.noted(check(|error| call(&mut entity, error)));
        unsafe {
            let stored = Entity { json: bytes(entity.data, entity.length), version: entity.version };
            sys::hf_entity_free(&mut entity);
            outcome.map(|()| stored)
        }
    }

    /// Stores a new entity, which is given an id if it has none. `EXISTS` when the id is taken.
    pub fn add(&self, entity: &str) -> Result<Entity, Error> {
        let (data, length) = parts(entity);
        self.stored(|out, e| unsafe {
            sys::hf_repository_add(self.handle.0, self.inside(), data, length, out, e)
        })
    }

    /// Stores an entity, new or not.
    pub fn save(&self, entity: &str) -> Result<Entity, Error> {
        let (data, length) = parts(entity);
        self.stored(|out, e| unsafe {
            sys::hf_repository_save(self.handle.0, self.inside(), data, length, out, e)
        })
    }

    /// Replaces an existing entity. `NOT_FOUND`; `VERSION_MISMATCH` unless it has the version (0: any).
    pub fn update(&self, entity: &str, expected_version: u64) -> Result<Entity, Error> {
        let (data, length) = parts(entity);
        self.stored(|out, e| unsafe {
            sys::hf_repository_update(self.handle.0, self.inside(), data, length, expected_version, out, e)
        })
    }

    /// Changes some members by a JSON merge patch. Fails as `update` does.
    pub fn patch(&self, id: &str, patch: &str, expected_version: u64) -> Result<Entity, Error> {
        let ((id, id_length), (data, length)) = (parts(id), parts(patch));
        self.stored(|out, e| unsafe {
            let handle = self.handle.0;
            sys::hf_repository_patch(
                handle,
                self.inside(),
                id,
                id_length,
                data,
                length,
                expected_version,
                out,
                e,
            )
        })
    }

    /// Changes an entity by update operators; begins with `initial` where there is none.
    pub fn modify(&self, id: &str, update: &str, initial: Option<&str>) -> Result<Entity, Error> {
        let ((id, id_length), (data, length)) = (parts(id), parts(update));
        let (initial, initial_length) = initial.map_or((ptr::null(), 0), parts);
        self.stored(|out, e| unsafe {
            let (handle, inside) = (self.handle.0, self.inside());
            sys::hf_repository_modify(
                handle,
                inside,
                id,
                id_length,
                data,
                length,
                initial,
                initial_length,
                0,
                out,
                e,
            )
        })
    }

    /// Deletes an entity. Fails as `update` does.
    pub fn delete(&self, id: &str, expected_version: u64) -> Result<(), Error> {
        let (id, length) = parts(id);
        self.noted(check(|e| unsafe {
            sys::hf_repository_delete(self.handle.0, self.inside(), id, length, expected_version, e)
        }))
    }

    /// Stores the entities of a JSON array, all or none.
    pub fn add_many(&self, entities: &str) -> Result<(), Error> {
        let (data, length) = parts(entities);
        self.noted(check(|e| unsafe {
            sys::hf_repository_add_many(self.handle.0, self.inside(), data, length, ptr::null_mut(), e)
        }))
    }

    /// Fetches one entity.
    pub fn fetch(&self, id: &str) -> Result<Option<Entity>, Error> {
        let (id, length) = parts(id);
        self.entity(|out, e| unsafe {
            sys::hf_repository_fetch(self.handle.0, self.inside(), id, length, out, e)
        })
    }

    /// The entities that match a filter. options: as for `hf_repository_find`, such as `{"sort": {"age": -1}}`.
    pub fn find(&self, filter: &str, options: &str) -> Result<Vec<Entity>, Error> {
        let ((filter, length), options) = (parts(filter), terminated(options)?);
        self.noted(entities(|list, e| unsafe {
            sys::hf_repository_find(self.handle.0, self.inside(), filter, length, options.as_ptr(), list, e)
        }))
    }

    /// The first of them.
    pub fn first(&self, filter: &str, options: &str) -> Result<Option<Entity>, Error> {
        let ((filter, length), options) = (parts(filter), terminated(options)?);
        self.entity(|out, e| unsafe {
            sys::hf_repository_first(self.handle.0, self.inside(), filter, length, options.as_ptr(), out, e)
        })
    }

    /// How many match.
    pub fn count(&self, filter: &str, options: &str) -> Result<u64, Error> {
        let ((filter, length), options) = (parts(filter), terminated(options)?);
        let mut count = 0;
        self.noted(check(|e| unsafe {
            let (handle, options) = (self.handle.0, options.as_ptr());
            sys::hf_repository_count(handle, self.inside(), filter, length, options, &mut count, e)
        }))?;
        Ok(count)
    }

    /// Whether there is an entity of this id.
    pub fn contains(&self, id: &str) -> Result<bool, Error> {
        let (id, length) = parts(id);
        let mut contains = false;
        self.noted(check(|e| unsafe {
            sys::hf_repository_contains(self.handle.0, self.inside(), id, length, &mut contains, e)
        }))?;
        Ok(contains)
    }

    /// What `find` would answer, in pieces that take little memory.
    pub fn cursor(&self, filter: &str, options: &str) -> Result<Cursor<'t>, Error> {
        let ((filter, length), options) = (parts(filter), terminated(options)?);
        let mut handle = ptr::null_mut();
        self.noted(check(|e| unsafe {
            let (repository, options) = (self.handle.0, options.as_ptr());
            sys::hf_cursor_open(repository, self.inside(), filter, length, options, &mut handle, e)
        }))?;
        Ok(Cursor { handle, piece: VecDeque::new(), transaction: self.transaction, ended: false })
    }

    /// Follows a query's result: the whole of it, then how it changes. options: as for `find`.
    pub fn live(&self, filter: &str, options: &str) -> Result<Live, Error> {
        let ((filter, length), options) = (parts(filter), terminated(options)?);
        Live::open(&self.queue, |data| {
            let mut handle = ptr::null_mut();
            check(|e| unsafe {
                let (repository, options) = (self.handle.0, options.as_ptr());
                sys::hf_stream_open_query(
                    repository,
                    filter,
                    length,
                    options,
                    None,
                    data,
                    None,
                    &mut handle,
                    e,
                )
            })?;
            Ok(handle)
        })
    }
}

/// What a query finds, one entity after the other.
pub struct Cursor<'t> {
    handle: *mut sys::hf_cursor,
    piece: VecDeque<Entity>,
    transaction: Option<&'t Transaction>,
    ended: bool,
}

// SAFETY: the library allows every call on a cursor from any thread; what it has read is behind `&mut self`.
unsafe impl Send for Cursor<'_> {}

impl Iterator for Cursor<'_> {
    type Item = Result<Entity, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.piece.is_empty() && !self.ended {
            // SAFETY: the handle is this object's own.
            match entities(|list, e| unsafe { sys::hf_cursor_next(self.handle, 0, list, e) }) {
                Ok(piece) => self.piece = piece.into(),
                Err(error) => {
                    self.ended = true;
                    if let Some(transaction) = self.transaction {
                        transaction.note(&error);
                    }
                    return Some(Err(error));
                }
            }
            self.ended = self.piece.is_empty();
        }
        self.piece.pop_front().map(Ok)
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: as above, and nobody uses it any more.
        unsafe { sys::hf_cursor_free(self.handle) }
    }
}

fn parts(text: &str) -> (*const std::os::raw::c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

/// The entities of a list, which is freed again.
fn entities(
    call: impl FnOnce(*mut sys::hf_entity_list, Place) -> sys::hf_status,
) -> Result<Vec<Entity>, Error> {
    let mut list = sys::hf_entity_list { items: ptr::null(), count: 0, json: ptr::null(), json_length: 0 };
    let outcome = check(|error| call(&mut list, error));
    // SAFETY: the list is this function's own, as the call left it.
    unsafe {
        let items = if list.count == 0 { &[][..] } else { slice::from_raw_parts(list.items, list.count) };
        let entities = items
            .iter()
            .map(|item| Entity { json: bytes(item.data, item.length), version: item.version })
            .collect();
        sys::hf_entity_list_free(&mut list);
        outcome.map(|()| entities)
    }
}
