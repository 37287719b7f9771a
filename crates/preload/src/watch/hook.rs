//! The hook that the program has called: its registers, and from them its callers.

use super::frames::{self, Frame};
use super::wrappers::{self, Caller};
use unspin_wire::Registers;

/// The registers of a hook that has not returned: its stack pointer at its entry, and the frame-base register at that
/// time.
#[derive(Clone, Copy)]
pub struct Hook {
    pub(super) sp: usize,
    bp: usize,
}

impl Hook {
    /// # Safety
    /// `sp` and `bp` are what `entry` passes to a hook. The hook does not pass this value on, and has not returned.
    #[inline(always)]
    pub unsafe fn new(sp: usize, bp: usize) -> Hook {
        Hook { sp, bp }
    }

    /// The address to which the hook returns.
    #[inline(always)]
    pub fn return_address(self) -> usize {
        // SAFETY: at the entry of a function the stack pointer points to the return address (psABI), and the hook has
        // not returned.
        unsafe { *(self.sp as *const usize) }
    }

    /// The return addresses of the callers of the hook's caller, innermost first, as far as unwind tables tell.
    pub fn callers(self) -> impl Iterator<Item = usize> {
        let first = Frame { address: self.return_address(), at: self.sp, bp: Some(self.bp) };
        core::iter::successors(frames::caller(first), |&frame| frames::caller(frame))
            .map(|frame| frame.address)
    }

    /// The caller: the first function, from the hook on, that is not a known [wrapper](wrappers).
    #[inline(always)]
    pub fn caller(self) -> Caller {
        // SAFETY: `new`'s promise.
        unsafe { wrappers::caller(self.sp, self.bp) }
    }

    /// The position of [`caller`](Self::caller) on the stack.
    pub fn call_position(self) -> wrappers::CallPosition {
        // SAFETY: `new`'s promise.
        unsafe { wrappers::outermost(self.sp, self.bp) }
    }

    /// The registers from which an unwinder starts.
    pub fn registers(self) -> Registers {
        Registers {
            ip: self.return_address() as u64,
            sp: (self.sp + size_of::<usize>()) as u64,
            bp: self.bp as u64,
        }
    }
}
