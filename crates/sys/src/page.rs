//! Pages for data of a single thread: wiped on fork, and reused by another thread when their thread ends.
//!
//! Behind each page lies another one, which a fork does not wipe ([`behind`]): for data to which a child may return when
//! a signal handler has forked.
//!
//! They are never unmapped, so there are as many as there were threads at the same time. In a child made by fork the
//! free list is wiped with its pages; all pages but the first are lost to the child.

use crate::Errno;
use crate::mem::Mapping;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Address of the first free page. Each free page begins with the address of the next.
static FREE: AtomicUsize = AtomicUsize::new(0);

/// Length of a page.
pub const BYTES: usize = 4096;

/// Returns a zeroed page. Not for signal handlers that may interrupt this function or [`give_back`].
pub fn take() -> Result<NonNull<u8>, Errno> {
    // Acquire: partner of the Release in `give_back`: the thread that had the page is done with it. We take the whole
    // list, so that there is no ABA problem: no exchange can meet a first page that was taken and given back meanwhile.
    let Some(page) = NonNull::new(FREE.swap(0, Ordering::Acquire) as *mut u8) else {
        return Ok(Mapping::map_wiped_in_front(BYTES, BYTES)?.leak());
    };
    // SAFETY: we took the list, so its pages are ours, and each begins with the address of the next.
    unsafe {
        put_back(page.cast::<usize>().read());
        page.write_bytes(0, BYTES);
    }
    Ok(page)
}

/// The address of the page behind a page that [`take`] has returned. Its contents are unspecified.
#[inline(always)]
pub fn behind<T>(page: &T) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut((&raw const *page).expose_provenance() + BYTES)
}

/// Puts back a list that was taken. If pages were given back meanwhile, those few are put in front of it.
///
/// # Safety
/// The list belongs to the caller: 0, or the address of a page that begins with the address of the next.
unsafe fn put_back(mut list: usize) {
    // Release: partner of the Acquire in `take`. Relaxed on failure: the swap follows. Acquire of the swap: its list is
    // read.
    while list != 0 && FREE.compare_exchange(0, list, Ordering::Release, Ordering::Relaxed).is_err() {
        let mut other = FREE.swap(0, Ordering::Acquire);
        while let Some(page) = NonNull::new(other as *mut usize) {
            // SAFETY: both lists belong to the caller now.
            unsafe {
                other = page.read();
                page.write(list);
            }
            list = page.addr().get();
        }
    }
}

/// Keeps a page for another thread.
///
/// # Safety
/// The page came from [`take`] and is not used any more.
pub unsafe fn give_back(page: NonNull<u8>) {
    // Relaxed: the value is only compared and stored as a number.
    let mut first = FREE.load(Ordering::Relaxed);
    loop {
        // SAFETY: the page belongs to the caller until the exchange succeeds.
        unsafe { page.cast::<usize>().write(first) };
        // Release: partner of the Acquire in `take`.
        match FREE.compare_exchange(first, page.addr().get(), Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => first = other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_zeroed() {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..1_000 {
                        let page = take().unwrap();
                        // SAFETY: the page is ours until it is given back.
                        unsafe {
                            assert!(page.cast::<[u64; BYTES / 8]>().as_ref().iter().all(|&word| word == 0));
                            page.write_bytes(0xAA, BYTES);
                            give_back(page);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
