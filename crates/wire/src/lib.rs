//! What two processes of unspin exchange: the recording, the compiled plan, the tally, and the environment
//! variables that name them.
//!
//! A *recording* is a file in shared memory. It holds what happened to locks, per thread. A process that takes locks
//! writes it, also inside a program of the user; the CLI reads it. This crate has the writer and the reader of each
//! format side by side. It has no dependency outside the workspace, because it is linked into programs of the user.
//!
//! ```text
//! program under the meter                         reader (the CLI)
//! thread ── Table::record(key, sample) ─┐
//! thread ── Table::record(key, sample) ─┼─ file ── Recording::snapshot ── Snapshot
//! thread ── Table::record(key, sample) ─┘          (while the program runs, or after it ended or was killed)
//! ```
//!
//! Every thread writes to its own [`Table`] inside the [`Recording`], with plain stores: no lock, no system call, no
//! allocation. The tables lie in the file, so the recorded data outlast the program even if it is killed by SIGKILL.
//! This crate implements no lock: the code that takes a lock reports each acquisition to it.
//!
//! ```
//! use unspin_wire::{AttemptOutcome, Config, Key, RecordKind, Recording, Sample};
//!
//! let folder = tempfile::tempdir()?;
//! let recording = Recording::create(&folder.path().join("run"), Config::default())?;
//!
//! let table = recording.claim().expect("there is room");
//! let key = Key::new(RecordKind::Engine, 1, 2);
//! table.record(key, &Sample { outcome: AttemptOutcome::Spun, hold: 700, spun: 4_000, slept: 0 });
//! recording.release(table, None);
//! recording.finish(None);
//!
//! assert_eq!(recording.snapshot().total().spun, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(loom, expect(dead_code, reason = "models reach the protocols, not the file that uses the rest"))]

mod counts;
mod event;
mod held;
mod histogram;
#[cfg(not(loom))]
mod holder;
mod image;
mod kind;
mod level;
mod list;
mod pages;
mod pool;
mod slot;
mod table;
mod tokens;

// Loom's atomics cannot be mapped from a file. Its models use the protocols above and nothing that is built on them.
#[cfg(not(loom))]
mod build;
mod checksum;
#[cfg(not(loom))]
mod disturbance;
#[cfg(not(loom))]
pub mod environment;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
pub mod filters;
#[cfg(not(loom))]
mod format;
#[cfg(not(loom))]
mod header;
#[cfg(not(loom))]
mod invocation;
#[cfg(not(loom))]
pub mod looks;
#[cfg(not(loom))]
mod own_tally;
#[cfg(not(loom))]
mod owners;
#[cfg(not(loom))]
pub mod plan;
#[cfg(not(loom))]
mod recording;
#[cfg(not(loom))]
mod snapshot;
#[cfg(not(loom))]
mod tally;
#[cfg(not(loom))]
mod waits_in_progress;
#[cfg(not(loom))]
mod wakeup;
#[cfg(not(loom))]
mod window;

#[cfg(not(loom))]
pub use self::{
    disturbance::Disturbance,
    error::{Reason, RecordingError},
    format::{MAX_PAGES, VERSION},
    invocation::Invocation,
    own_tally::{OwnTally, OwnTallyPlace, TallyUse},
    recording::{Config, Recording},
    snapshot::{Image, Record, Snapshot, Stack, Thread, Unrecorded},
    tally::{Tally, TallyCount, TallyRow},
    waits_in_progress::WaitsInProgress,
    wakeup::WakeUpCost,
    window::Window,
};
pub use counts::Counts;
pub use event::{AttemptOutcome, Event, Key, Sample};
pub use held::HeldLock;
pub use histogram::{BUCKETS, Histogram, TimeKind};
pub use image::Registers;
pub use kind::{ANY_DESCRIPTOR, Class, RecordKind};
pub use level::Level;
pub use slot::FirstUse;
pub use table::{RowRef, Table};
