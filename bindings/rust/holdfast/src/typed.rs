//! Repositories of a program's own types.
use std::marker::PhantomData;

use crate::error::{Error, Status};
use crate::repository::{Entity, Repository};
use crate::transaction::Transaction;

/// A type whose values are stored as entities. With the feature `serde`, `serde_entity!(Song)` says how.
pub trait Stored: Sized {
    /// The JSON object of a value, with its id.
    fn to_json(&self) -> Result<String, Box<dyn std::error::Error>>;
    /// The value of a JSON object.
    fn from_json(json: &str) -> Result<Self, Box<dyn std::error::Error>>;
}

/// Has serde store a type's values.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Song { id: String, plays: u32 }
/// holdfast::serde_entity!(Song);
/// # fn main() -> Result<(), holdfast::Error> {
/// let songs = holdfast::Store::open("memory:", "")?.typed::<Song>("songs", "")?;
/// songs.save(&Song { id: "s1".into(), plays: 1 })?;
/// assert_eq!(songs.fetch("s1")?.unwrap().plays, 1);
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! serde_entity {
    ($type:ty) => {
        impl $crate::Stored for $type {
            fn to_json(&self) -> Result<String, Box<dyn std::error::Error>> {
                Ok($crate::serde_json::to_string(self)?)
            }
            fn from_json(json: &str) -> Result<Self, Box<dyn std::error::Error>> {
                Ok($crate::serde_json::from_str(json)?)
            }
        }
    };
}

/// A repository of a type of the program's. A value that cannot be read or written is `INVALID_ENTITY`.
pub struct Typed<'t, T> {
    repository: Repository<'t>,
    of: PhantomData<fn() -> T>,
}

impl<'t, T: Stored> Typed<'t, T> {
    pub(crate) fn new(repository: Repository<'t>) -> Self {
        Typed { repository, of: PhantomData }
    }

    /// The same repository in a transaction.
    pub fn within<'u>(&self, transaction: &'u Transaction) -> Typed<'u, T> {
        Typed::new(self.repository.within(transaction))
    }

    /// For everything that needs no type.
    pub fn repository(&self) -> &Repository<'t> {
        &self.repository
    }

    /// Stores a new value, and answers its version. `EXISTS` when the id is taken.
    pub fn add(&self, value: &T) -> Result<u64, Error> {
        Ok(self.repository.add(&write(value)?)?.version)
    }

    /// Stores a value, new or not, and answers its version.
    pub fn save(&self, value: &T) -> Result<u64, Error> {
        Ok(self.repository.save(&write(value)?)?.version)
    }

    /// Replaces an existing value, and answers its version. `NOT_FOUND`; `VERSION_MISMATCH` unless it has the version
    /// (0: any).
    pub fn update(&self, value: &T, expected_version: u64) -> Result<u64, Error> {
        Ok(self.repository.update(&write(value)?, expected_version)?.version)
    }

    /// Fetches one value.
    pub fn fetch(&self, id: &str) -> Result<Option<T>, Error> {
        self.repository.fetch(id)?.as_ref().map(read).transpose()
    }

    /// The values that match a filter.
    pub fn find(&self, filter: &str, options: &str) -> Result<Vec<T>, Error> {
        self.repository.find(filter, options)?.iter().map(read).collect()
    }

    /// The first of them.
    pub fn first(&self, filter: &str, options: &str) -> Result<Option<T>, Error> {
        self.repository.first(filter, options)?.as_ref().map(read).transpose()
    }
}

fn write<T: Stored>(value: &T) -> Result<String, Error> {
    value.to_json().map_err(|error| Error::new(Status::INVALID_ENTITY, error.to_string()))
}

fn read<T: Stored>(entity: &Entity) -> Result<T, Error> {
    T::from_json(&entity.json).map_err(|error| Error::new(Status::INVALID_ENTITY, error.to_string()))
}
