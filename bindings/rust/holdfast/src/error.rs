//! What a call failed with, and how a call of the library becomes a `Result`.
use std::ffi::{CStr, CString};
use std::{fmt, ptr, slice};

use holdfast_sys as sys;

/// The outcome of a call, by the library's number. Open: a newer library may answer one that has no name here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

impl fmt::Debug for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the name is constant text.
        formatter.write_str(&unsafe { text(sys::hf_status_name(self.0)) })
    }
}

/// What became of a commit whose call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitState {
    /// Nothing of it was stored.
    None,
    /// It may or may not have been stored.
    Unknown,
    /// It was stored, although something afterwards failed.
    Done,
}

/// What a call failed with.
#[derive(Clone, Debug)]
pub struct Error {
    status: Status,
    message: String,
    detail: String,
    retryable: bool,
    commit_state: CommitState,
}

impl Error {
    /// An error of the program's own.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        Error {
            status,
            message: message.into(),
            detail: "{}".into(),
            retryable: status == Status::CONFLICT || status == Status::BUSY,
            commit_state: CommitState::None,
        }
    }

    /// Reads what the library tells, and leaves it to its owner; NULL where there is the status alone.
    ///
    /// # Safety
    /// `error` is NULL, or lives until this returns.
    pub(crate) unsafe fn read(status: sys::hf_status, error: *const sys::hf_error) -> Error {
        if error.is_null() {
            return Error::new(Status(status), text(sys::hf_status_name(status)));
        }
        Error {
            status: Status(status),
            message: text(sys::hf_error_message(error)),
            detail: text(sys::hf_error_detail(error, ptr::null_mut())),
            retryable: sys::hf_error_is_retryable(error),
            commit_state: match sys::hf_error_commit_state(error) {
                sys::HF_COMMIT_NONE => CommitState::None,
                sys::HF_COMMIT_DONE => CommitState::Done,
                _ => CommitState::Unknown,
            },
        }
    }

    /// Which kind of failure it is.
    pub fn status(&self) -> Status {
        self.status
    }
    /// Details for programs, a JSON object: see `hf_error_detail`.
    pub fn detail(&self) -> &str {
        &self.detail
    }
    /// Whether the same work may succeed when it is done again.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
    /// What became of the commit.
    pub fn commit_state(&self) -> CommitState {
        self.commit_state
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Makes a call, which is given the place for its error.
pub(crate) fn check(call: impl FnOnce(*mut *mut sys::hf_error) -> sys::hf_status) -> Result<(), Error> {
    let mut error = ptr::null_mut();
    let status = call(&mut error);
    if status == sys::HF_OK {
        return Ok(());
    }
    // SAFETY: the error is this call's own, or NULL, and freed once it was read.
    unsafe {
        let failure = Error::read(status, error);
        sys::hf_error_free(error);
        Err(failure)
    }
}

/// Makes a call to which HF_NOT_FOUND without an error is an answer: false.
pub(crate) fn found(call: impl FnOnce(*mut *mut sys::hf_error) -> sys::hf_status) -> Result<bool, Error> {
    let mut missing = false;
    let outcome = check(|error| {
        let status = call(error);
        // SAFETY: `check` gives a valid place.
        missing = status == sys::HF_NOT_FOUND && unsafe { (*error).is_null() };
        if missing {
            sys::HF_OK
        } else {
            status
        }
    });
    outcome.map(|()| !missing)
}

/// A text of C's, copied. What is no UTF-8, as in a damaged record, is replaced.
///
/// # Safety
/// NULL, or closed with NUL.
pub(crate) unsafe fn text(pointer: *const std::os::raw::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

/// Bytes of C's as text, copied.
///
/// # Safety
/// `data` is NULL, or has so many bytes.
pub(crate) unsafe fn bytes(data: *const std::os::raw::c_char, length: usize) -> String {
    if data.is_null() {
        return String::new();
    }
    String::from_utf8_lossy(slice::from_raw_parts(data.cast(), length)).into_owned()
}

/// A text that C reads up to its NUL.
pub(crate) fn terminated(text: &str) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|_| Error::new(Status::INVALID_ARGUMENT, "a text with a NUL in it names nothing"))
}

/// A text that a call puts into a buffer, which is freed again.
pub(crate) fn buffer(
    call: impl FnOnce(*mut sys::hf_buffer, *mut *mut sys::hf_error) -> sys::hf_status,
) -> Result<String, Error> {
    let mut buffer = sys::hf_buffer { data: ptr::null_mut(), length: 0, capacity: 0 };
    let outcome = check(|error| call(&mut buffer, error));
    // SAFETY: the buffer is this function's own, as the call left it.
    unsafe {
        let text = bytes(buffer.data, buffer.length);
        sys::hf_buffer_free(&mut buffer);
        outcome.map(|()| text)
    }
}
