//! stress-ng's stressors of System V IPC.

use clap::ValueEnum;
use std::process::Command;

/// Which of them.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stressor {
    /// Processes that take and post one semaphore
    SemSysv,
    /// A process that sends messages and one that receives them
    Msg,
}

impl Stressor {
    /// The stressor's name, which is the option that asks for it.
    fn name(self) -> &'static str {
        match self {
            Stressor::SemSysv => "sem-sysv",
            Stressor::Msg => "msg",
        }
    }
}

/// Bogo-ops a second of one instance. stress-ng ends with an error if its verification fails.
pub fn run(stressor: Stressor, seconds: u64) -> Result<f64, String> {
    let metrics = tempfile::NamedTempFile::new().map_err(|e| format!("no scratch file: {e}"))?;
    let mut command = Command::new("stress-ng");
    command.arg(format!("--{}", stressor.name())).args(["1", "--verify", "--metrics-brief"]);
    command.args(["--timeout", &seconds.to_string(), "--yaml"]).arg(metrics.path());
    // stress-ng makes folders where it is.
    crate::tools::output(command.current_dir(std::env::temp_dir()))?;
    let text = std::fs::read_to_string(metrics.path()).map_err(|e| format!("stress-ng's figures: {e}"))?;
    figure(&text).ok_or_else(|| format!("stress-ng's figures hold no rate: {text}"))
}

/// The rate in stress-ng's document.
fn figure(text: &str) -> Option<f64> {
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("bogo-ops-per-second-real-time:"))?;
    rate.trim().parse().ok().filter(|&rate| rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found() {
        let text =
            "metrics:\n    - stressor: msg\n      bogo-ops: 3\n      bogo-ops-per-second-real-time: 79.5\n";
        assert_eq!(figure(text), Some(79.5));
        assert_eq!(figure("metrics:\n      bogo-ops-per-second-real-time: 0.000000\n"), None);
        assert_eq!(figure(""), None);
    }
}
