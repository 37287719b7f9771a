//! The `syscall` instruction.
//!
//! ABI: number in `rax`, arguments in `rdi rsi rdx r10 r8 r9`, result in `rax`, `rcx` and `r11` clobbered;
//! results in -4095..=-1 are negated error numbers (syscall(2), "Architecture calling conventions").

use crate::Errno;
use core::arch::asm;

/// Makes system call `number` with up to six arguments and returns the raw result register.
///
/// # Safety
/// The caller satisfies all requirements of the system call on its arguments. Pointers among them must be valid for
/// what the kernel does with them.
#[inline(always)]
pub unsafe fn syscall6(number: i64, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the instruction clobbers exactly what is declared here. The caller guarantees what the call itself does
    // to memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Converts a raw result register into a value or an [`Errno`].
#[inline(always)]
pub fn check(result: isize) -> Result<usize, Errno> {
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// [`syscall6`] with only the given arguments, and a checked result.
///
/// # Safety
/// As for [`syscall6`].
#[inline(always)]
pub unsafe fn call<const N: usize>(number: i64, args: [usize; N]) -> Result<usize, Errno> {
    let mut a = [0; 6];
    // Not `copy_from_slice`: without optimisation its checks are functions that cannot be unwound, and a handler may end
    // its thread here.
    let mut at = 0;
    while at < N {
        a[at] = args[at];
        at += 1;
    }
    // SAFETY: the caller guarantees what syscall6 requires.
    check(unsafe { syscall6(number, a) })
}
