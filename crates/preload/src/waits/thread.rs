//! The data that the calling thread keeps for its waits: a page, wiped on fork, which it allocates at its first wait.

use super::site::Sites;
use crate::{departure, sandbox};
use core::cell::Cell;
use core::ptr::NonNull;
use unspin_sys::tls::{self, Word};
use unspin_sys::{page, process};

/// Data of one thread. Zeroed: nothing is known.
#[repr(C)]
pub struct Waiter {
    /// What the thread has learnt at its call sites.
    pub sites: Sites,
    /// The thread's number of voluntary context switches at the last query.
    switches: Cell<u64>,
}

const _: () = assert!(size_of::<Waiter>() <= page::BYTES);

/// Used in place of the page's address: there is no page, and there will be none.
const NONE: usize = 1;

impl Waiter {
    /// The data of the calling thread; `None` at its end, or if there is no memory.
    #[inline(always)]
    pub fn current() -> Option<&'static Waiter> {
        match tls::value::<{ Word::Waits as usize }>() {
            0 => Waiter::arrive(),
            NONE => None,
            // SAFETY: the page is given back only by `leave`, which changes the word first.
            address => Some(unsafe { &*(address as *const Waiter) }),
        }
    }

    /// The data of the calling thread, if it has waited before.
    #[inline(always)]
    pub fn known() -> Option<&'static Waiter> {
        let address = tls::value::<{ Word::Waits as usize }>();
        // SAFETY: as in `current`.
        (address > NONE).then(|| unsafe { &*(address as *const Waiter) })
    }

    #[cold]
    fn arrive() -> Option<&'static Waiter> {
        let word = tls::word(Word::Waits);
        // A handler that runs in the meantime does without the page.
        word.set(NONE);
        let page = page::take().ok()?;
        word.set(page.addr().get());
        departure::expect();
        // SAFETY: a zeroed page is a valid `Waiter`: it consists of integers.
        Some(unsafe { page.cast::<Waiter>().as_ref() })
    }

    /// Whether the calling thread has gone to sleep since the last query; true if system calls are not allowed.
    pub fn has_slept_now() -> bool {
        if sandbox::is_closed() {
            return true;
        }
        let now = process::voluntary_switches();
        Waiter::current().is_none_or(|waiter| waiter.switches.replace(now) != now)
    }
}

/// Gives the page back, at the thread's end.
pub fn leave() {
    let word = tls::word(Word::Waits);
    if let Some(page) = NonNull::new(word.replace(NONE) as *mut u8).filter(|page| page.addr().get() != NONE) {
        // SAFETY: the page belonged to this thread alone, and only the word pointed to it.
        unsafe { page::give_back(page) };
    }
}
