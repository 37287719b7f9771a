//! Selects whether unspin's protocols run on the machine's atomics or on the models of [loom] or [shuttle].
//!
//! Every lock-free protocol in this workspace uses the atomics, fences, cells and threads of this crate and no others.
//! In a normal build these are the types of `core` and `std`. With `RUSTFLAGS="--cfg loom"` they are loom's, which
//! explores the same source under every interleaving and every reordering that the C11 memory model permits. With
//! `--cfg shuttle` they are shuttle's, which tries random schedules of more threads but does not simulate reordering.
//!
//! [loom]: https://docs.rs/loom
//! [shuttle]: https://docs.rs/shuttle
//!
//! ```
//! use unspin_sync::atomic::{AtomicU32, Ordering};
//!
//! let word = AtomicU32::new(1);
//! // Relaxed: one thread, nothing to order.
//! assert_eq!(word.swap(2, Ordering::Relaxed), 1);
//! ```
#![forbid(unsafe_code)]

/// Atomic integers, pointers and fences.
pub mod atomic {
    #[cfg(not(any(loom, shuttle)))]
    pub use core::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, compiler_fence, fence,
    };
    #[cfg(loom)]
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };

    #[cfg(shuttle)]
    pub use shuttle::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };

    /// On the machine a compiler fence costs nothing. Loom and shuttle have no model of one and need none, because they
    /// never reorder the operations of one modelled thread as that thread itself sees them.
    #[cfg(any(loom, shuttle))]
    pub fn compiler_fence(_: Ordering) {}
}

/// The machine's own atomics in every build: for statics, which loom cannot create, and for words that the kernel
/// reads. A model does not track them, so no protocol may depend on one.
pub mod machine {
    pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
}

/// Threads and yielding.
pub mod thread {
    #[cfg(loom)]
    pub use loom::thread::{Builder, JoinHandle, spawn, yield_now};
    #[cfg(shuttle)]
    pub use shuttle::thread::{Builder, JoinHandle, spawn, yield_now};
    #[cfg(not(any(loom, shuttle)))]
    pub use std::thread::{Builder, JoinHandle, spawn, yield_now};
}

/// Primitives of the checker, from which models of the system are built: for code that replaces the kernel under a
/// checker.
#[cfg(any(loom, shuttle))]
pub mod modelled {
    #[cfg(loom)]
    pub use loom::lazy_static;
    #[cfg(loom)]
    pub use loom::sync::Mutex;
    #[cfg(loom)]
    pub use loom::thread::{Thread, current, park};
    #[cfg(loom)]
    pub use loom::thread_local;
    #[cfg(shuttle)]
    pub use shuttle::lazy_static;
    #[cfg(shuttle)]
    pub use shuttle::sync::Mutex;
    #[cfg(shuttle)]
    pub use shuttle::thread::{Thread, current, park};
    #[cfg(shuttle)]
    pub use shuttle::thread_local;
}

/// Spin-wait hints.
pub mod hint {
    #[cfg(not(any(loom, shuttle)))]
    pub use core::hint::spin_loop;
    /// Under loom a spinning thread must yield to the others, or the model never ends.
    #[cfg(loom)]
    pub use loom::thread::yield_now as spin_loop;
    #[cfg(shuttle)]
    pub use shuttle::hint::spin_loop;
}

/// Reference counting that loom can follow.
pub mod sync {
    #[cfg(loom)]
    pub use loom::sync::Arc;
    #[cfg(shuttle)]
    pub use shuttle::sync::Arc;
    #[cfg(not(any(loom, shuttle)))]
    pub use std::sync::Arc;
}

/// Runs `body` under every interleaving when compiled for loom, and once otherwise, so that each model is
/// also an ordinary test.
pub fn model<F: Fn() + Send + Sync + 'static>(body: F) {
    #[cfg(loom)]
    loom::model(body);
    #[cfg(not(loom))]
    body();
}
