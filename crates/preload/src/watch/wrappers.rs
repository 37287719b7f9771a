//! Functions that take a lock for somebody else: `Mutex::lock`, `lock_table`. Their callers are the ones to name.
//!
//! What makes a function a wrapper is that it returns with the lock held. Whether it did is seen when the lock is released: is
//! its frame still on the stack? Until that has been seen once, and where unwind tables are missing, a function counts for
//! itself. The answer is kept by return address, with the distance to the next one.

use super::frames::{self, End, word};
use core::cell::Cell;
use unspin_sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

/// Return addresses that are remembered. One whose place is taken is judged again for each row.
const KNOWN: usize = 1024;
/// Wrappers of wrappers.
const DEPTH: usize = 4;
/// Longest frame of a wrapper.
const FRAME_MAX: usize = 1024;

/// What is known of a return address: the address, written last, and the verdict on it.
struct Known {
    address: AtomicU64,
    verdict: AtomicU64,
}

static TABLE: [Known; KNOWN] =
    [const { Known { address: AtomicU64::new(0), verdict: AtomicU64::new(0) } }; KNOWN];

/// The function does what it does for itself.
const ITSELF: u64 = 0;
/// A wrapper; the bits below tell how far its frame's end is above the stack pointer, or the frame base.
const ABOVE_STACK_POINTER: u64 = 1 << 62;
const ABOVE_FRAME_BASE: u64 = 1 << 63;

#[inline(always)]
fn verdict(address: usize) -> Option<u64> {
    let known = place(address);
    // Acquire: pairs with the Release in `decide`; places are given away once. Relaxed: ordered by that.
    (known.address.load(Acquire) == address as u64).then(|| known.verdict.load(Relaxed))
}

#[inline(always)]
fn place(address: usize) -> &'static Known {
    &TABLE[((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % KNOWN]
}

fn decide(address: usize, verdict: u64) {
    static ONE_AT_A_TIME: unspin_sync::atomic::AtomicBool = unspin_sync::atomic::AtomicBool::new(false);
    let known = place(address);
    // Acquire and Release: who has the flag sees what the last one wrote. Who has it not decides another time.
    if ONE_AT_A_TIME.swap(true, Acquire) {
        return;
    }
    // Relaxed (both): written under the flag.
    if known.address.load(Relaxed) == 0 {
        known.verdict.store(verdict, Relaxed);
        // Release: pairs with the Acquire in `verdict`.
        known.address.store(address as u64, Release);
    }
    // Release: see above.
    ONE_AT_A_TIME.store(false, Release);
}

/// Code has gone; what comes into its place is other code, with other frames.
pub fn forget() {
    for known in &TABLE {
        // Relaxed: the dynamic linker's own locks come between this and the new code.
        known.address.store(0, Relaxed);
    }
}

/// A function on the stack that has called another.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it goes on, and where on the stack that is written.
    pub address: usize,
    pub at: usize,
    /// Its frame-base register; 0 if that cannot be known from within what it called.
    pub bp: usize,
}

/// Where the first function goes on, from a hook on, that is not known to be a wrapper.
///
/// # Safety
/// As for [`outermost`].
#[inline(always)]
pub unsafe fn address(sp: usize, bp: usize) -> usize {
    // SAFETY: at a hook's entry the stack pointer points to the return address (psABI).
    let address = unsafe { *(sp as *const usize) };
    match verdict(address) {
        None | Some(ITSELF) => address,
        // SAFETY: the caller's promise.
        Some(_) => unsafe { outermost(sp, bp).address },
    }
}

/// The first function, from a hook on, that is not known to be a wrapper.
///
/// # Safety
/// `sp` and `bp` are a hook's, at its entry, and it has not returned.
#[inline(never)]
pub unsafe fn outermost(sp: usize, bp: usize) -> Place {
    // SAFETY: at a hook's entry the stack pointer points to the return address (psABI).
    let here = Place { address: unsafe { *(sp as *const usize) }, at: sp, bp };
    match verdict(here.address) {
        None | Some(ITSELF) => here,
        // SAFETY: the caller's promise.
        Some(verdict) => unsafe { outer(here, verdict) },
    }
}

unsafe fn outer(mut place: Place, mut verdict: u64) -> Place {
    for _ in 0..DEPTH {
        let distance = (verdict & (ABOVE_STACK_POINTER - 1)) as usize;
        if verdict & ABOVE_FRAME_BASE == 0 {
            place.at += distance;
            // It may have saved the register and used it for something else.
            place.bp = 0;
        } else if place.bp != 0 {
            // SAFETY: a function whose frame ends two words above the register began by saving it there, below its return
            // address.
            let saved = (distance == 2 * size_of::<usize>()).then(|| unsafe { *(place.bp as *const usize) });
            place.at = place.bp + distance - size_of::<usize>();
            place.bp = saved.unwrap_or(0);
        } else {
            break;
        }
        // SAFETY: the frame of a function that has not returned ends there, as its unwind table says for this very address,
        // and holds its return address below the end.
        place.address = unsafe { *(place.at as *const usize) };
        match self::verdict(place.address) {
            None | Some(ITSELF) => break,
            Some(next) => verdict = next,
        }
    }
    place
}

/// A function that took a lock and may turn out to be a wrapper.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Suspect {
    /// The lock, as it is named among those that the thread holds.
    lock: u64,
    /// The return address in it.
    address: usize,
    /// Where its own return address lies, and what that is.
    at: usize,
    outer: usize,
    /// The verdict on it if it is a wrapper.
    wrapper: u64,
}

impl Suspect {
    const NOBODY: Suspect = Suspect { lock: 0, address: 0, at: 0, outer: 0, wrapper: 0 };

    /// The function of this place; none if its frame is unknown.
    fn new(lock: u64, caller: Place) -> Option<Suspect> {
        let (end, wrapper) = match frames::end(caller.address)? {
            End::AboveStackPointer(n) => {
                (caller.at.checked_add(size_of::<usize>() + n)?, ABOVE_STACK_POINTER | n as u64)
            }
            End::AboveFrameBase(n) => (caller.bp.checked_add(n)?, ABOVE_FRAME_BASE | n as u64),
        };
        let at =
            end.checked_sub(size_of::<usize>()).filter(|&at| at > caller.at && at - caller.at < FRAME_MAX)?;
        Some(Suspect { lock, address: caller.address, at, outer: word(at)?, wrapper })
    }

    /// Whether it has returned, seen from a hook with this stack pointer at its entry.
    ///
    /// As long as it has not, its return address stands where it stood, and so it does if the function ended by a jump to
    /// the one that releases the lock. Once it has returned, whoever called it is calling somebody else, who has
    /// another return address there, or has returned as well.
    fn has_returned(&self, sp: usize) -> Option<bool> {
        if sp > self.at { Some(true) } else { Some(word(self.at)? != self.outer) }
    }
}

/// The suspects of a thread. Valid when zeroed: none.
pub struct Suspects {
    /// Those of lock 0 are none.
    all: [Cell<Suspect>; 4],
    count: Cell<usize>,
    /// Somebody is at it: a signal handler in between would see half a suspect, or leave one.
    changing: Cell<bool>,
}

impl Suspects {
    /// None.
    pub const fn none() -> Suspects {
        Suspects {
            all: [const { Cell::new(Suspect::NOBODY) }; 4],
            count: Cell::new(0),
            changing: Cell::new(false),
        }
    }

    /// Whether there is any.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Remembers who took a lock, if that is not decided yet.
    pub fn add(&self, lock: u64, caller: Place) {
        if verdict(caller.address).is_some() {
            return;
        }
        let Some(suspect) = Suspect::new(lock, caller) else { return decide(caller.address, ITSELF) };
        self.change(|| {
            let free = self.all.iter().find(|cell| [0, lock].contains(&cell.get().lock));
            // A thread with four undecided locks forgets one of them, which will be judged the next time.
            free.unwrap_or(&self.all[0]).set(suspect);
            self.count.set(self.all.iter().filter(|cell| cell.get().lock != 0).count());
            None
        });
    }

    /// Judges who took the lock, which is being released by a hook with this stack pointer at its entry.
    #[cold]
    pub fn judge(&self, lock: u64, sp: usize) {
        let taken = self.change(|| {
            let cell = self.all.iter().find(|cell| cell.get().lock == lock)?;
            self.count.set(self.count.get().saturating_sub(1));
            Some(cell.replace(Suspect::NOBODY))
        });
        if let Some(suspect) = taken
            && let Some(has_returned) = suspect.has_returned(sp)
        {
            decide(suspect.address, if has_returned { suspect.wrapper } else { ITSELF });
        }
    }

    /// Runs what changes the suspects, but not in a signal handler that interrupted it.
    fn change(&self, change: impl FnOnce() -> Option<Suspect>) -> Option<Suspect> {
        if self.changing.replace(true) {
            return None;
        }
        compiler_fence(SeqCst);
        let answer = change();
        compiler_fence(SeqCst);
        self.changing.set(false);
        answer
    }
}
