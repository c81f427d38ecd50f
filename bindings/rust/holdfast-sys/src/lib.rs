//! The C API of Holdfast as it is, made from the headers. `holdfast` is the crate for programs.
#![allow(non_camel_case_types, rustdoc::all)]

#[rustfmt::skip]
mod declarations;

pub use declarations::*;
