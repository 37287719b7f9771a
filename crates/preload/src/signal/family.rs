//! Which process owns this memory: state that is empty in a forked child, and the detection of a vfork child.

use core::ptr;
use unspin_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use unspin_sys::mem::Mapping;
use unspin_sys::{process, sched};

/// Lies in a page that is zero in a child made by fork. A vfork child shares it unchanged.
#[repr(C)]
struct Page {
    /// The process that this table belongs to; 0 until the first query.
    owner: AtomicU32,
    /// 1 while a thread changes the table, so that word and kernel entry change together.
    lock: AtomicU32,
}

static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());
/// Used if the kernel has no MADV_WIPEONFORK (before 4.14). A child that is forked during a change then waits for ever,
/// but only if it installs a handler itself.
static FALLBACK: Page = Page { owner: AtomicU32::new(0), lock: AtomicU32::new(0) };

fn page() -> &'static Page {
    // Acquire: pairs with the Release below. The kernel has zeroed the page, so there is little else to see.
    let known = PAGE.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: PAGE is only ever set to a page that is never unmapped.
        return unsafe { &*known };
    }
    let Ok(fresh) = Mapping::map_wiped_on_fork(size_of::<Page>()) else { return &FALLBACK };
    let address = fresh.start().as_ptr().cast();
    // Release: pairs with the Acquire above. Acquire on failure: the winner's page is used.
    match PAGE.compare_exchange(ptr::null_mut(), address, Ordering::Release, Ordering::Acquire) {
        // SAFETY: leaked, so never unmapped; zeroed bytes are a Page.
        Ok(_) => unsafe { &*fresh.leak().as_ptr().cast() },
        // SAFETY: as above; `fresh` is unmapped when dropped.
        Err(winner) => unsafe { &*winner },
    }
}

/// Makes this process the owner of its memory, and each child that it forks the owner of its own. Otherwise a vfork
/// child could be the first to query, and would count as the owner.
pub fn found() {
    extern "C" fn in_child() {
        let _ = borrows_memory();
    }
    let _ = borrows_memory();
    // SAFETY: the function lives as long as the library, which is never unloaded. After a failure (no memory) the first
    // process to query becomes the owner.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Whether this process is a child that uses its parent's memory until it calls exec. It has its own table of handlers
/// in the kernel, but this library's table belongs to the parent and must not be changed.
pub fn borrows_memory() -> bool {
    let me = process::pid();
    // Relaxed: a process id that guards nothing. Two threads of one process store the same value.
    match page().owner.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => false,
        Err(owner) => owner != me,
    }
}

/// The right to change the table; released when dropped. The caller has blocked all signals, so no handler that needs
/// the right too interrupts the holder. It is held for one system call.
pub struct Change(&'static Page);

impl Change {
    /// Waits for the right to change the table.
    pub fn begin() -> Change {
        let page = page();
        // Acquire: pairs with the Release in `drop`: makes the previous holder's changes of the words visible.
        while page.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sched::yield_or_sleep();
        }
        Change(page)
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `begin`.
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
        // SAFETY: the child only queries and exits.
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
