//! The engines of `unspin-sysv` for C and C++.
//!
//! The contract is the header, `include/unspin/sysv.h`: this crate only turns its functions into calls of
//! [`unspin_sysv::Engine`], and their results into what C expects. It is a library of its own, with nothing of the
//! preload in it: a program is linked with it, names its engine, and the `semop` of libc stays the kernel's.
//!
//! | module | functions |
//! |---|---|
//! | `open` | `unspin_sysv_open`, `unspin_sysv_close`, `unspin_sysv_error` |
//! | `sem`, `msg`, `shm` | the twelve calls of System V, each with the engine before its own arguments |
//!
//! No panic gets into C: `guard` ends the program with one line.
#![warn(missing_docs)]

mod answer;
mod guard;
mod msg;
mod open;
mod sem;
mod shm;
