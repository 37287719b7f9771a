//! The engines of `unspin-sysv` for C and C++.
//!
//! The header `include/unspin/sysv.h` is the contract. This crate turns the header's functions into calls of
//! [`unspin_sysv::Engine`], and converts the results for C. It is a separate library without any code of the preload
//! library. A program links with it and passes an engine to each call. The `semop` of libc still calls the kernel.
//!
//! | module | functions |
//! |---|---|
//! | `open` | `unspin_sysv_open`, `unspin_sysv_close`, `unspin_sysv_error` |
//! | `sem`, `msg`, `shm` | the twelve calls of System V, each with the engine before the arguments of the call |
//!
//! No panic unwinds into C: `guard` ends the program with one line.
#![warn(missing_docs)]

mod answer;
mod guard;
mod msg;
mod open;
mod sem;
mod shm;
