//! Which processes the kernel's events are observed in, and how.

use super::size::bytes;
use clap::Args;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_observe::settings::ObserveSettings;

/// Which processes, for how long, and with how much memory.
#[derive(Args, Clone, Debug, Default)]
pub struct ObserveOptions {
    /// Observe all processes on all CPUs, and the kernel: while COMMAND runs, for --seconds, or until ^C
    #[arg(short = 'a', long = "all-processes", conflicts_with = "pid")]
    pub all_processes: bool,

    /// Observe a running process with its threads and children, until it ends, for --seconds, or until ^C
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub pid: Option<u32>,

    /// Observe for this time, such as 10s or 2m; with -a or -p
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub seconds: Option<Duration>,

    /// Size of the ring buffer of each event and CPU, such as 8M; events that do not fit are counted as lost
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub buffer: Option<u64>,
}

impl From<&ObserveOptions> for ObserveSettings {
    fn from(options: &ObserveOptions) -> ObserveSettings {
        let &ObserveOptions { all_processes, pid, seconds, buffer } = options;
        ObserveSettings { all_processes, pid, seconds, buffer }
    }
}
