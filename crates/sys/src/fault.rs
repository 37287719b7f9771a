//! Reading a program's memory by a pointer that may be bad, without a system call.
//!
//! The kernel answers a bad pointer with `EFAULT`; a load in user space faults. The loads of this module are
//! listed in an exception table, as the kernel lists its own (`arch/x86/mm/extable.c`): whoever owns the
//! process's SIGSEGV and SIGBUS handlers asks [`fixup`] where to go on, and the read answers `EFAULT`.
//! Without such a handler (see [`set_handled`]) the kernel is asked to do the reading.

use crate::{Errno, mem};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicBool, Ordering};

static HANDLED: AtomicBool = AtomicBool::new(false);

/// Says whether this process's handlers for SIGSEGV and SIGBUS consult [`fixup`].
pub fn set_handled(handled: bool) {
    // Relaxed: the flag guards no other data; a reader that sees the old value takes the slower way.
    HANDLED.store(handled, Ordering::Relaxed);
}

/// Copies `out.len()` bytes from address `from`, or says `EFAULT`; part may have been copied then.
#[inline]
pub fn copy_in(from: usize, out: &mut [u8]) -> Result<(), Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        return mem::copy_in(from, out);
    }
    let mut left = out.len();
    // SAFETY: writes exactly the bytes of `out`; a fault while reading `from` continues behind the
    // instruction, with the count of what is missing in rcx, because the instruction is in the table.
    unsafe {
        asm!(
            "2: rep movsb",
            "3:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 2b - .",
            ".long 3b - .",
            ".popsection",
            inout("rcx") left,
            inout("rsi") from => _,
            inout("rdi") out.as_mut_ptr() => _,
            options(nostack, preserves_flags),
        );
    }
    if left == 0 { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Loads the eight bytes at `from`, or only its first six if `from + 6` ends its page: what one `sembuf`
/// needs in one instruction or two.
#[inline(always)]
pub fn load_six(from: usize) -> Result<u64, Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        return ask_for_six(from);
    }
    let (mut low, mut high): (u64, u64);
    let mut failed = 1u64;
    // SAFETY: reads only; a fault at either load continues at 4, where `failed` is still 1.
    unsafe {
        asm!(
            "2: mov {low:e}, dword ptr [{from}]",
            "3: movzx {high:e}, word ptr [{from} + 4]",
            "xor {failed:e}, {failed:e}",
            "4:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 2b - .",
            ".long 4b - .",
            ".long 3b - .",
            ".long 4b - .",
            ".popsection",
            from = in(reg) from,
            low = inout(reg) 0u64 => low,
            high = inout(reg) 0u64 => high,
            failed = inout(reg) failed,
            options(nostack, readonly),
        );
    }
    if failed == 0 { Ok(low | high << 32) } else { Err(Errno::EFAULT) }
}

#[cold]
fn ask_for_six(from: usize) -> Result<u64, Errno> {
    let mut bytes = [0u8; 8];
    mem::copy_in(from, &mut bytes[..6])?;
    Ok(u64::from_ne_bytes(bytes))
}

// An object without any use of the table still needs the section, or the linker knows no bounds for it.
// The bounds are hidden, so that a shared library keeps to its own table and exports no name of it.
global_asm!(
    ".pushsection unspin_ex_table, \"aR\", @progbits",
    ".popsection",
    ".hidden __start_unspin_ex_table",
    ".hidden __stop_unspin_ex_table",
);

unsafe extern "C" {
    #[link_name = "__start_unspin_ex_table"]
    static TABLE_START: [i32; 2];
    #[link_name = "__stop_unspin_ex_table"]
    static TABLE_STOP: [i32; 2];
}

/// Where to go on after a fault of the instruction at `ip`; `None` if it is not one of ours.
pub fn fixup(ip: usize) -> Option<usize> {
    let mut entry = &raw const TABLE_START;
    let stop = &raw const TABLE_STOP;
    while entry < stop {
        // SAFETY: the linker bounds the section by these symbols, and it holds pairs only.
        let [fault, target] = unsafe { entry.read() };
        let at = entry as usize;
        if at.wrapping_add_signed(fault as isize) == ip {
            return Some((at + 4).wrapping_add_signed(target as isize));
        }
        entry = entry.wrapping_add(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn on_fault(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: SA_SIGINFO handlers get a ucontext.
        unsafe {
            let ip = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize];
            match fixup(*ip as usize) {
                Some(target) => *ip = target as i64,
                None => libc::_exit(3),
            }
        }
    }

    #[test]
    fn faults_become_efault() {
        let mut out = [0u8; 16];
        assert_eq!(copy_in(64, &mut out), Err(Errno::EFAULT), "by the kernel");
        // SAFETY: installs a handler that continues behind the loads of this module.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &action, core::ptr::null_mut()), 0);
        }
        set_handled(true);
        assert_eq!(copy_in(64, &mut out), Err(Errno::EFAULT), "by the table");
        assert_eq!(load_six(64), Err(Errno::EFAULT));
        let source = [1u8, 2, 3, 4, 5, 6];
        copy_in(source.as_ptr() as usize, &mut out[..6]).unwrap();
        assert_eq!(out[..6], source);
        assert_eq!(load_six(source.as_ptr() as usize), Ok(0x0605_0403_0201));
        set_handled(false);
    }
}
