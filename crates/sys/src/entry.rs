//! Who called: what a hook has to know and Rust has no word for.

/// Defines an exported C function that passes two more arguments on to one of ours: the stack pointer at its entry, at which
/// the return address lies, and the frame-base register of its caller. It leaves nothing on the stack, so ours returns, and is
/// unwound, as if it had been called itself.
///
/// ```text
/// entry! { fn pthread_mutex_lock(1) = lock; }
/// ```
///
/// The number is that of the C function's arguments, all of them integers or pointers, from 1 to 4 (psABI, "Parameter
/// Passing").
#[macro_export]
macro_rules! entry {
    ($($(#[$doc:meta])* fn $name:ident($arguments:tt) = $ours:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of this name in libc.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::entry!(@jump $arguments $ours)
        }
    )*};
    (@jump 1 $ours:path) => { $crate::entry!(@to "rsi", "rdx", $ours) };
    (@jump 2 $ours:path) => { $crate::entry!(@to "rdx", "rcx", $ours) };
    (@jump 3 $ours:path) => { $crate::entry!(@to "rcx", "r8", $ours) };
    (@jump 4 $ours:path) => { $crate::entry!(@to "r8", "r9", $ours) };
    (@to $sp:literal, $bp:literal, $ours:path) => {
        core::arch::naked_asm!(
            concat!("mov ", $sp, ", rsp"),
            concat!("mov ", $bp, ", rbp"),
            "jmp {ours}",
            ours = sym $ours,
        )
    };
}
