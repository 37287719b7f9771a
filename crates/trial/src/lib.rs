//! Measures a program under several configurations, and says which differences are proven.
//!
//! - A [`Configuration`] says what a program runs with: the control, a kind of lock, a policy of waits, an engine, a run queue, a scheduler of
//!   the kernel.
//! - A [`Trial`] is one run of the program under a configuration, with its figure.
//! - A [`Report`] has all trials of a session, and the verdict on each candidate.
//!
//! ```text
//! ProveSettings ─► Configurations ─► Trials in rounds of random order ─► Report ─► text, JSON, a plan, the exit code
//! ```
//!
//! [`prove`] does all of this and prints the report; without a named candidate it searches for some first. [`measure`]
//! leaves the printing to another command. [`scale`](fn@scale) measures on 1, 2, … CPUs, and predicts more.
//!
//! ```
//! use unspin_trial::{ProveSettings, names};
//!
//! let mut settings = ProveSettings::of(vec!["sh".into(), "-c".into(), "true".into()]);
//! settings.mutex = vec!["adaptive".parse().unwrap()];
//! assert_eq!(names(&settings).unwrap(), ["system", "system (again)", "no preload", "adaptive"]);
//! ```
#![forbid(unsafe_code)]

mod attended;
mod booted;
mod budget;
mod call_sites;
mod ci;
mod configuration;
mod ending;
mod figure;
pub mod format;
mod full_disk;
mod hang;
mod interrupt;
mod json;
mod kernels;
mod kinds;
mod leftovers;
mod locks;
mod metering;
mod monitor;
mod next;
mod percentile;
mod performance;
mod preparation;
mod process_tree;
mod progress;
mod prove;
mod prove_command;
mod quiet;
mod reached;
mod reading;
mod reason;
mod recommendation;
mod report;
mod requested;
mod run_queues;
mod runner;
mod scale;
mod scheduled;
mod schedulers;
mod search;
mod seed;
mod served;
mod server_settings;
mod service;
mod session;
mod settings;
mod setup;
mod staircase;
mod standard_input;
mod steps;
mod summary;
#[cfg(test)]
mod testing;
mod text;
mod waits;
mod web_shop;

pub use booted::{GuestKernel, PastBoot};
pub use budget::duration;
pub use ci::STEP_SUMMARY;
pub use configuration::{Configuration, OWN_SCHEDULER};
pub use ending::RunEnd;
pub use interrupt::Interrupt;
pub use json::{ProveDocument, document};
pub use preparation::{Preparation, PreparedProgram};
pub use progress::PartOfCommand;
pub use prove::{measure, names, run as prove};
pub use prove_command::{Candidates, ProveCommand};
pub use report::Report;
pub use run_queues::{JudgedRunQueue, judged_run_queues};
pub use runner::Trial;
pub use scale::run as scale;
pub use server_settings::ServerSettings;
pub use service::Service;
pub use settings::{CiSettings, ProveSettings, ScaleSettings};
pub use text::LockTables;
pub use web_shop::preparation as web_shop;
