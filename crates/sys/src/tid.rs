//! The calling thread's id, cached: gettid(2) takes some fifty times as long as an uncontended lock.

use crate::process;
use crate::tls::{self, Word};
use core::sync::atomic::{AtomicBool, Ordering};

/// The id of the calling thread, never 0.
#[inline(always)]
pub fn get() -> u32 {
    match get_cached() {
        0 => query(),
        known => known,
    }
}

/// The cached id; 0 if there is none yet.
#[inline(always)]
pub fn get_cached() -> u32 {
    tls::value::<{ Word::Tid as usize }>() as u32
}

/// Caches an id that the caller has obtained in another way, and returns it.
pub fn set_cached(tid: u32) -> u32 {
    prepare();
    tls::word(Word::Tid).set(tid as usize);
    tid
}

#[cold]
fn query() -> u32 {
    set_cached(process::tid())
}

/// Registers a fork handler that clears the cache in the child, because the forking thread has another id there. The
/// first [`get`] does this. Call it earlier if the first `get` may run inside an allocator, because libc allocates
/// here. Children made without libc (by a bare clone(2)) keep the old id, as they do in libc's own mutexes.
pub fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: it only decides which thread came first.
    if !DONE.swap(true, Ordering::Relaxed) {
        // SAFETY: the function lives as long as this library, which libc identifies by the handle that the linker
        // inserts.
        unsafe { libc::pthread_atfork(None, None, Some(clear_cached)) };
    }
}

extern "C" fn clear_cached() {
    tls::word(Word::Tid).set(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_tid() {
        let here = get();
        assert_eq!((here, get()), (process::tid(), here));
        let there = std::thread::spawn(|| (get(), process::tid())).join().unwrap();
        assert!(there.0 == there.1 && there.0 != here);
    }

    #[test]
    fn child_queries_its_tid_again() {
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
