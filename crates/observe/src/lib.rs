//! Runs a program under observation, or watches running processes, and reports on their locks and waits.
//!
//! | module | what it does |
//! |---|---|
//! | [`settings`] | what is observed, and what is printed |
//! | [`meter`] | runs a program under the preload library, which records its locks; names them; prints the report |
//! | [`serve`] | serves a recording over HTTP while the program runs |
//! | [`located`] | finds the locks of a recording in another run |
//! | [`lens`] | reports waits that the kernel sees: futexes, the kernel's locks, time off the CPUs |
//! | [`profile`] | samples the program counter, as readprofile(8) does |
//! | [`observed`] | reads the kernel's events in a thread, while a program runs |
//! | [`disturbance`] | what other programs and the hypervisor took of the CPUs |
//! | [`control_group`] | the control groups of this process, and their CPU quotas |
//! | [`throttling`] | how often the CPU quota of a container or a service was used up |
//!
//! ```
//! use unspin_observe::settings::{Lens, MeterSettings, ObserveSettings, RecordSettings, ViewSettings};
//!
//! let settings = MeterSettings {
//!     lens: Vec::new(),
//!     observe: ObserveSettings { pid: Some(4711), ..ObserveSettings::default() },
//!     output: None,
//!     record: None,
//!     firefox: None,
//!     serve: None,
//!     view: ViewSettings::default(),
//!     recorded: RecordSettings::of(Vec::new()),
//!     words: None,
//! };
//! // A running process is observed through the kernel.
//! assert_eq!(settings.lenses(), [Lens::Futex, Lens::Kernel, Lens::OffCpu]);
//! ```
#![forbid(unsafe_code)]

pub mod control_group;
pub mod disturbance;
pub mod lens;
pub mod located;
pub mod meter;
pub mod observed;
pub mod profile;
pub mod serve;
pub mod settings;
#[cfg(test)]
mod testing;
pub mod throttling;
