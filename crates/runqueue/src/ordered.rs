//! Sequentially consistent accesses: of two threads of which each changes one word and then reads the other one, at
//! least one sees the other's change.
//!
//! Loom takes such accesses for acquire and release only, but follows sequentially consistent fences. In models a fence
//! after each change, and before each read, stands for what the access itself guarantees.

use unspin_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

#[cfg(not(loom))]
#[inline(always)]
fn fence_of_models() {}

#[cfg(loom)]
fn fence_of_models() {
    unspin_sync::atomic::fence(SeqCst);
}

/// Reads a word.
pub(crate) trait Load {
    type Value;

    /// A plain load on x86-64.
    fn load_seq_cst(&self) -> Self::Value;
}

/// Changes a word.
pub(crate) trait Store: Load {
    fn store_seq_cst(&self, value: Self::Value);
}

macro_rules! accesses {
    ($($word:ty: $value:ty;)*) => {$(
        impl Load for $word {
            type Value = $value;

            #[inline(always)]
            fn load_seq_cst(&self) -> $value {
                fence_of_models();
                self.load(SeqCst)
            }
        }

        impl Store for $word {
            #[inline(always)]
            fn store_seq_cst(&self, value: $value) {
                self.store(value, SeqCst);
                fence_of_models();
            }
        }
    )*};
}

accesses! {
    AtomicBool: bool;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
}

/// Sets bits; returns the word before.
pub(crate) fn set_bits(word: &AtomicU64, bits: u64) -> u64 {
    let before = word.fetch_or(bits, SeqCst);
    fence_of_models();
    before
}

/// Adds one; returns the number before.
pub(crate) fn increment(word: &AtomicUsize) -> usize {
    let before = word.fetch_add(1, SeqCst);
    fence_of_models();
    before
}

/// Subtracts one; returns the number before.
pub(crate) fn decrement(word: &AtomicUsize) -> usize {
    let before = word.fetch_sub(1, SeqCst);
    fence_of_models();
    before
}
