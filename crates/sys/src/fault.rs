//! Reading a program's memory by a pointer that may be bad, without a system call.
//!
//! The kernel answers a bad pointer with `EFAULT`; a load in user space faults. The loads of this module are
//! listed in an exception table, as the kernel lists its own (`arch/x86/mm/extable.c`): whoever owns the
//! process's SIGSEGV and SIGBUS handlers asks [`fixup`] where to go on, and the read answers `EFAULT`.
//! Without such a handler (see [`set_handled`]) the kernel is asked to do the reading.

use crate::ipc::{Sembuf, flag::SEM_UNDO};
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

/// Loads the operation at `from`, or answers one with `SEM_UNDO` set if it cannot be loaded, or not without a
/// system call: whoever leaves `SEM_UNDO` to [`load_sembuf`] has one test for all three.
///
/// Three loads, as a program stores three fields: a load wider than the store before it waits for the cache.
#[inline(always)]
pub fn load_plain_sembuf(from: usize) -> Sembuf {
    let mut flags = SEM_UNDO as u32;
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        return Sembuf { sem_num: 0, sem_op: 0, sem_flg: flags as i16 };
    }
    let (num, op): (u32, u32);
    // SAFETY: reads only; a fault at any load continues at 5, where `flags` still is SEM_UNDO, and the others are
    // whatever their registers held.
    unsafe {
        asm!(
            "2: movzx {num:e}, word ptr [{from}]",
            "3: movzx {op:e}, word ptr [{from} + 2]",
            "4: movzx {flags:e}, word ptr [{from} + 4]",
            "5:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 2b - ., 5b - .",
            ".long 3b - ., 5b - .",
            ".long 4b - ., 5b - .",
            ".popsection",
            from = in(reg) from,
            num = out(reg) num,
            op = out(reg) op,
            flags = inout(reg) flags,
            options(nostack, readonly, preserves_flags),
        );
    }
    Sembuf { sem_num: num as u16, sem_op: op as i16, sem_flg: flags as i16 }
}

/// Loads the operation at `from`, or says `EFAULT`.
#[inline]
pub fn load_sembuf(from: usize) -> Result<Sembuf, Errno> {
    let plain = load_plain_sembuf(from);
    if i32::from(plain.sem_flg) & SEM_UNDO == 0 {
        return Ok(plain);
    }
    let mut bytes = [0u8; 6];
    copy_in(from, &mut bytes)?;
    let [num, op, flags] = [0, 2, 4].map(|at| [bytes[at], bytes[at + 1]]);
    Ok(Sembuf {
        sem_num: u16::from_ne_bytes(num),
        sem_op: i16::from_ne_bytes(op),
        sem_flg: i16::from_ne_bytes(flags),
    })
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
        assert_eq!(load_sembuf(64), Err(Errno::EFAULT));
        assert_eq!(i32::from(load_plain_sembuf(64).sem_flg), SEM_UNDO);
        let source = [1u8, 2, 3, 4, 5, 6];
        copy_in(source.as_ptr() as usize, &mut out[..6]).unwrap();
        assert_eq!(out[..6], source);
        let op = Sembuf { sem_num: 0x0201, sem_op: 0x0403, sem_flg: 0x0605 };
        assert_eq!(load_sembuf(source.as_ptr() as usize), Ok(op));
        assert_eq!(load_plain_sembuf(source.as_ptr() as usize), op);
        set_handled(false);
        assert_eq!(load_sembuf(source.as_ptr() as usize), Ok(op));
        assert_eq!(i32::from(load_plain_sembuf(source.as_ptr() as usize).sem_flg), SEM_UNDO);
    }
}
