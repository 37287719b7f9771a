//! Whose memory this is: state that a forked child must find empty, and how a vfork child is told apart.

use core::ptr;
use unspin_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use unspin_sys::mem::Mapping;
use unspin_sys::{process, sched};

/// Lies in a page that fork leaves zeroed in the child (and vfork, which copies nothing, leaves as it is).
#[repr(C)]
struct Page {
    /// The process whose table this is; 0 until somebody asks.
    owner: AtomicU32,
    /// 1 while a thread changes the table, so that the word and the kernel's entry belong together.
    lock: AtomicU32,
}

static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());
/// Where the kernel has no MADV_WIPEONFORK (before 4.14): a child forked during a change waits for ever, but
/// only if it installs a handler itself.
static FALLBACK: Page = Page { owner: AtomicU32::new(0), lock: AtomicU32::new(0) };

fn page() -> &'static Page {
    // Acquire: pairs with the Release below; the page is zeroed by the kernel, so there is little to see.
    let known = PAGE.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: PAGE is only ever set to a page that is never unmapped.
        return unsafe { &*known };
    }
    let Ok(fresh) = Mapping::wiped_on_fork(size_of::<Page>()) else { return &FALLBACK };
    let address = fresh.start().as_ptr().cast();
    // Release: pairs with the Acquire above. Acquire on failure: the winner's page is used.
    match PAGE.compare_exchange(ptr::null_mut(), address, Ordering::Release, Ordering::Acquire) {
        // SAFETY: leaked, so never unmapped; zeroed bytes are a Page.
        Ok(_) => unsafe { &*fresh.leak().as_ptr().cast() },
        // SAFETY: as above; `fresh` is unmapped when dropped.
        Err(winner) => unsafe { &*winner },
    }
}

/// Makes this process the owner of its memory, and every child that it forks the owner of its own. Without
/// this, a vfork child could be the first to ask and be taken for the owner.
pub fn found() {
    extern "C" fn in_child() {
        let _ = borrows_memory();
    }
    let _ = borrows_memory();
    // SAFETY: the function lives as long as the library, which is never unloaded. A failure (no memory) leaves
    // the first to ask as the owner.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Whether this is a child that borrows its parent's memory until it calls exec. It has a table of handlers of
/// its own in the kernel, but ours is the parent's and must not be changed.
pub fn borrows_memory() -> bool {
    let me = process::pid();
    // Relaxed: a process id, which guards nothing; two threads of one process store the same.
    match page().owner.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => false,
        Err(owner) => owner != me,
    }
}

/// The right to change the table; given back when dropped. The caller has blocked all signals, so the holder
/// is never interrupted by a handler that wants it too; it is held for one system call.
pub struct Change(&'static Page);

impl Change {
    /// Waits for the right.
    pub fn begin() -> Change {
        let page = page();
        // Acquire: pairs with the Release in drop; the words written under the lock before are seen.
        while page.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sched::give_way();
        }
        Change(page)
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in begin.
        self.0.lock.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_owns_its_copy_and_finds_no_lock() {
        assert!(!borrows_memory());
        let held = Change::begin();
        // SAFETY: the child only asks and exits.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                drop(Change::begin());
                libc::_exit(borrows_memory() as i32);
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            status
        };
        drop(held);
        assert_eq!(status, 0);
    }
}
