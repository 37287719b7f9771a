//! Lock and unlock in a thread that is recorded, in a process in which libc serves all mutexes.

use super::{any, object};
use crate::glibc::mutex::MutexLayout;
use crate::pthread::attempt::{Attempt, Release};
use crate::swap::mutex::Mutex;
use crate::watch::{Hook, Thread};
use core::ffi::c_int;
use libc::EBUSY;

/// Locks a mutex of libc, in a thread of which no times are recorded.
#[inline(never)]
pub fn lock_and_count(mutex: &MutexLayout, hook: Hook, thread: &'static Thread) -> c_int {
    if mutex.is_robust() || Attempt::direct(thread, object(mutex), hook).is_none() {
        return any::lock(mutex, hook);
    }
    match mutex.libc_trylock() {
        0 => 0,
        code => finish_lock(mutex, hook, thread, code),
    }
}

/// Locks a mutex of libc, in a thread of which times are recorded.
#[inline(never)]
pub fn lock_and_time(mutex: &MutexLayout, hook: Hook, thread: &'static Thread) -> c_int {
    if !mutex.is_simple() {
        return any::lock(mutex, hook);
    }
    let Some(attempt) = Attempt::direct(thread, object(mutex), hook) else { return any::lock(mutex, hook) };
    match mutex.libc_trylock() {
        0 => {
            attempt.begin_hold();
            0
        }
        code => finish_lock(mutex, hook, thread, code),
    }
}

/// Goes on after [`Attempt::direct`] and a trylock that failed.
#[cold]
#[inline(never)]
fn finish_lock(mutex: &MutexLayout, hook: Hook, thread: &'static Thread, code: c_int) -> c_int {
    let mutex = Mutex::new(mutex, hook);
    match Attempt::find_counted(thread, object(mutex.words()), hook) {
        Some(attempt) if code == EBUSY => any::acquire_contended(attempt, mutex, None, hook),
        Some(attempt) => any::end_attempt(attempt, mutex.words(), code),
        // There is no memory for a row, or a handler has forked since, and this is the child.
        None if code == EBUSY => mutex.lock().code,
        None => code,
    }
}

/// Unlocks a mutex of libc, in a thread of which times are recorded.
#[inline(never)]
pub fn unlock_and_time(mutex: &MutexLayout, thread: &'static Thread) -> c_int {
    Release::of(thread, object(mutex)).end(mutex.libc_unlock())
}
