//! *Wrappers*: functions that acquire a lock for their caller (`Mutex::lock`, `lock_table`). The meter should name
//! their callers.
//!
//! A function is a wrapper if it returns with the lock held. That is checked when the lock is released: is the
//! function's frame still on the stack? Before the first such check, and where unwind tables are missing, a function is
//! not treated as a wrapper. The verdict is stored by return address, with the distance to the next return address.

use super::frames::{self, End, word};
use core::cell::Cell;
use unspin_sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

/// Number of return addresses that are remembered. If the slots of an address are taken, it is checked again for each
/// row.
const KNOWN: usize = 1024;
/// Maximum number of nested wrappers.
const DEPTH: usize = 4;
/// Longest frame of a wrapper, in bytes.
const FRAME_MAX: usize = 1024;

/// A return address and the verdict on it. The address is written last.
struct Known {
    address: AtomicU64,
    verdict: AtomicU64,
}

static TABLE: [Known; KNOWN] =
    [const { Known { address: AtomicU64::new(0), verdict: AtomicU64::new(0) } }; KNOWN];

/// The function is not a wrapper.
const ITSELF: u64 = 0;
/// A wrapper. The bits below are the distance from the stack pointer, or from the frame base, up to the end of its
/// frame.
const ABOVE_STACK_POINTER: u64 = 1 << 62;
const ABOVE_FRAME_BASE: u64 = 1 << 63;

#[inline(always)]
fn verdict(address: usize) -> Option<u64> {
    // Acquire: pairs with the Release in `decide`; a slot is assigned once. Relaxed: ordered by that Acquire.
    let known = slots(address).find(|known| known.address.load(Acquire) == address as u64)?;
    Some(known.verdict.load(Relaxed))
}

/// Number of slots in which an address may be.
const WAYS: usize = 4;

/// The slots in which an address may be, in the order in which they are taken.
#[inline(always)]
fn slots(address: usize) -> impl Iterator<Item = &'static Known> {
    let first = ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
    (first..first + WAYS).map(|at| &TABLE[at % KNOWN])
}

fn decide(address: usize, verdict: u64) {
    static ONE_AT_A_TIME: unspin_sync::atomic::AtomicBool = unspin_sync::atomic::AtomicBool::new(false);
    // Acquire and Release: the thread that gets the flag sees what its last holder wrote. A thread that does not get it
    // decides another time.
    if ONE_AT_A_TIME.swap(true, Acquire) {
        return;
    }
    // Relaxed (all): written only while the flag is held. Another thread may have decided on the address meanwhile.
    let is_address = |known: &&Known, address| known.address.load(Relaxed) == address;
    let is_decided = slots(address).any(|known| is_address(&known, address as u64));
    if let Some(known) = slots(address).find(|known| !is_decided && is_address(known, 0)) {
        known.verdict.store(verdict, Relaxed);
        // Release: pairs with the Acquire in `verdict`.
        known.address.store(address as u64, Release);
    }
    // Release: pairs with the Acquire above.
    ONE_AT_A_TIME.store(false, Release);
}

/// To be called after code was unloaded: other code with other frames may be loaded at its addresses. Rows that a
/// thread has for such an address and the same lock are used further.
pub fn forget() {
    for known in &TABLE {
        // Relaxed: before new code runs, the dynamic linker's own locks order this store.
        known.address.store(0, Relaxed);
    }
}

/// A function on the stack that has called another function.
#[derive(Clone, Copy, Debug)]
pub struct CallPosition {
    /// The address to which the called function returns.
    pub address: usize,
    /// The position of that address on the stack.
    pub at: usize,
    /// The function's frame-base register; 0 if the called functions do not allow to determine it.
    pub bp: usize,
}

/// The caller of a hook, as the meter names it.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The return address in the first function, counted from the hook outwards, that is not a known wrapper.
    pub address: usize,
    /// Whether this is the function that called the hook, and is known to be no wrapper.
    pub is_direct: bool,
}

/// The caller of a hook.
///
/// # Safety
/// As for [`outermost`].
#[inline(always)]
pub unsafe fn caller(sp: usize, bp: usize) -> Caller {
    // SAFETY: at the entry of a hook the stack pointer points to the return address (psABI).
    let address = unsafe { *(sp as *const usize) };
    match verdict(address) {
        None => Caller { address, is_direct: false },
        Some(ITSELF) => Caller { address, is_direct: true },
        // SAFETY: the caller's promise.
        Some(_) => Caller { address: unsafe { outermost(sp, bp).address }, is_direct: false },
    }
}

/// The first function, counted from a hook outwards, that is not a known wrapper.
///
/// # Safety
/// `sp` and `bp` are a hook's registers at its entry, and the hook has not returned.
#[inline(never)]
pub unsafe fn outermost(sp: usize, bp: usize) -> CallPosition {
    // SAFETY: at the entry of a hook the stack pointer points to the return address (psABI).
    let here = CallPosition { address: unsafe { *(sp as *const usize) }, at: sp, bp };
    match verdict(here.address) {
        None | Some(ITSELF) => here,
        // SAFETY: the caller's promise.
        Some(verdict) => unsafe { outer(here, verdict) },
    }
}

unsafe fn outer(mut position: CallPosition, mut verdict: u64) -> CallPosition {
    for _ in 0..DEPTH {
        let distance = (verdict & (ABOVE_STACK_POINTER - 1)) as usize;
        if verdict & ABOVE_FRAME_BASE == 0 {
            position.at += distance;
            // The wrapper may have saved the register and used it for something else.
            position.bp = 0;
        } else if position.bp != 0 {
            // SAFETY: a function whose frame ends two words above the register saved the register there first, below
            // its return address.
            let saved =
                (distance == 2 * size_of::<usize>()).then(|| unsafe { *(position.bp as *const usize) });
            position.at = position.bp + distance - size_of::<usize>();
            position.bp = saved.unwrap_or(0);
        } else {
            break;
        }
        // SAFETY: the frame of a function that has not returned ends there, as its unwind table says for this very
        // address. Its return address lies below that end.
        position.address = unsafe { *(position.at as *const usize) };
        match self::verdict(position.address) {
            None | Some(ITSELF) => break,
            Some(next) => verdict = next,
        }
    }
    position
}

/// A function that acquired a lock and may be a wrapper.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Candidate {
    /// The key of the lock in the list of locks that the thread holds.
    lock: u64,
    /// The return address within the function.
    address: usize,
    /// The position of the function's own return address, and its value.
    at: usize,
    outer: usize,
    /// The verdict on the function if it is a wrapper.
    wrapper: u64,
}

impl Candidate {
    const NONE: Candidate = Candidate { lock: 0, address: 0, at: 0, outer: 0, wrapper: 0 };

    /// The function at this position; `None` if its frame is unknown.
    fn new(lock: u64, caller: CallPosition) -> Option<Candidate> {
        let (end, wrapper) = match frames::end(caller.address)? {
            End::AboveStackPointer(n) => {
                (caller.at.checked_add(size_of::<usize>() + n)?, ABOVE_STACK_POINTER | n as u64)
            }
            End::AboveFrameBase(n) => (caller.bp.checked_add(n)?, ABOVE_FRAME_BASE | n as u64),
        };
        let at =
            end.checked_sub(size_of::<usize>()).filter(|&at| at > caller.at && at - caller.at < FRAME_MAX)?;
        Some(Candidate { lock, address: caller.address, at, outer: word(at)?, wrapper })
    }

    /// Whether the function has returned, seen from a hook with this stack pointer at its entry.
    ///
    /// Until the function returns, its return address stays in place. It also stays in place if the function ended by a
    /// jump to the function that releases the lock. Once the function has returned, its caller has called another
    /// function, which has another return address in that place, or has returned too.
    fn has_returned(&self, sp: usize) -> Option<bool> {
        if sp > self.at { Some(true) } else { Some(word(self.at)? != self.outer) }
    }
}

/// The candidates of a thread. Valid when zeroed: there are none.
pub struct WrapperCandidates {
    /// An entry with lock 0 is free.
    all: [Cell<Candidate>; 4],
    count: Cell<usize>,
    /// A change is in progress: a signal handler in between would see half a candidate, or leave one.
    changing: Cell<bool>,
}

impl WrapperCandidates {
    /// An empty set.
    pub const fn none() -> WrapperCandidates {
        WrapperCandidates {
            all: [const { Cell::new(Candidate::NONE) }; 4],
            count: Cell::new(0),
            changing: Cell::new(false),
        }
    }

    /// Whether there are no candidates.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Remembers the function that acquired a lock, if there is no verdict on it yet.
    pub fn add(&self, lock: u64, caller: CallPosition) {
        if verdict(caller.address).is_some() {
            return;
        }
        let Some(candidate) = Candidate::new(lock, caller) else { return decide(caller.address, ITSELF) };
        self.change(|| {
            let free = self.all.iter().find(|cell| [0, lock].contains(&cell.get().lock));
            // A thread with four undecided locks forgets one of them. It is checked the next time.
            free.unwrap_or(&self.all[0]).set(candidate);
            self.count.set(self.all.iter().filter(|cell| cell.get().lock != 0).count());
            None
        });
    }

    /// Decides on the function that acquired the lock. A hook with this stack pointer at its entry is releasing the
    /// lock.
    #[cold]
    pub fn classify(&self, lock: u64, sp: usize) {
        let taken = self.change(|| {
            let cell = self.all.iter().find(|cell| cell.get().lock == lock)?;
            self.count.set(self.count.get().saturating_sub(1));
            Some(cell.replace(Candidate::NONE))
        });
        if let Some(candidate) = taken
            && let Some(has_returned) = candidate.has_returned(sp)
        {
            decide(candidate.address, if has_returned { candidate.wrapper } else { ITSELF });
        }
    }

    /// Runs a change of the candidates, but not in a signal handler that interrupted another change.
    fn change(&self, change: impl FnOnce() -> Option<Candidate>) -> Option<Candidate> {
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
