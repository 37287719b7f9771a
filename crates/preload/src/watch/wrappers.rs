//! Functions that take a lock for somebody else: `Mutex::lock`, `lock_table`. Their callers are the ones to name.
//!
//! What makes a function a wrapper is that it returns with the lock held. Whether it did is seen when the lock is released: is
//! its frame still on the stack? Until that has been seen once, and where unwind tables are missing, a function counts for
//! itself. The answer is kept by return address, with the distance to the next one.

use super::frames::{self, Base, End, Frame};
use super::thread::Caller;
use core::cell::Cell;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::mem;

/// Return addresses that are remembered. One whose place is taken is judged again for each row.
const KNOWN: usize = 1024;
/// Wrappers of wrappers.
const DEPTH: usize = 4;
/// Longest frame of a wrapper.
const FRAME_MAX: usize = 1024;
/// Frames that are looked at between the release of a lock and the frame that took it.
const WALK: usize = 12;

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

/// The return address of the first function that is not known to be a wrapper, and where on the stack it lies.
///
/// # Safety
/// `sp` and `bp` are a hook's, at its entry, and it has not returned.
#[inline(always)]
pub unsafe fn outermost(sp: usize, bp: usize) -> (usize, usize) {
    // SAFETY: at a hook's entry the stack pointer points to the return address (psABI).
    let address = unsafe { *(sp as *const usize) };
    match verdict(address) {
        None | Some(ITSELF) => (address, sp),
        // SAFETY: the caller's promise.
        Some(verdict) => unsafe { outer(sp, bp, verdict) },
    }
}

#[inline(never)]
unsafe fn outer(mut at: usize, mut bp: usize, mut verdict: u64) -> (usize, usize) {
    // The register is the innermost function's. What it was further out is known as long as each function on the way began
    // by saving it, which is what those do that use it.
    let mut bp_is_known = true;
    for _ in 0..DEPTH {
        let distance = (verdict & (ABOVE_STACK_POINTER - 1)) as usize;
        if verdict & ABOVE_FRAME_BASE == 0 {
            at += distance;
            bp_is_known = false;
        } else if bp_is_known {
            at = bp + distance - size_of::<usize>();
            // SAFETY: the function saved the register below its return address before it used it.
            bp = unsafe { *((at - size_of::<usize>()) as *const usize) };
        } else {
            break;
        }
        // SAFETY: the frame of a function that has not returned ends there, as its unwind table says for this very address,
        // and holds its return address below the end.
        let address = unsafe { *(at as *const usize) };
        match self::verdict(address) {
            None | Some(ITSELF) => return (address, at),
            Some(next) => verdict = next,
        }
    }
    // SAFETY: as above, or the hook's own.
    (unsafe { *(at as *const usize) }, at)
}

/// A function that took a lock and may turn out to be a wrapper.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    /// The lock, as it is named among those that the thread holds.
    lock: u64,
    /// The return address in it.
    address: usize,
    function: usize,
    /// Where its frame ends.
    end: usize,
    /// The verdict on it if it is a wrapper.
    wrapper: u64,
}

impl Suspect {
    const NOBODY: Suspect = Suspect { lock: 0, address: 0, function: 0, end: 0, wrapper: 0 };
}

/// The suspects of a thread. Valid when zeroed: none.
pub struct Suspects {
    /// Those of lock 0 are none.
    all: [Cell<Suspect>; 4],
    count: Cell<usize>,
}

impl Suspects {
    /// None.
    pub const fn none() -> Suspects {
        Suspects { all: [const { Cell::new(Suspect::NOBODY) }; 4], count: Cell::new(0) }
    }

    /// Whether there is any.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Remembers who took a lock, if that is not decided yet.
    pub fn add(&self, lock: u64, caller: &Caller) {
        if verdict(caller.address()).is_some() {
            return;
        }
        let mut steps = Steps::new(caller.sp(), caller.bp());
        let Some((frame, end)) = steps.find(|step| step.at == caller.at()).map(|step| (step.frame, step.end))
        else {
            return decide(caller.address(), ITSELF);
        };
        let wrapper = match frame.end {
            End::AboveStackPointer(n @ ..FRAME_MAX) => ABOVE_STACK_POINTER | n as u64,
            End::AboveFrameBase(n @ ..FRAME_MAX) => ABOVE_FRAME_BASE | n as u64,
            _ => ITSELF,
        };
        let free = self.all.iter().find(|suspect| [0, lock].contains(&suspect.get().lock));
        // A thread with four undecided locks forgets one of them, which will be judged the next time.
        let cell = free.unwrap_or(&self.all[0]);
        cell.set(Suspect { lock, address: caller.address(), function: frame.function, end, wrapper });
        self.count.set(self.all.iter().filter(|suspect| suspect.get().lock != 0).count());
    }

    /// Judges who took the lock, which is being released by a hook with these registers at its entry.
    #[cold]
    pub fn judge(&self, lock: u64, sp: usize, bp: usize) {
        let Some(cell) = self.all.iter().find(|cell| cell.get().lock == lock) else { return };
        let suspect = cell.replace(Suspect::NOBODY);
        self.count.set(self.count.get().saturating_sub(1));
        if let Some(is_there) = is_on_stack(&suspect, sp, bp) {
            decide(suspect.address, if is_there { ITSELF } else { suspect.wrapper });
        }
    }
}

/// Whether the suspect's frame is still there, seen from a hook with these registers at its entry; none if that cannot be
/// told.
fn is_on_stack(suspect: &Suspect, sp: usize, bp: usize) -> Option<bool> {
    let step = Steps::new(sp, bp).find(|step| step.end >= suspect.end)?;
    Some(step.end == suspect.end && step.frame.function == suspect.function)
}

/// The frames outward from a hook, as far as they can be told.
struct Steps {
    /// Where the next return address lies.
    at: usize,
    /// The frame-base register of the function that is returned to there, if known.
    bp: Option<usize>,
    left: usize,
}

/// One of them.
struct Step {
    frame: Frame,
    /// Where the return address into the function lies.
    at: usize,
    end: usize,
}

impl Steps {
    /// From a hook with these registers at its entry.
    fn new(sp: usize, bp: usize) -> Steps {
        Steps { at: sp, bp: Some(bp), left: WALK }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        let frame = frames::frame(word(at)?)?;
        let end = match frame.end {
            End::AboveStackPointer(n) => at.checked_add(size_of::<usize>())?.checked_add(n)?,
            End::AboveFrameBase(n) => self.bp?.checked_add(n)?,
        };
        // A caller's frame lies above: whatever the tables say, this leads outward.
        if end <= at {
            return None;
        }
        self.bp = match frame.base {
            Base::Kept => self.bp,
            Base::Saved(below) => word(end.checked_sub(below)?),
            Base::Unknown => None,
        };
        self.at = end - size_of::<usize>();
        Some(Step { frame, at, end })
    }
}

/// A word of the stack, read by the kernel, who minds where it ends.
fn word(at: usize) -> Option<usize> {
    let word = [unspin_sync::machine::AtomicU64::new(0)];
    // Relaxed: our own word.
    (mem::copy_into_words(at, &word) == size_of::<usize>()).then(|| word[0].load(Relaxed) as usize)
}
