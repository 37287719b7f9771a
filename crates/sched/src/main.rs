//! The `unspin-sched` program: loads a scheduler of ours into the kernel, runs a command under it, and says what it did.
//!
//! The schedulers are the BPF programs below `bpf`. The kernel switches back to its own scheduler when this program ends, in
//! whatever way.
#![forbid(unsafe_code)]

#[cfg(feature = "bpf")]
mod bpf;
#[cfg(not(feature = "bpf"))]
#[path = "without_bpf.rs"]
mod bpf;
mod command;
#[cfg_attr(
    not(any(feature = "bpf", test)),
    expect(dead_code, reason = "without schedulers nothing is counted")
)]
mod counters;
mod error;
#[cfg_attr(
    not(any(feature = "bpf", test)),
    expect(dead_code, reason = "without schedulers nothing is counted")
)]
mod locks;
mod options;
mod session;
mod signals;
mod statistics;

use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    match session::run(&Options::read()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("unspin-sched: {error}");
            error.exit_code()
        }
    }
}
