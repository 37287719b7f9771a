//! Pages for what a thread keeps to itself: wiped on fork, and used again by the next thread when one ends.
//!
//! They are not unmapped: as many are kept as there were threads at a time. In a child made by fork the list is wiped
//! with its pages, all but the first of which are lost to it.

use crate::Errno;
use crate::mem::Mapping;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Address of the first free page, whose first word is the address of the next.
static FREE: AtomicUsize = AtomicUsize::new(0);

/// Length of a page.
pub const BYTES: usize = 4096;

/// A zeroed page. Not from a signal handler that may interrupt this function or [`give_back`].
pub fn take() -> Result<NonNull<u8>, Errno> {
    // Acquire: partner of the Release in `give_back`: the thread that had the page is done with it. The whole list is
    // taken, so that nobody's exchange can meet a first page that was taken and given back meanwhile.
    let Some(page) = NonNull::new(FREE.swap(0, Ordering::Acquire) as *mut u8) else {
        return Ok(Mapping::wiped_on_fork(BYTES)?.leak());
    };
    // SAFETY: the list was taken, so its pages are ours, and each begins with the next one's address.
    unsafe {
        put_back(page.cast::<usize>().read());
        page.write_bytes(0, BYTES);
    }
    Ok(page)
}

/// Puts back a list that was taken, as it is unless pages were given back meanwhile: these few are put in front.
///
/// # Safety
/// The list is the caller's: 0, or the address of a page that begins with the address of the next.
unsafe fn put_back(mut list: usize) {
    // Release: partner of the Acquire in `take`. Relaxed: a failure is followed by an exchange. Acquire: its list is read.
    while list != 0 && FREE.compare_exchange(0, list, Ordering::Release, Ordering::Relaxed).is_err() {
        let mut other = FREE.swap(0, Ordering::Acquire);
        while let Some(page) = NonNull::new(other as *mut usize) {
            // SAFETY: both lists are the caller's now.
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
/// It came from [`take`], and nobody uses it any more.
pub unsafe fn give_back(page: NonNull<u8>) {
    // Relaxed: only compared and kept as a number.
    let mut first = FREE.load(Ordering::Relaxed);
    loop {
        // SAFETY: the page is the caller's until the exchange succeeds.
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
