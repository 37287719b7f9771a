//! Which address space this is: a child made by fork(2) has a copy of all that its parent's threads left in memory, but
//! not the threads. What names the space it was written in can be told from what was written since.

use crate::mem::Mapping;
use crate::process;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A word that the kernel sets to 0 in a child. Null before the first use.
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// The id of the process that this address space was made for: never 0, below 2^31, and another one in a child made by
/// any kind of fork. A child that shares the address space (vfork) shares it, as it shares what lies in it.
#[inline]
pub fn id() -> u32 {
    // Acquire: partner of the Release in `prepare`.
    let word = WORD.load(Ordering::Acquire);
    // SAFETY: null, or the mapping that `prepare` keeps for ever.
    match unsafe { word.as_ref() } {
        // Relaxed: the word says what it says.
        Some(word) => match word.load(Ordering::Relaxed) {
            0 => ask(word),
            id => id,
        },
        None => prepare(),
    }
}

#[cold]
fn ask(word: &AtomicU32) -> u32 {
    let id = process::pid();
    // Relaxed: whoever comes at the same time writes the same.
    word.store(id, Ordering::Relaxed);
    id
}

/// Where the kernel gives no memory that it wipes (before Linux 4.14), it is asked each time.
#[cold]
fn prepare() -> u32 {
    let Ok(page) = Mapping::wiped_on_fork(size_of::<AtomicU32>()) else { return process::pid() };
    let new = page.start().cast::<AtomicU32>().as_ptr();
    // Release: partner of the Acquire in `id`. Relaxed: a failure is read below.
    match WORD.compare_exchange(core::ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => drop(page.leak()),
        // Somebody else was first; our page is dropped.
        Err(_) => drop(page),
    }
    id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_has_one_id_and_a_child_another() {
        let here = id();
        assert_eq!((here, std::thread::spawn(id).join().unwrap()), (process::pid(), here));
        // SAFETY: the child calls only what is safe after a fork, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let right = id() == process::pid() && id() != here;
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
