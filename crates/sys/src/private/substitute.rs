//! Functions that an old libc lacks: gettid(2) before glibc 2.30, and those of stat(2), which were in the library that is linked
//! into each program before glibc 2.33.

use crate::{Errno, process, raw};
use core::ffi::{c_char, c_int};

/// The function of this name that this library has itself.
pub(super) fn of(name: &core::ffi::CStr) -> Option<usize> {
    let function = match name.to_bytes() {
        b"gettid" => gettid as *const (),
        b"stat64" => stat as *const (),
        b"lstat64" => lstat as *const (),
        b"fstat64" => fstat as *const (),
        _ => return None,
    };
    Some(function as usize)
}

extern "C" fn gettid() -> c_int {
    process::tid() as c_int
}

unsafe extern "C" fn stat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { raw::call(libc::SYS_stat, [path as usize, to as usize]) })
}

unsafe extern "C" fn lstat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { raw::call(libc::SYS_lstat, [path as usize, to as usize]) })
}

unsafe extern "C" fn fstat(file: c_int, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise.
    answer(unsafe { raw::call(libc::SYS_fstat, [file as usize, to as usize]) })
}

fn answer(result: Result<usize, Errno>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(error) => {
            // SAFETY: libc returns the address of the calling thread's own errno.
            unsafe { *libc::__errno_location() = error.0 };
            -1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{transmute, zeroed};
    use std::ffi::CStr;

    type Stat = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
    type FileStat = unsafe extern "C" fn(c_int, *mut libc::stat) -> c_int;

    /// Result, error, and what tells files apart.
    fn about(call: impl FnOnce(*mut libc::stat) -> c_int) -> (c_int, Option<i32>, [u64; 4]) {
        // SAFETY: a zeroed stat is a valid one.
        let mut stat: libc::stat = unsafe { zeroed() };
        let code = call(&mut stat);
        let error = (code != 0).then(|| std::io::Error::last_os_error().raw_os_error()).flatten();
        (code, error, [stat.st_ino, stat.st_dev, stat.st_mode.into(), stat.st_size as u64])
    }

    #[test]
    fn each_answers_as_libcs() {
        for (name, libcs) in [(c"stat64", libc::stat as Stat), (c"lstat64", libc::lstat as Stat)] {
            // SAFETY: the type of the function.
            let ours = unsafe { transmute::<usize, Stat>(of(name).unwrap()) };
            for path in [c"/proc/self", c"/proc/self/exe", c"/proc/none", c""] {
                let ask = |function: Stat, path: &CStr| {
                    // SAFETY: a C string, and a live stat.
                    about(|stat| unsafe { function(path.as_ptr(), stat) })
                };
                assert_eq!(ask(ours, path), ask(libcs, path), "{name:?} {path:?}");
            }
        }
        // SAFETY: the type of the function.
        let ours = unsafe { transmute::<usize, FileStat>(of(c"fstat64").unwrap()) };
        for file in [0, 2, -1] {
            // SAFETY: a live stat.
            let one = about(|stat| unsafe { ours(file, stat) });
            // SAFETY: as above.
            let other = about(|stat| unsafe { libc::fstat(file, stat) });
            assert_eq!(one, other, "{file}");
        }
        // SAFETY: the type of the function, which takes no arguments.
        let ours = unsafe { transmute::<usize, extern "C" fn() -> c_int>(of(c"gettid").unwrap()) };
        // SAFETY: no arguments.
        assert_eq!(ours(), unsafe { libc::gettid() });
        assert_eq!(of(c"close"), None);
    }
}
