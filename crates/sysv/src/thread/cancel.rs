//! Cancellation points: msgsnd(2) and msgrcv(2) are cancellation points, semop(2) is not (pthreads(7)).
//!
//! A thread that sleeps in one enables asynchronous cancellation for the length of the system call, as glibc's own
//! functions do. The caller that knows pthreads (the preload library) does that, and calls [`leave`] if the thread is
//! cancelled. The thread is then unwound from here, through frames that have nothing to drop.
//!
//! A thread may also enable cancellation at any instruction. The caller of the engine then disables that for the length
//! of the call. All sleeps of such a thread are cancellation points, and it never uses the fast path, on which nothing
//! checks for cancellation.

pub use super::cancel_point::{CancelType, Sleeper, cancel_type, set_sleeper};

use super::Thread;
use crate::thread;
use crate::waiting::{self, CallerBuffers};
use unspin_sys::tls::{self, Word};

/// Ends the wait of a thread that was cancelled in its sleep. Buffers of its call are no longer accessed.
pub fn leave() {
    thread::records_in_use().for_each(|thread| waiting::interrupt(thread, CallerBuffers::Gone));
}

/// Notes the cancellation type that the program has set for the calling thread. While the thread is in the engine it is
/// not cancelled asynchronously.
pub fn note(cancel_type: CancelType) {
    tls::word(Word::Cancel).set(cancel_type as usize);
    thread::records_in_use().for_each(Thread::choose_path);
}
