//! The one place that decides whether unspin's protocols run on the machine's atomics or on [loom]'s models.
//!
//! Every lock-free protocol in this workspace names its atomics, fences, cells and threads through this
//! crate and through nothing else. Compiled as usual the names are those of `core` and `std`; compiled with
//! `RUSTFLAGS="--cfg loom"` they are loom's, and the same source is explored under every interleaving and
//! every reordering that the C11 memory model permits. With `--cfg shuttle` they are [shuttle]'s, which tries random
//! schedules of more threads and knows no reordering.
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

    /// A compiler fence costs nothing on the machine; loom has no model of one, and needs none, because it
    /// never reorders what one modelled thread does to itself.
    #[cfg(any(loom, shuttle))]
    pub fn compiler_fence(_: Ordering) {}
}

/// The machine's own atomics in every build: for statics, which loom cannot make, and for words that the kernel reads.
/// A model does not follow them, so no protocol may rest on one.
pub mod machine {
    pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
}

/// Threads and their hints.
pub mod thread {
    #[cfg(loom)]
    pub use loom::thread::{JoinHandle, spawn, yield_now};
    #[cfg(shuttle)]
    pub use shuttle::thread::{JoinHandle, spawn, yield_now};
    #[cfg(not(any(loom, shuttle)))]
    pub use std::thread::{JoinHandle, spawn, yield_now};
}

/// What models of the system are made of: for code that takes the kernel's place under a checker.
#[cfg(any(loom, shuttle))]
pub mod modelled {
    #[cfg(loom)]
    pub use loom::lazy_static;
    #[cfg(loom)]
    pub use loom::sync::Mutex;
    #[cfg(loom)]
    pub use loom::thread::{Thread, current, park};
    #[cfg(shuttle)]
    pub use shuttle::lazy_static;
    #[cfg(shuttle)]
    pub use shuttle::sync::Mutex;
    #[cfg(shuttle)]
    pub use shuttle::thread::{Thread, current, park};
}

/// Spin-wait hints.
pub mod hint {
    #[cfg(not(any(loom, shuttle)))]
    pub use core::hint::spin_loop;
    /// Under loom a spinning thread must let the others run, or the model never ends.
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
