//! Read-write locks behind one contract, [`RawRwLock`]. [`RwLockKind`] has them all.

mod biased;
mod fair;
#[cfg(not(any(loom, shuttle)))]
mod host;
#[cfg(any(loom, shuttle))]
#[path = "host/model.rs"]
pub(crate) mod host;
mod kind;
#[cfg(all(test, loom))]
mod models;
mod node;
mod order;
mod phased;
mod raw;
mod reader;
mod revocation;
#[cfg(all(test, shuttle))]
mod schedules;
mod section;
mod slots;
mod word;
mod writer;

pub use biased::{BiasedReaders, RwBiased};
pub use fair::{FairPhases, RwFair};
#[cfg(not(any(loom, shuttle)))]
pub use host::{forgo_membarrier, use_membarrier};
pub use kind::{RwLockKind, RwLockVisitor, UnknownRwLockKind};
pub use order::{Order, Policy};
pub use phased::{FirstRead, Phased};
pub use raw::{RawRwLock, Recursion, Refused};
pub use reader::holds;
pub(crate) use slots::prepare;
pub use slots::{Retired, tell_writers};
pub use writer::{RwWriter, WritersFirst};

/// The table of the kinds of read-write lock: calls the macro `$then` with all rows. A new row is the last: its position is
/// the number in a replaced lock. There are at most 16.
#[macro_export]
macro_rules! for_each_rw_lock_kind {
    ($then:ident) => {
        $then! {
            /// libc's read-write lock, reached through the same interposition as all other kinds: the control.
            System "system" { lock: (libc), search_rank: None, note: Some("libc's own, the control") }
            /// Phase-fair (Brandenburg and Anderson 2010): a reader waits for one writer at most, a writer for the readers
            /// of one phase.
            Fair "rw-fair" { lock: (RwFair), search_rank: Some(3), note: None }
            /// Writers first. The readers that wait enter together after the last writer, or after a long wait.
            Writer "rw-writer" { lock: (RwWriter), search_rank: Some(2), note: None }
            /// [`RwLockKind::Writer`] with a bias towards readers (BRAVO, Dice and Kogan 2019): a reader writes to no cache
            /// line that other threads write to; a writer has to look at each reader's.
            Biased "rw-biased" { lock: (RwBiased), search_rank: Some(1), note: None }
        }
    };
}
