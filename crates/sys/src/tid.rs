//! The calling thread's id, remembered: gettid(2) takes some fifty times as long as a lock.

use crate::process;
use crate::tls::{self, Word};
use core::sync::atomic::{AtomicBool, Ordering};

/// The id of the calling thread, never 0.
#[inline(always)]
pub fn get() -> u32 {
    match known() {
        0 => ask(),
        known => known,
    }
}

/// The same where it is known already; 0 where it is not.
#[inline(always)]
pub fn known() -> u32 {
    tls::value::<{ Word::Tid as usize }>() as u32
}

/// Remembers it for a caller that has found it out in another way, and answers it.
pub fn told(tid: u32) -> u32 {
    prepare();
    tls::word(Word::Tid).set(tid as usize);
    tid
}

#[cold]
fn ask() -> u32 {
    told(process::tid())
}

/// Sees to it that a child made by fork(2) asks anew, as the thread that forked has another id there. Done by the first
/// [`get`]; to be called earlier where that may run inside an allocator, since libc allocates here. Children that come
/// about without libc (a bare clone(2)) go on under the old id, as libc's own mutexes do there.
pub fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: only the question who came first matters.
    if !DONE.swap(true, Ordering::Relaxed) {
        // SAFETY: the function lives as long as this library, which libc knows by the handle that the linker puts in.
        unsafe { libc::pthread_atfork(None, None, Some(forget)) };
    }
}

extern "C" fn forget() {
    tls::word(Word::Tid).set(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own() {
        let here = get();
        assert_eq!((here, get()), (process::tid(), here));
        let there = std::thread::spawn(|| (get(), process::tid())).join().unwrap();
        assert!(there.0 == there.1 && there.0 != here);
    }

    #[test]
    fn a_child_asks_anew() {
        let parent = get();
        // SAFETY: the child calls only what is safe after a fork, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let right = get() == process::tid() && get() != parent;
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!right)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: our child, a live int.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
        }
    }
}
