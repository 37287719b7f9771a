//! Private names: calls of libc that a program cannot intercept.
//!
//! A program may define a function of its own under a name of libc, such as `close`. The linker exports that function
//! because libc has the name too, and every library that is loaded then calls the program's function. The preload library
//! must not: to the program its calls do not exist. [`private_names!`](crate::private_names) therefore gives a library
//! hidden definitions of the names that it and Rust's standard library call. Each jumps to libc's own function.
//!
//! The addresses are found without calling anything. The dynamic linker keeps a list of what is loaded (`_r_debug`), and
//! this module reads the symbol tables of libc itself. [`prepare`] finds all of them; a call that comes earlier finds
//! its own. The only names that it relies on are reserved for the implementation (C17, 7.1.3), so no program defines
//! them.

mod object;
mod substitute;

use crate::Errno;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use object::Object;

/// Where the address of a private name is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Source {
    /// In libc.
    Libc = 0,
    /// In the libraries that are preloaded behind the calling one, then in libc. For clocks: a preloaded library may give
    /// the program another clock, in which the program states its deadlines.
    Preloaded = 1,
}

/// A private name. Only [`private_names!`](crate::private_names) creates these.
#[derive(Debug)]
#[repr(C)]
pub struct PrivateName {
    /// The address to which the hidden definition jumps: at first of code that calls [`resolve`], or that does the work
    /// itself.
    address: AtomicUsize,
    name: *const c_char,
    source: Source,
}

// SAFETY: the name is a constant, and all of it but the address is never written.
unsafe impl Sync for PrivateName {}

impl PrivateName {
    fn find(&self, loaded: &Loaded) -> usize {
        // SAFETY: a C string; the macro wrote it.
        let name = unsafe { CStr::from_ptr(self.name) };
        let found = loaded.find(name, self.source).or_else(|| substitute::of(name));
        let found = found.unwrap_or(unavailable as *const () as usize);
        // Relaxed: only the address itself is published, and every lookup finds the same one.
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Finds the addresses of all private names of the calling library.
///
/// # Safety
/// `names` is the table that [`private_names!`](crate::private_names) made for this library.
pub unsafe fn prepare(names: &[PrivateName]) {
    let loaded = Loaded::now();
    for name in names {
        name.find(&loaded);
    }
}

/// Finds the address of one name: its hidden definition calls this when it is called before [`prepare`].
#[cold]
pub extern "C" fn resolve(name: &PrivateName) -> usize {
    name.find(&Loaded::now())
}

/// Whether a library behind the calling one, but libc, defines one of these functions: the next definition of the name is
/// not libc's. To be called while no thread can close a library.
pub fn is_defined_behind_this(names: &[&CStr]) -> bool {
    object::behind_this().filter(|object| !object.is_libc()).any(|object| object.defines_any(names))
}

/// Whether the program or a library defines one of these functions.
pub fn is_defined(names: &[&CStr]) -> bool {
    object::all().any(|object| object.defines_any(names))
}

/// The address of a function of libc. 0 if it has none of that name.
pub fn function_of_libc(name: &CStr) -> usize {
    Loaded::now().find(name, Source::Libc).unwrap_or(0)
}

/// Whether this is the address of libc's function of this name, in the version that a new program is linked with. Before glibc 2.34
/// libc has some functions twice: one that goes on to the other, which is in libpthread.
pub fn is_function_of_libc(name: &CStr, address: usize) -> bool {
    Loaded::now().libc.iter().flatten().any(|object| object.function(name.to_bytes()) == Some(address))
}

/// The address of the next definition of a function: in the first object behind the calling one that has it, as dlsym(3) finds it for
/// `RTLD_NEXT`. 0 if there is none. Calls nothing. To be called while no thread can close a library.
pub fn next_function(name: &CStr) -> usize {
    object::behind_this().find_map(|object| object.function(name.to_bytes())).unwrap_or(0)
}

/// The address of a function of the calling object. 0 if it has none of that name.
pub fn function_of_this(name: &CStr) -> usize {
    object::this().and_then(|object| object.function(name.to_bytes())).unwrap_or(0)
}

/// Whether the address lies in the code of the calling object.
pub fn is_in_this(address: usize) -> bool {
    object::this().is_some_and(|object| object.code().contains(&address))
}

/// Whether this is the `link_map` of libc, as dladdr1(3) gives it.
///
/// # Safety
/// It is null, or that of an object which stays loaded meanwhile.
pub unsafe fn is_libc(map: *const c_void) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Object::at(map) }.is_some_and(|object| object.is_libc())
}

/// Whether this is the `link_map` of an object behind the calling one in the order in which names are looked up, or of one
/// that was loaded after the start of the program.
pub fn is_behind_this(map: *const c_void) -> bool {
    !map.is_null() && !object::up_to_this().any(|object| object.map() == map)
}

/// Stands for a function that this libc does not have and for which there is no [`substitute`].
extern "C" fn unavailable() -> c_int {
    // SAFETY: libc returns the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = Errno::ENOSYS.0 };
    -1
}

/// The parts of libc: from glibc 2.34 on all is in the first.
const LIBC: [&[u8]; 3] = [b"libc.so.6", b"libpthread.so.0", b"libdl.so.2"];

impl Object {
    fn is_libc(&self) -> bool {
        self.soname().is_some_and(|name| LIBC.contains(&name))
    }
}

/// What is loaded, as far as it is asked for names.
struct Loaded {
    libc: [Option<Object>; LIBC.len()],
}

impl Loaded {
    fn now() -> Loaded {
        let of = |name: &[u8]| object::all().find(|object| object.soname() == Some(name));
        Loaded { libc: LIBC.map(of) }
    }

    fn find(&self, name: &CStr, source: Source) -> Option<usize> {
        let name = name.to_bytes();
        let preloaded = || object::preloaded_behind_this().find_map(|object| object.function(name));
        let libc = || self.libc.iter().flatten().find_map(|object| object.function(name));
        match source {
            Source::Libc => libc(),
            Source::Preloaded => preloaded().or_else(libc),
        }
    }
}

/// Defines private names in the library that is being built: hidden functions which jump to libc's, and a table of
/// them, [`PrivateName`]s, in the section `unspin_private`. To be used once in a library, and in no program.
///
/// The functions take integers and pointers only: what they are called with is preserved while an address is looked up,
/// but for floating-point registers.
///
/// `memory` needs no lookup: [`resolve`] may call these functions itself. Until [`prepare`] they are the string
/// instructions of the processor.
#[macro_export]
macro_rules! private_names {
    (libc { $($libc:ident)* } preloaded { $($preloaded:ident)* } memory { $($memory:ident)* }) => {
        core::arch::global_asm!(
            $($crate::private_names!(@lookup $libc "0"),)*
            $($crate::private_names!(@lookup $preloaded "1"),)*
            $($crate::private_names!(@memory $memory),)*
            ".pushsection .text.unspin_private,\"ax\",@progbits",
            // r11, which a call may change, has the address of the `PrivateName`.
            "unspin_private_first:",
            ".cfi_startproc",
            $crate::private_names!(@push "rdi"),
            $crate::private_names!(@push "rsi"),
            $crate::private_names!(@push "rdx"),
            $crate::private_names!(@push "rcx"),
            $crate::private_names!(@push "r8"),
            $crate::private_names!(@push "r9"),
            $crate::private_names!(@push "rax"),
            $crate::private_names!(@push "r10"),
            // The psABI requires a stack aligned to 16 bytes at a call; eight words and the return address are not.
            $crate::private_names!(@push "r11"),
            "mov rdi, r11",
            "call {resolve}",
            $crate::private_names!(@pop "r11"),
            "mov r11, rax",
            $crate::private_names!(@pop "r10"),
            $crate::private_names!(@pop "rax"),
            $crate::private_names!(@pop "r9"),
            $crate::private_names!(@pop "r8"),
            $crate::private_names!(@pop "rcx"),
            $crate::private_names!(@pop "rdx"),
            $crate::private_names!(@pop "rsi"),
            $crate::private_names!(@pop "rdi"),
            "jmp r11",
            ".cfi_endproc",
            ".popsection",
            resolve = sym $crate::private::resolve,
        );
    };
    (@push $register:literal) => { concat!("push ", $register, "\n.cfi_adjust_cfa_offset 8") };
    (@pop $register:literal) => { concat!("pop ", $register, "\n.cfi_adjust_cfa_offset -8") };
    (@lookup $name:ident $source:literal) => {
        $crate::private_names!(@define $name $source concat!(
            "lea r11, [rip + unspin_private_", stringify!($name), "]\n",
            "jmp unspin_private_first",
        ))
    };
    (@memory $name:ident) => { $crate::private_names!(@define $name "0" $crate::private_names!(@code $name)) };
    (@code memcpy) => { "mov rax, rdi\nmov rcx, rdx\nrep movsb\nret" };
    (@code memset) => { "mov r11, rdi\nmov eax, esi\nmov rcx, rdx\nrep stosb\nmov rax, r11\nret" };
    // Forwards, unless the destination begins inside the source.
    (@code memmove) => {
        concat!(
            "mov rax, rdi\nmov rcx, rdx\nmov r11, rdi\nsub r11, rsi\ncmp r11, rdx\njb 3f\nrep movsb\nret\n",
            "3: lea rdi, [rdi + rcx - 1]\nlea rsi, [rsi + rcx - 1]\nstd\nrep movsb\ncld\nret",
        )
    };
    (@code strlen) => { "xor eax, eax\nmov rcx, -1\nrepne scasb\nmov rax, -2\nsub rax, rcx\nret" };
    // memcmp, and bcmp, of which only zero or not is asked for. The comparison sets the flag of equality, also if there is
    // nothing to compare, since `xor` has set it.
    (@code $compare:ident) => {
        concat!(
            "mov rcx, rdx\nxor eax, eax\nxor edx, edx\nrepe cmpsb\nje 3f\n",
            "movzx eax, byte ptr [rdi - 1]\nmovzx edx, byte ptr [rsi - 1]\n",
            "3: sub eax, edx\nret",
        )
    };
    (@define $name:ident $source:literal $first:expr) => {
        concat!(
            ".pushsection .rodata.unspin_private,\"a\",@progbits\n",
            "2: .asciz \"", stringify!($name), "\"\n",
            ".popsection\n",
            ".pushsection .text.unspin_private,\"ax\",@progbits\n",
            ".balign 16\n",
            // Weak, as the standard library declares some of them, which must not differ.
            ".weak ", stringify!($name), "\n",
            ".hidden ", stringify!($name), "\n",
            ".type ", stringify!($name), ", @function\n",
            stringify!($name), ":\n",
            ".cfi_startproc\n",
            "jmp qword ptr [rip + unspin_private_", stringify!($name), "]\n",
            ".size ", stringify!($name), ", . - ", stringify!($name), "\n",
            "4:\n", $first, "\n",
            ".cfi_endproc\n",
            ".popsection\n",
            // PrivateName { address, name, source }
            ".pushsection unspin_private,\"aw\",@progbits\n",
            ".balign 8\n",
            "unspin_private_", stringify!($name), ": .quad 4b, 2b, ", $source, "\n",
            ".popsection",
        )
    };
}

#[cfg(test)]
mod tests;
