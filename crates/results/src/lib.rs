//! Results that unspin has stored as JSON, read back.
//!
//! `unspin prove --json`, `meter --json`, `scale --json`, `compare --json` and `combine --json` write documents. What shows or compares results later has only these.
//! So it reads the documents, and not the values in the memory of the command that measured: a page shows what its archive
//! contains, and a result of another machine is read as one of this machine is.
//!
//! A page contains its document, so it is read, too. [`StoredResult::parse`] recognises the kind of a document by its field `schema`. A field that is not needed is not read, and a
//! newer document may have more fields; one with an unknown format number is refused, because fields of it may mean
//! something else.
//!
//! ```
//! use unspin_results::StoredResult;
//!
//! let refused = StoredResult::parse(r#"{"schema": "unspin.prove/99"}"#).unwrap_err();
//! assert!(refused.to_string().contains("unspin.prove/99"));
//! ```
#![forbid(unsafe_code)]

mod combine;
mod compare;
mod compiled;
mod guest_run;
mod lenses;
mod machine;
mod meter;
mod page;
mod parse;
mod prove;
mod scale;

pub use combine::{
    COMBINE_SCHEMA, CombinedCandidate, CombinedHost, CombinedPlan, CombinedResults, CombinedSummary,
    Grouping, NotRanked,
};
pub use compare::{
    Basis, COMPARE_SCHEMA, ComparedFigures, ComparedGain, ComparisonConclusion, ConfigurationVerdict,
    CpuChange, Gate, GateOutcome, Judged, Obstacle, ResultComparison, SessionSummary, SideFigures, SideGain,
    Untested,
};
pub use compiled::CompiledPlan;
pub use guest_run::{GuestRun, ScheduledBy, VM_SCHEMA};
pub use lenses::{
    StoredBlockedCaller, StoredBlockedReason, StoredFutex, StoredFutexCaller, StoredFutexRow, StoredFutexes,
    StoredKernel, StoredKernelCaller, StoredKernelLock, StoredKernelRow, StoredKernelUse, StoredLenses,
    StoredNext, StoredOffCpu, StoredStack, StoredThreadTime, StoredTimePart,
};
pub use machine::{StoredBuild, StoredDisturbance, StoredMachine, StoredThrottling};
pub use meter::StoredMeter;
pub use page::{document, script};
pub use parse::{ParseError, StoredResult};
pub use prove::{
    StoredBootedKernel, StoredConfiguration, StoredCpuShares, StoredJudgedWait, StoredLockTable, StoredLocks,
    StoredPercentile, StoredProof, StoredReason, StoredRun, StoredScheduler, StoredSchedulerPair,
    StoredService, StoredSummary, StoredWaitRun,
};
pub use scale::{StoredModelLock, StoredScale, StoredScaleRun, StoredScaling};
