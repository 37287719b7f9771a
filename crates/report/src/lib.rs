//! The report on a recording of `unspin-wire`: locks by time lost, their callers, waits, findings, and what to do next.
//! As text, as the Lockmeter table of 2001, as JSON, as a profile. Nothing runs here, and no clock is read.
//!
//! ```
//! use unspin_report::MeterReport;
//! use unspin_wire::{AttemptOutcome, Config, Key, RecordKind, Recording, Sample};
//!
//! let folder = tempfile::tempdir()?;
//! let recording = Recording::create(&folder.path().join("run"), Config::default())?;
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

mod column;
pub mod columns;
mod comparison;
mod deadlock;
mod disturbance;
mod filter;
mod fold;
#[cfg(test)]
mod hartner_2001;
pub mod interval;
mod layout;
mod line;
mod lock;
mod lock_id;
mod lockmeter;
pub mod markdown;
mod medium;
mod name;
pub mod next;
mod notes;
pub mod otlp;
mod paragraph;
pub mod pprof;
mod printed_table;
mod process;
mod report;
mod row;
pub mod serial;
mod shell;
mod sum;
mod table;
mod text;
mod times;
mod units;
mod unknown_holders;
mod used_as_lock;
mod wait;
mod wait_text;
mod wakes;

pub use unspin_figures as figures;

pub use self::{
    column::{Column, Frame},
    comparison::ReportComparison,
    deadlock::{Deadlock, DeadlockedThread},
    disturbance::{DISTURBED, SHORTEST_MS, describe_disturbance},
    filter::{Filter, LeftOut, Pattern},
    fold::Fold,
    layout::{COLUMNS, Layout},
    lock::{Address, Caller, Holder, Inverted, Lock, LockProperty, LockUse},
    lock_id::LockId,
    medium::Medium,
    name::{Name, Names},
    next::{Cause, Finding, Statement, WORTH_IT, stated_time},
    paragraph::{add_note, paragraph},
    printed_table::PrintedTable,
    process::{Blocked, LockInUse, Process, ThreadTimes},
    report::{EventCount, MeterReport, ReportOptions, SCHEMA, SCHEMA_VERSION, Totals},
    row::Row,
    shell::{line as shell_line, title as shell_title},
    table::Table,
    times::{TimeRange, Times},
    units::{Figures, Units},
    unknown_holders::UnknownHolders,
    wait::{Wait, WaitRow, Waiter},
    wakes::{Waker, Wakes, WokenThreads},
};
