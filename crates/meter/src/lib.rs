//! The meter records what happens to locks, per thread, in a shared file. It sums the records and prints them as the
//! Lockmeter table. The meter implements no lock: the code that takes a lock reports each acquisition to it.
//!
//! ```text
//! program under the meter                         reader of the report (the CLI)
//! thread ── Table::record(key, sample) ─┐
//! thread ── Table::record(key, sample) ─┼─ file ── Recording::snapshot ── MeterReport ── table, JSON
//! thread ── Table::record(key, sample) ─┘          (while the program runs, or after it ended or was killed)
//! ```
//!
//! Every thread writes to its own [`Table`] inside the [`Recording`], with plain stores: no lock, no system call, no
//! allocation. The tables lie in the file, so the recorded data outlast the program even if it is killed by SIGKILL.
//!
//! ```
//! use unspin_meter::{Config, Key, RecordKind, AttemptOutcome, Recording, MeterReport, Sample};
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
//! let names = |_: &_, _: &_| Some(("queue lock".to_string(), "push".to_string()).into());
//! let report = MeterReport::from_recording(&recording, &names);
//! assert_eq!(report.locks[0].row.name, "queue lock");
//! assert_eq!(report.total.spun, 1);
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(loom, expect(dead_code, reason = "models reach the protocols, not the file that uses the rest"))]

mod counts;
mod event;
mod held;
mod histogram;
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
mod advice;
#[cfg(not(loom))]
mod build;
mod checksum;
#[cfg(not(loom))]
mod command;
#[cfg(not(loom))]
mod comparison;
#[cfg(not(loom))]
mod deadlock;
#[cfg(not(loom))]
mod disturbance;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
pub mod figures;
#[cfg(not(loom))]
mod filter;
#[cfg(not(loom))]
mod finding;
#[cfg(not(loom))]
mod fold;
#[cfg(all(test, not(loom)))]
mod hartner_2001;
#[cfg(not(loom))]
mod header;
#[cfg(not(loom))]
mod invocation;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod line;
#[cfg(not(loom))]
mod lock;
#[cfg(not(loom))]
mod lock_id;
#[cfg(not(loom))]
mod lockmeter;
#[cfg(not(loom))]
mod name;
#[cfg(not(loom))]
mod notes;
#[cfg(not(loom))]
mod owners;
#[cfg(not(loom))]
mod paragraph;
#[cfg(not(loom))]
pub mod pprof;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod recording;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod row;
#[cfg(not(loom))]
mod shell;
#[cfg(not(loom))]
mod snapshot;
#[cfg(not(loom))]
mod stated_time;
#[cfg(not(loom))]
mod sum;
#[cfg(not(loom))]
mod tally;
#[cfg(not(loom))]
mod text;
#[cfg(not(loom))]
mod times;
#[cfg(not(loom))]
mod used_as_lock;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod wait_text;
#[cfg(not(loom))]
mod wakes;
#[cfg(not(loom))]
mod wakeup;
#[cfg(not(loom))]
mod window;

#[cfg(not(loom))]
pub use self::{
    comparison::ReportComparison,
    deadlock::{Deadlock, DeadlockedThread},
    disturbance::Disturbance,
    error::{Reason, RecordingError},
    filter::{Filter, LeftOut, Pattern},
    finding::{Cause, Finding, WORTH_IT},
    fold::Fold,
    invocation::Invocation,
    layout::{COLUMNS, Layout},
    lock::{Address, Caller, Inverted, Lock, LockUse, MutexProperty},
    lock_id::LockId,
    name::{Name, Names},
    paragraph::add_note,
    process::{Blocked, LockInUse, Process, ThreadTimes},
    recording::{Config, MAX_PAGES, Recording, VERSION},
    report::{EventCount, MeterReport, ReportOptions, SCHEMA, SCHEMA_VERSION, Totals},
    row::Row,
    shell::line as shell_line,
    snapshot::{Image, Record, Snapshot, Stack, Thread, Unrecorded},
    stated_time::stated_time,
    tally::{RULES, SITES, Tally, TallyCount, TallyRow},
    times::{TimeRange, Times},
    wait::{Wait, WaitRow, Waiter},
    wakes::{Waker, Wakes, WokenThreads},
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
