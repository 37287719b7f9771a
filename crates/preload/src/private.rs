//! The functions of libc that this library, and Rust's standard library in it, calls: under names that are hidden in it, so
//! that a program's own function of the same name is never called.
//!
//! These names stay as they are, and a test of `tests/e2e` lists them (`undefined_names_are_reserved_or_of_the_allocator`):
//!
//! - names that begin with an underscore: reserved for the implementation (C17, 7.1.3; POSIX, 2.2.2), also those of the
//!   unwinder, of which a program that contains one wants all libraries to use that;
//! - `malloc`, `calloc`, `realloc`, `posix_memalign` and `free`: a program may replace them, together and with the same
//!   meaning (glibc's manual, "Replacing malloc"). libc itself then calls the program's, so this library does too. Its own
//!   allocations must come from there: memory that libc allocates for a caller is freed by the caller.
#![cfg(not(test))]

unspin_sys::private_names! {
    libc {
        abort close dl_iterate_phdr fclose fcntl fileno fstat64 ftruncate64 getauxval getcwd getenv gettid gnu_get_libc_version
        linkat lseek64 lstat64 mmap64 munmap pread64 pthread_getspecific pthread_key_delete pthread_self pthread_setcancelstate
        pthread_setspecific pthread_testcancel raise readlink realpath sigprocmask stat64 statx time write writev
    }
    preloaded { clock_gettime }
    memory { bcmp memcmp memcpy memmove memset strlen }
}

use unspin_sys::private::PrivateName;

unsafe extern "C" {
    // The linker defines these for each section whose name is an identifier (ld(1), "Input Section Example").
    #[link_name = "__start_unspin_private"]
    static FIRST: PrivateName;
    #[link_name = "__stop_unspin_private"]
    static END: PrivateName;
}

/// Finds all of them. Before that, each is found when it is called.
pub fn prepare() {
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end as usize - first as usize) / size_of::<PrivateName>();
    // SAFETY: 1. the linker defines where the section begins and ends; 2. it is the table of this library.
    unsafe { unspin_sys::private::prepare(core::slice::from_raw_parts(first, count)) }
}
