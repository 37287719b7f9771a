//! Hooks that know their caller's registers, which Rust cannot express.

/// Defines an exported C function that calls one of our functions with two additional arguments: the stack pointer at
/// its entry, where the return address lies, and the caller's frame-base register. It leaves nothing on the stack, so
/// our function returns, and is unwound, as if the program had called it directly.
///
/// ```text
/// entry! { fn pthread_mutex_lock(1) = lock; }
/// ```
///
/// The number in parentheses is the number of the C function's arguments, from 1 to 6, all integers or pointers (psABI,
/// "Parameter Passing"). With 5 or 6 arguments there are not enough registers for both; then the stub has its own stack
/// frame, which is described to unwinders.
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
    (@jump 5 $ours:path) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "mov r9, rsp",
            "push rbp",
            ".cfi_adjust_cfa_offset 8",
            "call {ours}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_endproc",
            ours = sym $ours,
        )
    };
    (@jump 6 $ours:path) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "mov rax, rsp",
            // The psABI requires a stack aligned to 16 bytes at a call.
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "push rbp",
            ".cfi_adjust_cfa_offset 8",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "call {ours}",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret",
            ".cfi_endproc",
            ours = sym $ours,
        )
    };
    (@to $sp:literal, $bp:literal, $ours:path) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            concat!("mov ", $sp, ", rsp"),
            concat!("mov ", $bp, ", rbp"),
            "jmp {ours}",
            ".cfi_endproc",
            ours = sym $ours,
        )
    };
}

/// Defines libc's `syscall()`. `fn` gets the number and six words. For futex(2), `futex` gets two more: the stack
/// pointer at the entry and the frame-base register, as with [`entry!`].
#[macro_export]
macro_rules! entry_of_syscall {
    ($(#[$doc:meta])* fn $name:ident = $any:path; $(#[$of_futex:meta])* futex = $futex:path;) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the system call of this number.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "cmp rdi, {number}",
                "je 2f",
                "jmp {any}",
                "2:",
                "mov rax, rsp",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                // The seventh argument, which the caller has put on the stack.
                "push qword ptr [rax + 8]",
                ".cfi_adjust_cfa_offset 8",
                "call {futex}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                number = const libc::SYS_futex,
                any = sym $any,
                futex = sym $futex,
            )
        }
    };
}

/// Defines functions that look at their first three arguments, and then become the function whose address the look returns:
/// with the same three arguments and the same return address, which is the fourth argument of the look.
#[macro_export]
macro_rules! entry_that_looks {
    ($($(#[$doc:meta])* fn $name:ident = $look:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of this name in libc.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                // With the third word the stack is aligned to 16 bytes at the call (psABI).
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "mov rcx, [rsp + 24]",
                "call {look}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp rax",
                ".cfi_endproc",
                look = sym $look,
            )
        }
    )*};
}
