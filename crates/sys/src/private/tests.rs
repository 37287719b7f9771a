use super::*;
use crate::process;
use core::ffi::c_void;

crate::private_names! { libc { getppid unspin_no_such_function } preloaded {} memory {} }

// The code that is called before libc's functions are found, under other names: this program uses libc's.
core::arch::global_asm!(
    private_names!(@define first_memcpy "0" private_names!(@code memcpy)),
    private_names!(@define first_memset "0" private_names!(@code memset)),
    private_names!(@define first_memmove "0" private_names!(@code memmove)),
    private_names!(@define first_memcmp "0" private_names!(@code memcmp)),
    private_names!(@define first_strlen "0" private_names!(@code strlen)),
);

unsafe extern "C" {
    fn unspin_no_such_function() -> c_int;
    fn first_memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
    fn first_memset(to: *mut u8, byte: c_int, count: usize) -> *mut u8;
    fn first_memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
    fn first_memcmp(one: *const u8, other: *const u8, count: usize) -> c_int;
    fn first_strlen(text: *const c_char) -> usize;
    #[link_name = "unspin_private_getppid"]
    static GETPPID: PrivateName;
}

fn by_dlsym(name: &CStr) -> Option<usize> {
    // SAFETY: a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found as usize)
}

/// Functions with one version and with several, and some of which libc chooses the implementation at the start.
#[test]
fn functions_are_those_that_dlsym_finds() {
    let loaded = Loaded::now();
    for name in [c"close", c"realpath", c"pthread_getspecific", c"dlsym", c"memcpy", c"strlen", c"time"] {
        let found = loaded.find(name, Source::Libc);
        assert!(found.is_some(), "{name:?}");
        assert_eq!(found, by_dlsym(name), "{name:?}");
        assert_eq!(loaded.find(name, Source::Preloaded), found, "{name:?}: nothing is preloaded");
    }
    // A variable, and a name that no object defines.
    for name in [c"environ", c"unspin_no_such_function"] {
        assert_eq!(loaded.find(name, Source::Libc), None, "{name:?}");
    }
}

#[test]
fn only_libc_is_libc() {
    assert_eq!(Some(function_of_libc(c"close")), by_dlsym(c"close"));
    assert_eq!(function_of_libc(c"unspin_no_such_function"), 0);
    let close = function_of_libc(c"close");
    assert!(is_function_of_libc(c"close", close) && !is_function_of_libc(c"open", close));
    assert!(is_in_this(only_libc_is_libc as fn() as usize) && !is_in_this(function_of_libc(c"close")));
    let maps = || object::all().map(|object| object.map());
    // SAFETY: no thread of this program closes an object.
    let is_libc = |map| unsafe { is_libc(map) };
    assert!(maps().any(is_libc) && !maps().all(is_libc));
    assert!(!is_libc(core::ptr::null()) && !is_behind_this(core::ptr::null()));
    let mut maps = maps();
    assert!(!is_behind_this(maps.next().unwrap()), "the calling object is the program");
    assert!(maps.all(is_behind_this));
}

#[test]
fn function_is_found_when_it_is_called_and_when_all_are_prepared() {
    // SAFETY: no arguments.
    let parent = || unsafe { libc::getppid() } as u32;
    assert_eq!(parent(), process::parent());
    // Relaxed: written by this thread.
    // SAFETY: the macro has defined it.
    let address = || unsafe { GETPPID.address.load(Ordering::Relaxed) };
    assert_eq!(Some(address()), by_dlsym(c"getppid"));
    // SAFETY: one entry of the table of this program.
    unsafe { prepare(core::slice::from_ref(&GETPPID)) };
    assert_eq!((Some(address()), parent()), (by_dlsym(c"getppid"), process::parent()));
}

#[test]
fn function_that_libc_lacks_fails_with_enosys() {
    // SAFETY: no arguments.
    assert_eq!(unsafe { unspin_no_such_function() }, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
}

#[test]
fn first_memory_functions_work_as_those_of_libc() {
    let text = *b"0123456789";
    let at = |bytes: &mut [u8; 10], offset: usize| bytes.as_mut_ptr().wrapping_add(offset);
    for (to, from, count) in [(0, 3, 5), (3, 0, 5), (0, 0, 10), (5, 0, 5), (2, 7, 0)] {
        let (mut ours, mut right) = (text, text);
        right.copy_within(from..from + count, to);
        let (target, source) = (at(&mut ours, to), at(&mut ours, from));
        // SAFETY: both ranges are inside the array.
        assert_eq!(unsafe { first_memmove(target, source, count) }, target);
        assert_eq!(ours, right, "{count} bytes from {from} to {to}");
    }
    let mut copy = [0; 10];
    // SAFETY: within the arrays, which do not overlap.
    unsafe {
        assert_eq!(first_memcpy(at(&mut copy, 1), text.as_ptr(), 9), at(&mut copy, 1));
        assert_eq!(&copy, b"\x00\x3012345678");
        assert_eq!(first_memset(at(&mut copy, 2), 0x17A, 7), at(&mut copy, 2));
        assert_eq!(&copy, b"\x00\x30zzzzzzz8");
        assert_eq!((first_strlen(c"".as_ptr()), first_strlen(c"seven c".as_ptr())), (0, 7));
    }
    for (one, other) in [(b"ab", b"ab"), (b"ab", b"ac"), (b"ac", b"ab"), (b"\xFF_", b"\0_")] {
        // SAFETY: two bytes each.
        let (ours, right) = unsafe {
            let (one, other) = (one.as_ptr(), other.as_ptr());
            (first_memcmp(one, other, 2), libc::memcmp(one as *const c_void, other as *const c_void, 2))
        };
        assert_eq!(ours.signum(), right.signum(), "{one:?} and {other:?}");
        // SAFETY: nothing is read.
        assert_eq!(unsafe { first_memcmp(one.as_ptr(), other.as_ptr(), 0) }, 0);
    }
}
