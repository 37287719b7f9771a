//! A number that identifies a process within a line of forks: it differs in a child made by any kind of fork.
//!
//! A child inherits what its parent has recorded about threads that do not exist in the child. A reader that compares
//! the generation stored with the record detects that. A process id would serve too, but needs a system call, and may
//! be the same in a child that begins a pid namespace.

use crate::mem::Mapping;
use crate::process;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The page that a fork wipes. Its first word is the generation, 0 until the first call of [`get`]. Null before that
/// call, and where the kernel provides no such page (`MADV_WIPEONFORK`, Linux 4.14).
static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// The last generation that was assigned in this line of forks. A child inherits it, unlike the page.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The generation of the calling process, never 0. Processes that share their memory (vfork) share it.
#[inline(always)]
pub fn get() -> u32 {
    // Acquire: partner of the Release in `begin`: the page is mapped.
    let page = PAGE.load(Ordering::Acquire);
    // SAFETY: null, or the page, which is never unmapped.
    match unsafe { page.as_ref() } {
        // Relaxed: only a number; no other data is read through it.
        Some(generation) if generation.load(Ordering::Relaxed) != 0 => generation.load(Ordering::Relaxed),
        Some(generation) => next(generation),
        None => begin(),
    }
}

#[cold]
fn next(generation: &AtomicU32) -> u32 {
    // Relaxed: an atomic addition; each number is assigned once.
    let mine = (LAST.fetch_add(1, Ordering::Relaxed) + 1).max(1);
    // Relaxed: as in `get`; a thread that comes second uses the first one's number.
    generation.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(mine)
}

#[cold]
fn begin() -> u32 {
    let Ok(page) = Mapping::map_wiped_on_fork(size_of::<AtomicU32>()) else { return process::pid() };
    let at = page.start().cast::<AtomicU32>().as_ptr();
    // Release: partner of the Acquire in `get`. Relaxed on failure: the caller loads the page pointer again by that
    // Acquire.
    if PAGE.compare_exchange(core::ptr::null_mut(), at, Ordering::Release, Ordering::Relaxed).is_ok() {
        page.leak();
    }
    get()
}

/// A number that is computed once per process, and again in each child.
#[derive(Debug)]
pub struct OncePerProcess(AtomicU64);

impl OncePerProcess {
    /// Not computed yet.
    pub const fn new() -> OncePerProcess {
        OncePerProcess(AtomicU64::new(0))
    }

    /// Returns the number; `ask` computes it.
    pub fn get(&self, ask: impl FnOnce() -> u32) -> u32 {
        let mine = u64::from(get());
        // Relaxed: one word holds both the generation and the number.
        let known = self.0.load(Ordering::Relaxed);
        if known >> 32 == mine {
            return known as u32;
        }
        let answer = ask();
        // Relaxed: as above.
        self.0.store(mine << 32 | u64::from(answer), Ordering::Relaxed);
        answer
    }
}

impl Default for OncePerProcess {
    fn default() -> OncePerProcess {
        OncePerProcess::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_computed_once_per_process() {
        let number = OncePerProcess::new();
        assert_eq!((number.get(|| 7), number.get(|| 8)), (7, 7));
    }

    #[test]
    fn threads_share_the_generation_and_a_child_has_another() {
        let here = get();
        assert!(here != 0 && here == get());
        assert_eq!(std::thread::spawn(get).join().unwrap(), here);
        // SAFETY: the child calls only what is safe after a fork, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let right = get() != here && get() != 0 && get() == get();
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!right)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: our child, a live int.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
                assert_eq!(get(), here);
            }
        }
    }
}
