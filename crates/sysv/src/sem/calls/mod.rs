//! The calls on semaphore sets: their arguments, in the kernel's order of checks.

mod cached;
mod fast_path;
pub(crate) mod object;
pub(crate) mod one_op;
mod semctl;
mod semget;
pub(crate) mod semop;
mod undo_fast_path;
mod undo_record;
mod unshare;
