//! `membarrier(2)`: readers need no fence, because the writer makes the kernel issue one on every CPU.
//!
//! The *global expedited* command reaches the threads of every process that has registered for it, as a protocol across
//! processes needs. The private command reaches only one address space.

use crate::raw;

// <linux/membarrier.h>
const MEMBARRIER_CMD_GLOBAL_EXPEDITED: usize = 1 << 1;
const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: usize = 1 << 2;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: usize = 1 << 3;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

fn command(cmd: usize) -> bool {
    // SAFETY: membarrier takes no pointers.
    unsafe { raw::call(libc::SYS_membarrier, [cmd, 0, 0]) }.is_ok()
}

/// Registers this process (its address space) as a receiver of [`issue_global_expedited`] barriers. `false` if the kernel or
/// a seccomp filter refuses: then readers in this process must issue their own fences.
pub fn register_global_expedited() -> bool {
    command(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// A full memory barrier on every running thread of every registered process, and on the caller. `false` if it is
/// refused: then nothing is ordered.
pub fn issue_global_expedited() -> bool {
    command(MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}

/// Registers this process (its address space) for [`issue_private_expedited`]. `false` if the kernel or a seccomp filter
/// refuses.
pub fn register_private_expedited() -> bool {
    command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// A full memory barrier on every running thread of this process, and on the caller. `false` if it is refused: then nothing
/// is ordered.
pub fn issue_private_expedited() -> bool {
    command(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}
