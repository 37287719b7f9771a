//! Reads and writes a program's memory through a pointer that may be bad, without a system call.
//!
//! The kernel answers a bad pointer with `EFAULT`; a load in user space faults. The loads and stores of this module are
//! listed in an exception table, as the kernel lists its own (`arch/x86/mm/extable.c`). The process's handler for
//! SIGSEGV and SIGBUS calls [`fixup`] to learn where to continue; the interrupted function then returns `EFAULT`.
//! Without such a handler (see [`set_handled`]) the kernel does the copying.

use crate::ipc::{Sembuf, flag::SEM_UNDO};
use crate::{Errno, file_mapping, mem, page};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

static HANDLED: AtomicBool = AtomicBool::new(false);

/// Sets whether this process's handlers for SIGSEGV and SIGBUS call [`fixup`].
pub fn set_handled(handled: bool) {
    // Relaxed: the flag guards no other data; a reader that sees the old value takes the slower path.
    HANDLED.store(handled, Ordering::Relaxed);
}

/// From now on addresses are used as by any library, without a system call: a bad one is SIGSEGV instead of `EFAULT`.
/// For programs that call an engine directly, not in place of the kernel.
pub fn trust_addresses() {
    set_handled(true);
}

/// Copies `out.len()` bytes from address `from`, or returns `EFAULT`; then part may have been copied.
#[inline]
pub fn copy_in(from: usize, out: &mut [u8]) -> Result<(), Errno> {
    // SAFETY: a mutable slice, so the bytes are writable and exclusive.
    unsafe { load(from, out.as_mut_ptr(), out.len()) }
}

/// Copies `len` bytes from the program's address `from` to `to`, or returns `EFAULT`; then part may have been copied.
///
/// # Safety
/// `to` is writable for `len` bytes, and no other thread accesses them meanwhile.
#[inline]
pub unsafe fn load(from: usize, to: *mut u8, len: usize) -> Result<(), Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        // SAFETY: guaranteed by the caller.
        return mem::copy_in(from, unsafe { core::slice::from_raw_parts_mut(to, len) });
    }
    // SAFETY: the caller guarantees `to`; a fault at `from` becomes an error.
    unsafe { copy(from as *const u8, to, len) }
}

/// Copies `len` bytes at `from` to the program's address `to`, or returns `EFAULT`; then part may have been copied.
///
/// # Safety
/// `from` is readable for `len` bytes, which no thread writes meanwhile, and the program wants the bytes at `to`.
#[inline]
pub unsafe fn store(from: *const u8, to: usize, len: usize) -> Result<(), Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        // SAFETY: guaranteed by the caller.
        return mem::copy_out(unsafe { core::slice::from_raw_parts(from, len) }, to);
    }
    // SAFETY: the caller guarantees `from`; a fault at `to` becomes an error.
    unsafe { copy(from, to as *mut u8, len) }
}

/// Copies `bytes` to the program's address `to`, or returns `EFAULT`; then part may have been copied.
///
/// # Safety
/// The program wants the bytes at `to`.
pub unsafe fn copy_out(bytes: &[u8], to: usize) -> Result<(), Errno> {
    // SAFETY: the bytes are live; the caller guarantees `to`.
    unsafe { store(bytes.as_ptr(), to, bytes.len()) }
}

/// From this length on `rep movsb` is faster than copying 16 bytes at a time.
const LONG: usize = 512;

/// Copies, and returns `EFAULT` if either side faults.
///
/// A length that is not a multiple of 16 ends with the last 16 bytes, some of which are copied a second time; a length
/// below 16 is copied as two words that overlap. `rep movsb` takes as long for one byte as these for a hundred.
///
/// # Safety
/// The process handles faults by [`fixup`]. Where the two ranges are mapped, no other thread writes them meanwhile.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) -> Result<(), Errno> {
    let mut left = len;
    // SAFETY: writes exactly `len` bytes at `to`, which the caller guarantees: each access lies inside the ranges, as the
    // comparison before it says. The instructions are in the table, so a fault continues at 9 with a count of missing
    // bytes in rcx, which is not 0: rcx becomes 0 after the last access.
    unsafe {
        asm!(
            "cmp rcx, 16",
            "jb 6f",
            "cmp rcx, {long}",
            "jae 8f",
            "5: cmp rcx, 16",
            "jbe 7f",
            "21: movups {chunk}, [rsi]",
            "22: movups [rdi], {chunk}",
            "add rsi, 16",
            "add rdi, 16",
            "sub rcx, 16",
            "jmp 5b",
            "7:",
            "23: movups {chunk}, [rsi + rcx - 16]",
            "24: movups [rdi + rcx - 16], {chunk}",
            "xor ecx, ecx",
            "jmp 9f",
            "6: cmp rcx, 8",
            "jb 6f",
            "25: mov {first}, [rsi]",
            "26: mov {last}, [rsi + rcx - 8]",
            "27: mov [rdi], {first}",
            "28: mov [rdi + rcx - 8], {last}",
            "xor ecx, ecx",
            "jmp 9f",
            "6: cmp rcx, 4",
            "jb 8f",
            "31: mov {first:e}, [rsi]",
            "32: mov {last:e}, [rsi + rcx - 4]",
            "33: mov [rdi], {first:e}",
            "34: mov [rdi + rcx - 4], {last:e}",
            "xor ecx, ecx",
            "jmp 9f",
            "8: rep movsb",
            "9:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 21b - ., 9b - .",
            ".long 22b - ., 9b - .",
            ".long 23b - ., 9b - .",
            ".long 24b - ., 9b - .",
            ".long 25b - ., 9b - .",
            ".long 26b - ., 9b - .",
            ".long 27b - ., 9b - .",
            ".long 28b - ., 9b - .",
            ".long 31b - ., 9b - .",
            ".long 32b - ., 9b - .",
            ".long 33b - ., 9b - .",
            ".long 34b - ., 9b - .",
            ".long 8b - ., 9b - .",
            ".popsection",
            long = const LONG,
            chunk = out(xmm_reg) _,
            first = out(reg) _,
            last = out(reg) _,
            inout("rcx") left,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack),
        );
    }
    if left == 0 { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Loads the eight bytes at the program's address `from`, or returns `EFAULT`.
#[inline]
pub fn load_word(from: usize) -> Result<u64, Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        let mut bytes = [0; 8];
        return mem::copy_in(from, &mut bytes).map(|()| u64::from_ne_bytes(bytes));
    }
    let (mut word, mut good) = (0u64, 0u32);
    // SAFETY: reads only; a fault continues at 3, where `good` is still 0.
    unsafe {
        asm!(
            "2: mov {word}, [{from}]",
            "mov {good:e}, 1",
            "3:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 2b - ., 3b - .",
            ".popsection",
            from = in(reg) from,
            word = inout(reg) word,
            good = inout(reg) good,
            options(nostack, readonly, preserves_flags),
        );
    }
    if good == 1 { Ok(word) } else { Err(Errno::EFAULT) }
}

/// Stores eight bytes at the program's address `to`, or returns `EFAULT`.
///
/// # Safety
/// The program wants the bytes at `to`.
#[inline]
pub unsafe fn store_word(word: u64, to: usize) -> Result<(), Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        return mem::copy_out(&word.to_ne_bytes(), to);
    }
    let mut good: u32 = 0;
    // SAFETY: writes the eight bytes that the program wants written; a fault continues at 3, where `good` is still 0.
    unsafe {
        asm!(
            "2: mov [{to}], {word}",
            "mov {good:e}, 1",
            "3:",
            ".pushsection unspin_ex_table, \"aR\", @progbits",
            ".balign 4",
            ".long 2b - ., 3b - .",
            ".popsection",
            to = in(reg) to,
            word = in(reg) word,
            good = inout(reg) good,
            options(nostack, preserves_flags),
        );
    }
    if good == 1 { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Checks that `len` bytes at the program's address `from` can be read; otherwise `EFAULT`.
pub fn probe(from: usize, len: usize) -> Result<(), Errno> {
    let mut byte = [0u8];
    let last = len.checked_sub(1).map(|n| from.wrapping_add(n));
    let pages = (0..len).step_by(page::BYTES).map(|n| from.wrapping_add(n));
    pages.chain(last).try_for_each(|at| copy_in(at, &mut byte))
}

/// Loads the operation at `from`. If it cannot be loaded, or only by a system call, the result has `SEM_UNDO` set. So a
/// caller that leaves `SEM_UNDO` to [`load_sembuf`] needs one test for all three cases.
///
/// Three loads, because programs store three fields: a load that is wider than the store before it must wait until the
/// store has reached the cache (no store forwarding).
#[inline(always)]
pub fn load_plain_sembuf(from: usize) -> Sembuf {
    let mut flags = SEM_UNDO as u32;
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        return Sembuf { sem_num: 0, sem_op: 0, sem_flg: flags as i16 };
    }
    let (num, op): (u32, u32);
    // SAFETY: reads only; a fault at any load continues at 5, where `flags` is still SEM_UNDO, and the others have
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

/// Loads the operation at `from`, or returns `EFAULT`.
#[inline]
pub fn load_sembuf(from: usize) -> Result<Sembuf, Errno> {
    // Relaxed: see set_handled.
    if !HANDLED.load(Ordering::Relaxed) {
        let mut bytes = [0u8; 6];
        mem::copy_in(from, &mut bytes)?;
        let [num, op, flags] = [0, 2, 4].map(|at| [bytes[at], bytes[at + 1]]);
        return Ok(Sembuf {
            sem_num: u16::from_ne_bytes(num),
            sem_op: i16::from_ne_bytes(op),
            sem_flg: i16::from_ne_bytes(flags),
        });
    }
    let (num, op, flags): (u32, u32, u32);
    let mut missing = 1u32;
    // SAFETY: reads only; a fault at any load continues at 5, where `missing` is still 1, and the others have whatever
    // their registers held.
    unsafe {
        asm!(
            "2: movzx {num:e}, word ptr [{from}]",
            "3: movzx {op:e}, word ptr [{from} + 2]",
            "4: movzx {flags:e}, word ptr [{from} + 4]",
            "mov {missing:e}, 0",
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
            flags = out(reg) flags,
            missing = inout(reg) missing,
            options(nostack, readonly, preserves_flags),
        );
    }
    let op = Sembuf { sem_num: num as u16, sem_op: op as i16, sem_flg: flags as i16 };
    if missing == 0 { Ok(op) } else { Err(Errno::EFAULT) }
}

// An object file that does not use the table still needs the section, or the linker defines no bounds for it. The
// bounds are hidden, so that a shared library uses its own table and does not export their names.
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

/// Where to continue after a fault of the instruction at `ip`; `None` if the instruction is not in the table.
pub fn fixup(ip: usize) -> Option<usize> {
    let mut entry = &raw const TABLE_START;
    let stop = &raw const TABLE_STOP;
    while entry < stop {
        // SAFETY: the linker bounds the section by these symbols, and it holds only such pairs.
        let [fault, target] = unsafe { entry.read() };
        let at = entry as usize;
        if at.wrapping_add_signed(fault as isize) == ip {
            return Some((at + 4).wrapping_add_signed(target as isize));
        }
        entry = entry.wrapping_add(1);
    }
    None
}

/// Handles a fault at an address. Returns whether the instruction may be repeated.
type SigbusHandler = fn(usize) -> bool;

static BUS_ERROR: BusError = BusError { handler: OnceLock::new(), before: OnceLock::new() };

/// The data of this library's own SIGBUS handler.
struct BusError {
    handler: OnceLock<SigbusHandler>,
    before: OnceLock<libc::sigaction>,
}

/// Installs `handler` for bus errors (accesses beyond the end of a file) of this process. It is called before the
/// action that was installed until now. For processes in which no other component manages the handlers. Only the first
/// `handler` is installed.
pub fn install_sigbus_handler(handler: SigbusHandler) -> Result<(), Errno> {
    if BUS_ERROR.handler.set(handler).is_err() {
        return Ok(());
    }
    install_bus_error(current_bus_action()?)
}

/// Lets this process survive that the file of a [`FileMapping`](crate::file_mapping::FileMapping) shrinks. For processes
/// in which no other component manages the handlers. A process that ignores SIGBUS goes on to ignore it, as do the
/// programs that it executes.
pub fn survive_shrinking() -> Result<(), Errno> {
    let before = current_bus_action()?;
    if before.sa_sigaction == libc::SIG_IGN { Ok(()) } else { install_bus_error(before) }
}

fn current_bus_action() -> Result<libc::sigaction, Errno> {
    // SAFETY: a zeroed action is valid, and live.
    unsafe {
        let mut current: libc::sigaction = core::mem::zeroed();
        match libc::sigaction(libc::SIGBUS, core::ptr::null(), &mut current) {
            0 => Ok(current),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Installs this library's handler in place of the action `before`, unless it is installed.
fn install_bus_error(before: libc::sigaction) -> Result<(), Errno> {
    // Set before the handler is installed, because the handler reads it.
    if BUS_ERROR.before.set(before).is_err() {
        return Ok(());
    }
    // SAFETY: a zeroed action is valid; the handler has the signature for SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        match libc::sigaction(libc::SIGBUS, &action, core::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(Errno::EINVAL),
        }
    }
}

extern "C" fn bus_error(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: SA_SIGINFO handlers get a siginfo; one that the kernel made for a fault has an address.
    let address = unsafe { if (*info).si_code > 0 { (*info).si_addr() as usize } else { 0 } };
    if BUS_ERROR.handler.get().is_some_and(|handler| handler(address)) || file_mapping::handle_sigbus(address)
    {
        return;
    }
    let before = BUS_ERROR.before.get();
    match before.map_or(libc::SIG_DFL, |action| action.sa_sigaction) {
        libc::SIG_IGN if address == 0 => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: acts as if this handler had never been installed: the instruction is repeated and gets the
            // default action; a signal that a process sent is sent again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if address == 0 {
                    libc::raise(signal);
                }
            }
        }
        handler => {
            // SAFETY: the handler that was installed before. One without SA_SIGINFO uses only the first argument and
            // ignores the others, which the kernel passes as well.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { core::mem::transmute(handler) };
            handler(signal, info, context);
        }
    }
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
        // SAFETY: installs a handler that continues after the loads of this module.
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
        assert_eq!((load_word(64), probe(64, 1)), (Err(Errno::EFAULT), Err(Errno::EFAULT)));
        // SAFETY: `out` is live, and nothing is mapped in the first page.
        unsafe {
            assert_eq!(store_word(1, 64), Err(Errno::EFAULT));
            for len in [1, 15, 16, 600] {
                let mut long = [7u8; 600];
                assert_eq!(load(64, long.as_mut_ptr(), len), Err(Errno::EFAULT), "{len}");
                assert_eq!(store(long.as_ptr(), 64, len), Err(Errno::EFAULT), "{len}");
            }
            assert_eq!((load(64, out.as_mut_ptr(), 0), probe(64, 0)), (Ok(()), Ok(())));
        }
        copies_all_lengths();
        faults_at_the_end_of_a_page();
        let source = [1u8, 2, 3, 4, 5, 6];
        copy_in(source.as_ptr() as usize, &mut out[..6]).unwrap();
        assert_eq!(out[..6], source);
        let op = Sembuf { sem_num: 0x0201, sem_op: 0x0403, sem_flg: 0x0605 };
        assert_eq!(load_sembuf(source.as_ptr() as usize), Ok(op));
        assert_eq!(load_plain_sembuf(source.as_ptr() as usize), op);
        set_handled(false);
        assert_eq!(load_sembuf(source.as_ptr() as usize), Ok(op));
        assert_eq!(i32::from(load_plain_sembuf(source.as_ptr() as usize).sem_flg), SEM_UNDO);
        copies_all_lengths();
    }

    /// Each load and each store of a copy faults once, because the range ends this many bytes behind a readable page.
    fn faults_at_the_end_of_a_page() {
        let (mut there, from) = ([0u8; 600], [7u8; 600]);
        // SAFETY: fresh memory, the second page of which is not accessible; live arrays of that length and more.
        unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let pages = libc::mmap(core::ptr::null_mut(), 2 * page::BYTES, access, kind, -1, 0);
            let end = pages as usize + page::BYTES;
            assert_eq!(libc::mprotect(end as *mut libc::c_void, page::BYTES, libc::PROT_NONE), 0);
            for len in (1..70).chain([511, 512, 513]) {
                for missing in 1..=len {
                    let at = end - (len - missing);
                    assert_eq!(load(at, there.as_mut_ptr(), len), Err(Errno::EFAULT), "{len} {missing}");
                    assert_eq!(store(from.as_ptr(), at, len), Err(Errno::EFAULT), "{len} {missing}");
                }
                assert_eq!(store(from.as_ptr(), end - len, len), Ok(()));
                assert_eq!(load(end - len, there.as_mut_ptr(), len), Ok(()));
            }
            libc::munmap(pages, 2 * page::BYTES);
        }
    }

    fn copies_all_lengths() {
        let source: Vec<u8> = (0..5_000u32).map(|n| (n * 7) as u8).collect();
        let mut word = 0u64;
        for len in (0..70).chain([511, 512, 513, 4_999]) {
            let (mut there, mut back) = ([0u8; 5_000], [0u8; 5_000]);
            // SAFETY: live arrays of that length and more.
            unsafe {
                load(source.as_ptr() as usize + 1, there.as_mut_ptr(), len).unwrap();
                store(there.as_ptr(), back.as_mut_ptr() as usize, len).unwrap();
                store_word(len as u64, &raw mut word as usize).unwrap();
            }
            assert_eq!(back[..len], source[1..=len]);
            assert!(back[len..].iter().all(|&byte| byte == 0), "nothing behind the end");
            assert_eq!(load_word(&raw const word as usize), Ok(len as u64));
            probe(source.as_ptr() as usize, len).unwrap();
        }
    }
}
