//! Who called: what a hook has to know and Rust has no word for.

/// Defines an exported C function that passes two more arguments on to one of ours: the stack pointer at its entry, at which
/// the return address lies, and the frame-base register of its caller. It leaves nothing on the stack, so ours returns, and is
/// unwound, as if it had been called itself.
///
/// ```text
/// entry! { fn pthread_mutex_lock(1) = lock; }
/// ```
///
/// The number is that of the C function's arguments, all of them integers or pointers, from 1 to 6 (psABI, "Parameter
/// Passing"). Of 5 and 6 not both registers are left: the frame then has a part of its own, which unwinders are told of.
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
            // The stack is aligned to 16 bytes where a function is called.
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

/// Defines libc's `syscall()`: `fn` gets the number and six words; `futex` gets, for futex(2), two more: the stack pointer at
/// the entry and the frame-base register, as by [`entry!`].
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
                // The seventh word, which the caller has put on the stack.
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
