//! What is judged, and how.

use crate::booted::GuestKernel;
use crate::preparation::Preparation;
use crate::server_settings::ServerSettings;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::plan::{Choice, WaitChoice};
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_locks::{RwLockKind, SpinKind};
use unspin_stats::Direction;

/// The time that a run may take if the user names none.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The results that a CI system shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiSettings {
    /// Whether a CI system runs the command: progress as lines, and a summary in Markdown in any case.
    pub is_ci: bool,
    /// The file for the summary in Markdown.
    pub markdown: Option<PathBuf>,
    /// The file to which a CI system wants a summary in Markdown added, if it names one.
    pub step_summary: Option<PathBuf>,
    /// The file for the results as JUnit XML.
    pub junit: Option<PathBuf>,
}

/// The settings of `unspin prove`.
pub struct ProveSettings {
    /// Kinds of mutexes to judge.
    pub mutex: Vec<Choice>,
    /// Kinds of read-write locks to judge.
    pub rwlock: Vec<Choice<RwLockKind>>,
    /// Kinds of spin locks to judge.
    pub spin: Vec<Choice<SpinKind>>,
    /// Policies of waits to judge.
    pub waits: Vec<WaitChoice>,
    /// Plan files to judge.
    pub use_plan: Vec<PathBuf>,
    /// System V engines to judge.
    pub sysv: Vec<Engine>,
    /// Run queues to compare. The first of several is the control.
    pub run_queues: Vec<RunQueue>,
    /// Schedulers of the kernel to compare with its own, and with each other.
    pub schedulers: Vec<SchedulerCommand>,
    /// Kernels to compare: each is booted for each of its runs. The first is the control.
    pub kernels: Vec<GuestKernel>,
    /// The file for the plan that won.
    pub plan: Option<PathBuf>,
    /// The number of rounds; none if the time budget limits them.
    pub runs: Option<u32>,
    /// The figure of a run, as the user names it; none for the default.
    pub metric: Option<String>,
    /// Which values of the figure are better; none if the figure says so.
    pub direction: Option<Direction>,
    /// The CPU time that a candidate may use more than the control, as a share.
    pub cpu_limit: Option<f64>,
    /// The time budget; none for the default of the program.
    pub time_budget: Option<Duration>,
    /// The time to wait at most until the machine is quiet; none to begin at once.
    pub wait_for_quiet: Option<Duration>,
    /// The time after which a run is ended.
    pub time_limit: Duration,
    /// The file for all results as JSON.
    pub json: Option<PathBuf>,
    /// Where the results go that a CI system shows.
    pub ci: CiSettings,
    /// The file for all results as a page.
    pub html: Option<PathBuf>,
    /// Whether the report has all details.
    pub verbose: bool,
    /// Whether no progress is shown.
    pub quiet: bool,
    /// The program and its arguments; empty for a server.
    pub command: Vec<OsString>,
    /// The server, and the commands around it.
    pub server: ServerSettings,
    /// The words that repeat the command, without the files for its results; none if another command measures.
    pub words: Option<Vec<OsString>>,
    /// What makes the program ready for all runs. None for a program that its command line starts.
    pub preparation: Option<Preparation>,
}

impl ProveSettings {
    /// The default settings for a program.
    pub fn of(command: Vec<OsString>) -> ProveSettings {
        ProveSettings {
            mutex: Vec::new(),
            rwlock: Vec::new(),
            spin: Vec::new(),
            waits: Vec::new(),
            use_plan: Vec::new(),
            sysv: Vec::new(),
            run_queues: Vec::new(),
            schedulers: Vec::new(),
            kernels: Vec::new(),
            plan: None,
            runs: None,
            metric: None,
            direction: None,
            cpu_limit: None,
            time_budget: None,
            wait_for_quiet: None,
            time_limit: TIME_LIMIT,
            json: None,
            ci: CiSettings::default(),
            html: None,
            verbose: false,
            quiet: false,
            command,
            server: ServerSettings::default(),
            words: None,
            preparation: None,
        }
    }

    /// The time budget that the user names, or the default of the program. A run of volano consists of several, and a
    /// server has to be started and stopped; within a minute there is no proof.
    pub fn time_budget(&self) -> Duration {
        let is_named = |workload: &str| self.command.first().is_some_and(|name| name == workload);
        let seconds = match self.server.server.is_some() {
            // A run takes 12 s.
            _ if is_named("dbt1") => 600,
            is_server if is_server || is_named("volano") => 300,
            _ => 60,
        };
        self.time_budget.unwrap_or(Duration::from_secs(seconds))
    }
}

/// The settings of `unspin scale`.
#[derive(Debug)]
pub struct ScaleSettings {
    /// Kinds of mutexes to compare with the control.
    pub mutex: Vec<Choice>,
    /// Kinds of read-write locks to compare with the control.
    pub rwlock: Vec<Choice<RwLockKind>>,
    /// Kinds of spin locks to compare with the control.
    pub spin: Vec<Choice<SpinKind>>,
    /// Plan files to compare with the control.
    pub use_plan: Vec<PathBuf>,
    /// System V engines to compare with the control.
    pub sysv: Vec<Engine>,
    /// Numbers of CPUs to measure on; empty for the default.
    pub cpus: Vec<u32>,
    /// Numbers of CPUs to predict.
    pub predict: Vec<u32>,
    /// Threads that can run at the same time; none to find out.
    pub parallel: Option<u32>,
    /// The number of rounds.
    pub runs: u32,
    /// The time after which no round begins.
    pub time_budget: Option<Duration>,
    /// The figure of a run, as the user names it; none for the default.
    pub metric: Option<String>,
    /// Which values of the figure are better; none if the figure says so.
    pub direction: Option<Direction>,
    /// The time after which a run is ended.
    pub time_limit: Duration,
    /// The file for all results as JSON.
    pub json: Option<PathBuf>,
    /// The file for all results as a page.
    pub html: Option<PathBuf>,
    /// Whether no progress is shown.
    pub quiet: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The words that repeat the command, without the files for its results; none if another command measures.
    pub words: Option<Vec<OsString>>,
}

impl ScaleSettings {
    /// The default settings for a program: five rounds, and predictions for 4, 8 and 16 CPUs.
    pub fn of(command: Vec<OsString>) -> ScaleSettings {
        ScaleSettings {
            mutex: Vec::new(),
            rwlock: Vec::new(),
            spin: Vec::new(),
            use_plan: Vec::new(),
            sysv: Vec::new(),
            cpus: Vec::new(),
            predict: vec![4, 8, 16],
            parallel: None,
            runs: 5,
            time_budget: None,
            metric: None,
            direction: None,
            time_limit: TIME_LIMIT,
            json: None,
            html: None,
            quiet: false,
            command,
            words: None,
        }
    }
}
