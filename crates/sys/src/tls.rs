//! Thread-local words in the *initial-exec* model.
//!
//! In a shared library `thread_local!` compiles to a call of `__tls_get_addr`. That is a third of the cost of an
//! uncontended `semop`, and stable Rust cannot select another model. So the block is declared in assembly and accessed
//! by the two instructions of the initial-exec model (Drepper, "ELF Handling For Thread-Local Storage", 4.2). A library
//! that is loaded with the program, as a preload library is, always has room for it.
//!
//! The words are zero in a new thread, and they are *copied* by `fork`, like all memory of the forking thread.

use core::arch::{asm, global_asm};
use core::cell::Cell;

global_asm!(
    ".pushsection .tbss.unspin_tls_words,\"awT\",@nobits",
    ".balign 64",
    ".globl unspin_tls_words",
    ".hidden unspin_tls_words",
    ".type unspin_tls_words, @tls_object",
    ".size unspin_tls_words, 128",
    "unspin_tls_words:",
    ".zero 128",
    ".popsection",
);

/// The owner of each word.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Word {
    /// The System V engine's state of this thread.
    Sysv = 0,
    /// The meter's table of this thread.
    Meter = 1,
    /// The preload library: flags against re-entry.
    Preload = 2,
    /// An RCU reader outside the System V engine.
    Rcu = 3,
    /// The thread's id; see [`crate::tid`].
    Tid = 4,
    /// The priority-inheriting locks: how many of them this thread holds.
    Locks = 5,
    /// The preload library: the engine that serves this thread, if it is not the process's.
    Engine = 6,
    /// The thread's cancellation state and type.
    Cancel = 7,
    /// The preload library: what this thread has learnt about its waits.
    Waits = 8,
    /// The preload library: how many of the program's signal handlers this thread has run.
    Handlers = 9,
    /// The read-write locks: where this thread publishes those that it holds for reading.
    Readers = 10,
    /// The read-write locks: how many this thread holds for reading, and has not published.
    Holds = 11,
}

/// The calling thread's word.
#[inline(always)]
pub fn word<'thread>(which: Word) -> &'thread Cell<usize> {
    let base: usize;
    // SAFETY: loads the block's offset from the global offset table and adds the thread pointer, which is stored at
    // %fs:0 (psABI, "Thread-Local Storage"). Reads memory that never changes after loading.
    unsafe {
        asm!(
            "mov {base}, qword ptr [rip + unspin_tls_words@GOTTPOFF]",
            "add {base}, qword ptr fs:[0]",
            base = out(reg) base,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: 1. the block is 16 words, and every `Word` is below 16; 2. it lives as long as the thread; 3. a
    // `Cell` is not `Sync`, so the reference stays in the thread.
    unsafe { &*(base as *const Cell<usize>).add(which as usize) }
}

/// The value of the calling thread's word, in two instructions. `WHICH` is a [`Word`].
#[inline(always)]
pub fn value<const WHICH: usize>() -> usize {
    const { assert!(WHICH < 16, "the block has 16 words") };
    let (offset, value): (usize, usize);
    // SAFETY: the block's offset from the thread pointer, as in `word`: a constant once the library is loaded, so the compiler may
    // load it once for several words.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + unspin_tls_words@GOTTPOFF]",
            offset = out(reg) offset,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    // SAFETY: a load of one of the block's 16 words. The compiler repeats it after every write to memory, because the assembly is
    // declared to read memory.
    unsafe {
        asm!(
            "mov {value}, qword ptr fs:[{offset} + {at}]",
            offset = in(reg) offset,
            value = out(reg) value,
            at = const WHICH * size_of::<usize>(),
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_per_thread_and_start_at_zero() {
        word(Word::Preload).set(7);
        let other = std::thread::spawn(|| word(Word::Preload).get()).join().unwrap();
        assert_eq!((word(Word::Preload).get(), other), (7, 0));
        assert_eq!((value::<{ Word::Preload as usize }>(), value::<{ Word::Rcu as usize }>()), (7, 0));
        assert_eq!(word(Word::Rcu).get(), 0);
    }
}
