//! What to do next about a row of a lens that reads the kernel's events: a lens passes the facts, and the texts stand here.

pub mod futex;
pub mod kernel;
pub mod off_cpu;

use super::{Next, Step, Subject};

/// About a program of which nothing was recorded: the lens that needs no lock function of libc.
pub fn waits_of(subject: &Subject) -> Next {
    Next::with_step("What its threads wait for, whatever their locks:", Step::OffCpu, subject)
}
