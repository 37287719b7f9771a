//! libc's `syscall()`, for programs that make system calls by number.
//!
//! The standard library inside this library uses it too, and so do allocators before anything is set up. So a call that
//! no hook concerns goes straight to the kernel, with no state, no allocation and no access to thread-local storage.

use crate::watch::Hook;
use crate::{creds, errno, msg, namespace, proc, sandbox, sem, shm, signal, waits};
use core::ffi::{c_int, c_long};
use unspin_sys::{Errno, entry_of_syscall, raw};

entry_of_syscall! {
    /// syscall(2). Variadic in C. The psABI passes up to six variadic words in the places of declared ones. What the
    /// caller left out is read from a register or the stack, and the kernel ignores it; libc's own function does the
    /// same.
    ///
    /// futex(2) may wait, so its hook also gets the call site, as from [`entry!`](unspin_sys::entry!).
    fn syscall = any;
    /// futex(2) may wait, so its hook also gets the call site.
    futex = futex;
}

unsafe extern "C-unwind" fn futex(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    sp: usize,
    bp: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    // SAFETY: the caller's promise; the registers are those at the entry of `syscall`.
    answer(unsafe {
        match waits::futex::is_watched(b as c_int) {
            true => waits::futex::wait(arguments, Hook::new(sp, bp)),
            false => raw::call(number, arguments),
        }
    })
}

/// Dispatches all calls but futex(2): the kernel makes the call, or the hook of the libc function with that name.
unsafe extern "C-unwind" fn any(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let ints = (a as c_int, b as c_int, c as c_int);
    // SAFETY: the call of this number requires what the caller promises.
    unsafe {
        match number {
            libc::SYS_semget => sem::semget(ints.0, ints.1, ints.2).into(),
            libc::SYS_semop => sem::semop(ints.0, b as _, c).into(),
            libc::SYS_semtimedop => sem::semtimedop(ints.0, b as _, c, d as _).into(),
            libc::SYS_semctl => sem::semctl(ints.0, ints.1, ints.2, d as _).into(),
            libc::SYS_msgget => msg::msgget(ints.0, ints.1).into(),
            libc::SYS_msgsnd => msg::msgsnd(ints.0, b as _, c, d as c_int).into(),
            libc::SYS_msgrcv => msg::msgrcv(ints.0, b as _, c, d as c_long, e as c_int) as c_long,
            libc::SYS_msgctl => msg::msgctl(ints.0, ints.1, c as _).into(),
            libc::SYS_shmget => shm::shmget(ints.0, b, ints.2).into(),
            libc::SYS_shmat => shm::shmat(ints.0, b as _, ints.2) as c_long,
            libc::SYS_shmdt => shm::shmdt(a as _).into(),
            libc::SYS_shmctl => shm::shmctl(ints.0, ints.1, c as _).into(),
            libc::SYS_open => {
                let fd = answer(raw::call(number, [a, b, c]));
                proc::answer_open(a as _, fd as c_int).into()
            }
            libc::SYS_openat | libc::SYS_openat2 => {
                let fd = answer(raw::call(number, [a, b, c, d]));
                proc::answer_open(b as _, fd as c_int).into()
            }
            libc::SYS_unshare => namespace::moving(ints.0, || answer(raw::call(number, [a]))),
            libc::SYS_setns => namespace::moving(ints.1, || answer(raw::call(number, [a, b]))),
            libc::SYS_clone if namespace::is_moved_child(ints.0) => {
                let child = answer(raw::call(number, [a, b, c, d, e]));
                if child == 0 {
                    namespace::child_begins(ints.0);
                }
                child
            }
            libc::SYS_clone3 => clone3(a, b),
            libc::SYS_rt_sigaction => answer(signal::rt_sigaction(ints.0, b as _, c as _, d)),
            libc::SYS_setuid
            | libc::SYS_setgid
            | libc::SYS_setreuid
            | libc::SYS_setregid
            | libc::SYS_setresuid
            | libc::SYS_setresgid
            | libc::SYS_setgroups
            | libc::SYS_capset => {
                let result = answer(raw::call(number, [a, b, c]));
                creds::forget_if_changed(result as c_int).into()
            }
            libc::SYS_seccomp => install_filter(number, [a, b, c, d, e, f]),
            libc::SYS_prctl if sandbox::is_filter(ints.0) => install_filter(number, [a, b, c, d, e, f]),
            _ => answer(raw::call(number, [a, b, c, d, e, f])),
        }
    }
}

/// clone3(2).
///
/// # Safety
/// As for the system call.
unsafe fn clone3(arguments: usize, size: usize) -> c_long {
    // SAFETY: the caller's promise.
    let child = answer(unsafe { raw::call(libc::SYS_clone3, [arguments, size]) });
    if child == 0 {
        // SAFETY: the kernel has read the arguments in the parent. The flags are the first of them; those that concern
        // namespaces are in their lower half.
        let flags = unsafe { (arguments as *const u64).read_unaligned() } as c_int;
        if namespace::is_moved_child(flags) {
            namespace::child_begins(flags);
        }
    }
    child
}

/// Makes a system call that installs a seccomp filter.
///
/// # Safety
/// As for the system call of this number.
#[cold]
unsafe fn install_filter(number: c_long, arguments: [usize; 6]) -> c_long {
    // SAFETY: the caller's promise.
    let call = || answer(unsafe { raw::call(number, arguments) });
    sandbox::closing(call, |&code| code < 0)
}

#[inline(always)]
fn answer(result: Result<usize, Errno>) -> c_long {
    match result {
        Ok(value) => value as c_long,
        Err(e) => {
            errno::set(e);
            -1
        }
    }
}

#[cfg(test)]
mod tests {
    /// In the test program `libc::syscall` is this crate's definition.
    #[test]
    fn follows_the_convention_of_libc() {
        // SAFETY: getpid takes nothing; close of a descriptor that cannot exist touches nothing.
        unsafe {
            assert_eq!(libc::syscall(libc::SYS_getpid), std::process::id() as i64);
            assert_eq!(libc::syscall(libc::SYS_close, -1), -1);
        }
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }
}
