//! semop(2) of one operation: which path performs it.
//!
//! | path | performs | is for |
//! |---|---|---|
//! | `fast_path` | an operation without `SEM_UNDO`: one compare-and-swap | the hook's own code: it calls nothing |
//! | `undo_fast_path` | an operation with `SEM_UNDO`: the set's lock, if it is free | a function of its own |
//! | `semop_slow` | every call | all others, and what the two have refused |
//!
//! Both fast paths are for threads with [`Engine::has_fast_path`], and take a set that the thread has cached and a
//! semaphore for which no thread waits. The flag decides which of them is tried. If it refuses, nothing has happened,
//! and the call is made in full. The first loads the operation for itself: to keep it for the others would cost
//! registers. The second passes on what it has loaded.

use super::fast_path::fast_path;
use super::undo_fast_path::undo_fast_path;
use crate::engine::Engine;
use crate::sem::Op;
use crate::thread::Thread;
use crate::time;
use unspin_sys::ipc::flag::SEM_UNDO;
use unspin_sys::{Errno, fault};

/// The caller of [`Engine::semop_one`]: what it returns, and how it makes the call in full.
pub trait OneOpCaller: Copy {
    /// What the caller returns.
    type Answer;

    /// Converts the result of a call.
    fn answer(self, result: Result<i32, Errno>) -> Self::Answer;

    /// Makes the call by [`Engine::semtimedop`].
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    unsafe fn call(self, id: i32, op: usize) -> Self::Answer;

    /// Makes the call by [`Engine::semop_after_load`].
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    unsafe fn call_after_load(self, id: i32, op: usize, loaded: LoadedOp) -> Self::Answer;
}

/// An operation that was loaded from the program's memory and is not loaded again.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct LoadedOp(pub(super) Op);

impl Engine {
    /// semop(2) of one operation, whose address a C program gives: takes the paths in the order of the module's table.
    ///
    /// It uses the engine that the calling thread joined last, and `caller` in full another one if it likes: so it is
    /// for threads that have joined the caller's. It is meant to be inlined into a hook: the first path calls nothing
    /// but the clock, so that few registers have to be saved.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    #[inline(always)]
    pub unsafe fn semop_one<C: OneOpCaller>(caller: C, id: i32, op: usize) -> C::Answer {
        if let Some(thread) = Thread::fast_path_thread() {
            // The clock is read here because few values are in registers yet that the call would make the compiler
            // save. It is not read after the exchange, because what follows the exchange must wait for it.
            let now = time::seconds();
            let loaded = fault::load_plain_sembuf(op);
            if i32::from(loaded.sem_flg) & SEM_UNDO != 0 {
                // SAFETY: the caller's promise.
                return unsafe { undo_or_call(caller, id, op, now) };
            }
            if let Some(result) = fast_path(thread, id, loaded, now) {
                return caller.answer(result.map(|()| 0));
            }
        }
        // A thread with asynchronous cancellation has no fast path. Nor has a thread if the kernel is the engine: it may
        // run a handler in which libc allows asynchronous cancellation, and then nothing tells the engine of that.
        // SAFETY: the caller's promise.
        unsafe { caller.call(id, op) }
    }

    /// Whether the calling thread takes the fast paths at all.
    #[inline(always)]
    pub fn has_fast_path() -> bool {
        Thread::fast_path_thread().is_some()
    }
}

/// The second path, and then the third, of an operation with `SEM_UNDO` or one that only a system call can load, at the
/// time `now`, in seconds. Not inlined: a hook that ends with this call has nothing to drop, so the call becomes a jump,
/// and the hook saves no registers for it.
///
/// # Safety
/// As for [`Engine::semtimedop`].
#[cold]
#[inline(never)]
unsafe fn undo_or_call<C: OneOpCaller>(caller: C, id: i32, op: usize, now: i64) -> C::Answer {
    let loaded = match fault::load_sembuf(op) {
        Ok(loaded) => Op::new(loaded),
        Err(errno) => return caller.answer(Err(errno)),
    };
    let result = Thread::fast_path_thread().and_then(|thread| undo_fast_path(thread, id, loaded, now));
    match result {
        Some(result) => caller.answer(result.map(|()| 0)),
        // SAFETY: the caller's promise.
        None => unsafe { caller.call_after_load(id, op, LoadedOp(loaded)) },
    }
}

impl OneOpCaller for &Engine {
    type Answer = Result<i32, Errno>;

    fn answer(self, result: Result<i32, Errno>) -> Result<i32, Errno> {
        result
    }

    unsafe fn call(self, id: i32, op: usize) -> Result<i32, Errno> {
        // SAFETY: the caller's promise.
        unsafe { self.semtimedop(id, op, 1, 0) }
    }

    unsafe fn call_after_load(self, id: i32, op: usize, loaded: LoadedOp) -> Result<i32, Errno> {
        // SAFETY: the caller's promise.
        unsafe { self.semop_after_load(id, op, loaded) }
    }
}
