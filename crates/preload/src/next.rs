//! The next definition of a name, behind this library's: libc's, or that of another preloaded library.

use core::ffi::CStr;
use unspin_sync::atomic::{AtomicUsize, Ordering};

/// One name whose next definition is looked up on first use.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    /// The next definition of `name`.
    pub const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// Its address, 0 if there is none. The first call takes the dynamic linker's lock.
    pub fn address(&self) -> usize {
        // Relaxed: the address is the whole message, and every lookup finds the same.
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 { known } else { self.look_up() }
    }

    #[cold]
    fn look_up(&self) -> usize {
        // SAFETY: the name is a C string. The call is made from this library, whose place in the search order
        // is what "next" refers to; its result is used here, so it is not a tail call.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        // Relaxed: as for the load.
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Defines hooks that call the next definition and hand its answer to a function, which returns it.
///
/// The functions are `extern "C-unwind"` and have nothing to drop, so that a thread may be cancelled inside
/// (msgsnd and msgrcv are cancellation points): glibc then unwinds through them.
macro_rules! forward {
    ($after:path: $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of this name in libc.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $answer {
            use $crate::next::Next;
            const NAME: &core::ffi::CStr =
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("an identifier holds no null byte"),
                };
            static NEXT: Next = Next::new(NAME);
            let address = NEXT.address();
            if address == 0 {
                $crate::errno::set(unspin_sys::Errno::ENOSYS);
                return -1isize as $answer;
            }
            // SAFETY: the next definition of the name has the type that libc's header gives it.
            let next = unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($type),*) -> $answer>(address)
            };
            // SAFETY: the caller's promise is the one that the next definition wants.
            $after(unsafe { next($($arg),*) })
        }
    )*};
}
pub(crate) use forward;
