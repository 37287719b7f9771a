//! The *next definition* of a name, after this library in the search order: libc's, or another preloaded library's.

use crate::lookup;
use core::ffi::CStr;
use unspin_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unspin_sys::{glibc, private};

/// A name and the address of its next definition. [`prepare`] looks it up, or its first use if that is earlier.
#[repr(C)]
pub struct Next {
    name: *const core::ffi::c_char,
    address: AtomicUsize,
}

// SAFETY: the name is a constant.
unsafe impl Sync for Next {}

impl Next {
    /// The next definition of `name`. Only the macro [`next`] creates these.
    pub const fn new(name: &'static CStr) -> Next {
        Next { name: name.as_ptr(), address: AtomicUsize::new(0) }
    }

    /// The address of the next definition, 0 if there is none.
    pub fn address(&self) -> usize {
        let known = self.known();
        if known != 0 { known } else { self.look_up() }
    }

    /// The address of the next definition if it was looked up already; else 0.
    pub fn known(&self) -> usize {
        // Relaxed: only the address itself is published, and every lookup finds the same one.
        self.address.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> usize {
        let found = if glibc::is_before(2, 34) { self.find_in_objects() } else { self.ask_linker() };
        // Relaxed: as in `known`.
        self.address.store(found, Ordering::Relaxed);
        found
    }

    fn ask_linker(&self) -> usize {
        // SAFETY: the name is a C string. The call is made from this library, and "next" is relative to its place in
        // the search order. The result is used here, so the call is not a tail call.
        unsafe { lookup::dlsym(libc::RTLD_NEXT, self.name) as usize }
    }

    /// Finds the definition without dlsym(3). Before glibc 2.34 its first call takes a key of thread-specific data, which a program can
    /// notice; and it takes the key by the hook, which would wait for that very call.
    fn find_in_objects(&self) -> usize {
        // Relaxed: a thread that does not see it looks in the same objects. What `prepare` has not found is not there. Later, a
        // library might be closed during the search.
        if IS_PREPARED.load(Ordering::Relaxed) {
            return 0;
        }
        // SAFETY: the name is a C string that is constant.
        private::next_function(unsafe { CStr::from_ptr(self.name) })
    }
}

/// Whether all names were looked up.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Converts a name that a macro has composed, with its null byte, to a C string.
pub const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the null byte is the last one, and the only one"),
    }
}

/// Defines statics of type [`Next`], in the section where [`prepare`] finds them.
macro_rules! next {
    ($(static $name:ident = $text:expr;)*) => {$(
        // `used`: otherwise the optimiser splits them up and keeps only the fields that are used.
        #[used]
        // SAFETY: the section holds values of this type only, and the size of each is a multiple of its alignment.
        #[unsafe(link_section = "unspin_next")]
        static $name: $crate::next::Next = $crate::next::Next::new($text);
    )*};
}
pub(crate) use next;

unsafe extern "C" {
    // The linker defines these for each section whose name is an identifier (ld(1), "Input Section Example").
    #[link_name = "__start_unspin_next"]
    static FIRST: Next;
    #[link_name = "__stop_unspin_next"]
    static END: Next;
}

/// Looks up all names. A lookup takes the dynamic linker's lock. That lock is also held while a library that is loaded
/// later is initialised. The lookups must be complete by then, as that library may wait for a thread that uses a hook
/// for the first time.
pub fn prepare() {
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end as usize - first as usize) / size_of::<Next>();
    // SAFETY: the linker defines where the section begins and ends; all of it consists of `Next` values.
    for next in unsafe { core::slice::from_raw_parts(first, count) } {
        next.address();
    }
    // Relaxed: see where it is read.
    IS_PREPARED.store(true, Ordering::Relaxed);
}

/// The return value by which a function of libc reports a failure.
pub trait Answer {
    /// The return value in case of failure.
    const FAILED: Self;
}

impl Answer for core::ffi::c_int {
    const FAILED: Self = -1;
}

impl Answer for isize {
    const FAILED: Self = -1;
}

impl<T> Answer for *mut T {
    const FAILED: Self = core::ptr::null_mut();
}

/// The next definition as a function of this type. If there is none the calling function fails with `ENOSYS`.
macro_rules! behind {
    ($next:expr, $type:ty) => {{
        let address = $next.address();
        if address == 0 {
            $crate::errno::set(unspin_sys::Errno::ENOSYS);
            return $crate::next::Answer::FAILED;
        }
        // SAFETY: the next definition of the name has the type that libc's header gives it.
        unsafe { core::mem::transmute::<usize, $type>(address) }
    }};
}
pub(crate) use behind;

/// Defines hooks that call the next definition and pass its answer to a function. That function may use the hook's
/// arguments, and its result is the result of the hook. Variadic functions of C are declared with the argument that may
/// follow: a variadic argument is passed where a declared one would be, and the next definition ignores it where none
/// is expected.
///
/// The hooks are `extern "C-unwind"` and have nothing to drop while the next definition runs. So a thread may be
/// cancelled inside (open(2) is a cancellation point): glibc then unwinds through them.
macro_rules! forward {
    ($after:expr => $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of this name in libc.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $answer {
            $crate::next::next! { static NEXT = $crate::next::c_name(concat!(stringify!($name), "\0")); }
            let next = $crate::next::behind!(NEXT, unsafe extern "C-unwind" fn($($type),*) -> $answer);
            // SAFETY: the next definition requires what the caller promises.
            let answer = unsafe { next($($arg),*) };
            $after(answer)
        }
    )*};
}
pub(crate) use forward;

/// Defines functions that call the next definition of a name, in a module `real`. If there is none they fail with `ENOSYS`
/// in errno.
macro_rules! define_next {
    ($($(#[$doc:meta])* fn $ours:ident = $name:ident($($arg:ident: $type:ty),* $(,)?) -> $answer:ty;)*) => {
        /// libc's own functions behind the hooks.
        mod real {
            use super::*;

            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// As for the function in libc.
                #[inline(always)]
                pub unsafe fn $ours($($arg: $type),*) -> $answer {
                    $crate::next::next! { static NEXT = $crate::next::c_name(concat!(stringify!($name), "\0")); }
                    let next = $crate::next::behind!(NEXT, unsafe extern "C-unwind" fn($($type),*) -> $answer);
                    // SAFETY: the next definition requires what the caller promises.
                    unsafe { next($($arg),*) }
                }
            )*
        }
    };
}
pub(crate) use define_next;

/// Defines functions that call the next definition of a name, in a module `real`: those that return an error number. If
/// there is no next definition they return `ENOSYS`.
macro_rules! define_next_codes {
    ($($(#[$doc:meta])* fn $ours:ident = $name:ident($($arg:ident: $type:ty),* $(,)?);)*) => {
        /// libc's own functions behind the hooks.
        mod real {
            use super::*;

            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// As for the function in libc.
                #[inline(always)]
                pub unsafe fn $ours($($arg: $type),*) -> core::ffi::c_int {
                    $crate::next::next! { static NEXT = $crate::next::c_name(concat!(stringify!($name), "\0")); }
                    type Function = unsafe extern "C-unwind" fn($($type),*) -> core::ffi::c_int;

                    #[cold]
                    #[inline(never)]
                    unsafe extern "C-unwind" fn first($($arg: $type),*) -> core::ffi::c_int {
                        match NEXT.address() {
                            0 => libc::ENOSYS,
                            // SAFETY: as below.
                            address => unsafe { core::mem::transmute::<usize, Function>(address)($($arg),*) },
                        }
                    }

                    // SAFETY: 1. the next definition of the name has the type that libc's header gives it; 2. it
                    // requires what the caller promises.
                    unsafe {
                        match NEXT.known() {
                            0 => first($($arg),*),
                            address => core::mem::transmute::<usize, Function>(address)($($arg),*),
                        }
                    }
                }
            )*
        }
    };
}
pub(crate) use define_next_codes;

#[cfg(test)]
mod tests {
    use super::*;

    next! {
        static ONE = c"getpid";
        static NONE = c"unspin_no_such_function";
    }

    #[test]
    fn both_ways_find_the_same_definitions() {
        let (first, end) = (&raw const FIRST, &raw const END);
        // SAFETY: as in `prepare`.
        let all = unsafe { core::slice::from_raw_parts(first, end.offset_from_unsigned(first)) };
        for next in all {
            // SAFETY: a C string that is constant.
            let name = unsafe { CStr::from_ptr(next.name) };
            assert_eq!(private::next_function(name), next.ask_linker(), "{name:?}");
        }
        prepare();
        assert!(all.iter().all(|next| next.find_in_objects() == 0), "a library might be closed meanwhile");
    }

    #[test]
    fn every_name_is_looked_up() {
        prepare();
        // Relaxed (both): one thread.
        assert_ne!(ONE.address.load(Ordering::Relaxed), 0);
        assert_eq!(NONE.address.load(Ordering::Relaxed), 0);
        // SAFETY: as in `prepare`.
        let count = unsafe { (&raw const END).offset_from(&raw const FIRST) };
        assert!(count > 60, "{count} names");
    }
}
