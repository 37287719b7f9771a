//! What is observed and how, and what is printed of it.

use crate::lens::for_each_lens;
use crate::serve::{ServeAddress, ServeFrom};
use regex::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::replace::Replace;
use unspin_launch::replace::engine::Engine;
use unspin_report::next::Subject;
use unspin_wire::Level;

/// The settings of `unspin meter`.
#[derive(Debug)]
pub struct MeterSettings {
    /// The lenses that the user names; empty for the default.
    pub lens: Vec<Lens>,
    /// The processes in which the kernel's events are observed.
    pub observe: ObserveSettings,
    /// The file of the report; none for standard error.
    pub output: Option<PathBuf>,
    /// The file in which the recording is kept.
    pub record: Option<PathBuf>,
    /// The file of the waits with their times, for viewers of timelines.
    pub firefox: Option<PathBuf>,
    /// Where the recording is served while the program runs.
    pub serve: Option<ServeSettings>,
    /// The form of the report.
    pub view: ViewSettings,
    /// The program that is recorded.
    pub recorded: RecordSettings,
    /// The words that repeat the command, without the files for its results; none if another command observes.
    pub words: Option<Vec<OsString>>,
}

/// Where a recording is served.
#[derive(Clone, Copy, Debug)]
pub struct ServeSettings {
    /// The address.
    pub address: ServeAddress,
    /// From where it may be reached.
    pub from: ServeFrom,
}

impl MeterSettings {
    /// The lenses that are requested, or those that suit what is observed: the preload library cannot reach a program
    /// that runs already.
    pub fn lenses(&self) -> &[Lens] {
        match &self.lens[..] {
            [] if self.observe.pid.is_some() || self.observe.all_processes => Lens::OF_KERNEL,
            [] => &[Lens::Pthread],
            given => given,
        }
    }
}

/// The settings of `unspin report`.
#[derive(Debug)]
pub struct ReportSettings {
    /// The form of the report.
    pub view: ViewSettings,
    /// Whether leftover recordings are removed, if no file is named.
    pub remove: bool,
    /// The recording; none for the list of leftover recordings.
    pub file: Option<PathBuf>,
}

macro_rules! define_lens {
    ($($(#[doc = $doc:literal])+ $lens:ident $name:literal {
        field: $field:ident, collector: $collector:ty, report: $report:ty, listed: $listed:literal
    })+) => {
        /// What is observed.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Lens {
            /// Locks and waits of libc, by the preload library.
            Pthread,
            $($(#[doc = $doc])+ $lens,)+
        }

        impl Lens {
            /// The lenses that read the kernel's events, in the order of their reports.
            pub const OF_KERNEL: &[Lens] = &[$(Lens::$lens),+];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    Lens::Pthread => "pthread",
                    $(Lens::$lens => $name,)+
                }
            }

            /// What it observes, for the help.
            pub fn help(self) -> &'static str {
                let text = match self {
                    Lens::Pthread => "Locks and waits of libc, by the preload library",
                    $(Lens::$lens => concat!($($doc),+),)+
                };
                text.trim().trim_end_matches('.')
            }

            /// The position of the lens in the help.
            fn listed(self) -> u8 {
                match self {
                    Lens::Pthread => 0,
                    $(Lens::$lens => $listed,)+
                }
            }
        }
    };
}
for_each_lens!(define_lens);

impl Lens {
    /// All lenses, in the order of the help.
    pub fn all() -> Vec<Lens> {
        let mut all = vec![Lens::Pthread];
        all.extend(Lens::OF_KERNEL);
        all.sort_by_key(|lens| lens.listed());
        all
    }
}

/// Which program is recorded, and how.
#[derive(Clone, Debug)]
pub struct RecordSettings {
    /// What is recorded of each lock.
    pub level: Level,
    /// Maximum size of the recording, in bytes; none for the default.
    pub size: Option<u64>,
    /// The engine for System V IPC.
    pub sysv: Engine,
    /// The arena as the user names it; none for the engine's default arena.
    pub arena: Option<PathBuf>,
    /// What is replaced of the program.
    pub replace: Replace,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

impl RecordSettings {
    /// The default settings for a program: everything is recorded, and nothing is replaced.
    pub fn of(command: Vec<OsString>) -> RecordSettings {
        let (level, sysv) = (Level::Full, Engine::Kernel);
        RecordSettings { level, size: None, sysv, arena: None, replace: Replace::default(), command }
    }
}

/// What is printed of a recording, and in which form.
#[derive(Clone, Debug, Default)]
pub struct ViewSettings {
    /// The file of the whole report as JSON.
    pub json: Option<PathBuf>,
    /// The file of the page for browsers.
    pub html: Option<PathBuf>,
    /// The file of the profile for `go tool pprof`.
    pub pprof: Option<PathBuf>,
    /// The file of the profiles signal of OpenTelemetry.
    pub otlp: Option<PathBuf>,
    /// The layout of the printed report.
    pub format: Format,
    /// The smallest share of the time that a printed lock was held.
    pub min_util: Option<f64>,
    /// The smallest share of the attempts that had to wait for a printed lock.
    pub min_con: Option<f64>,
    /// The least time that was lost on a printed lock.
    pub min_lost: Option<Duration>,
    /// What the names of printed locks match.
    pub lock: Option<Regex>,
    /// What the names or source lines of printed callers match.
    pub caller: Option<Regex>,
    /// Whether all locks and callers are printed.
    pub all: bool,
    /// Whether each element of an array, and each object of one origin, has a row of its own.
    pub unfold: bool,
}

/// The layout of the printed report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// The table of this program.
    #[default]
    Table,
    /// The table of Lockmeter, 2001.
    Lockmeter,
}

/// The processes in which the kernel's events are observed, for how long, and with how much memory.
#[derive(Clone, Debug, Default)]
pub struct ObserveSettings {
    /// Whether all processes are observed.
    pub all_processes: bool,
    /// The process that is observed, with its children.
    pub pid: Option<u32>,
    /// The time after which the observation ends.
    pub seconds: Option<Duration>,
    /// The size of each ring of events in bytes; none for the default.
    pub buffer: Option<u64>,
}

impl ObserveSettings {
    /// What is observed, if this program is started: for the commands that reports suggest.
    pub fn subject(&self, command: &[OsString]) -> Subject {
        let words = || command.to_vec();
        match self.pid {
            Some(pid) => Subject::Process(pid),
            None if self.all_processes => Subject::System(words()),
            None => Subject::Program(words()),
        }
    }
}

/// The settings of `unspin profile`.
#[derive(Debug)]
pub struct ProfileSettings {
    /// The processes that are sampled.
    pub observe: ObserveSettings,
    /// Samples in a second on each CPU.
    pub frequency: u64,
    /// Whether programs are sampled too.
    pub user: bool,
    /// Whether the ticks of each address are printed.
    pub counters: bool,
    /// Whether the address of each function is printed.
    pub verbose: bool,
    /// Whether the share of the ticks in which CPUs spun is printed.
    pub spin: bool,
    /// The file of the table; none for standard error.
    pub output: Option<PathBuf>,
    /// The file of the samples as a profile for `go tool pprof`.
    pub pprof: Option<PathBuf>,
    /// The file of the flame graph.
    pub flamegraph: Option<PathBuf>,
    /// The program that is started, with its arguments; empty for running processes.
    pub command: Vec<OsString>,
}
