//! Finds libholdfast: where HOLDFAST_LIBRARY_DIRECTORY says, or else pkg-config.
use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=HOLDFAST_LIBRARY_DIRECTORY");
    println!("cargo:rustc-link-lib=holdfast");
    let directory = env::var("HOLDFAST_LIBRARY_DIRECTORY").unwrap_or_else(|_| {
        let answer = Command::new("pkg-config").args(["--variable=libdir", "holdfast"]).output();
        match answer {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().into(),
            _ => panic!("libholdfast is not found: install it with its holdfast.pc, or set HOLDFAST_LIBRARY_DIRECTORY"),
        }
    });
    println!("cargo:rustc-link-search=native={directory}");
}
