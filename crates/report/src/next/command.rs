//! The program's command line in the commands that the report suggests.

use crate::report::MeterReport;
use crate::shell;

/// Bytes of a process's command line that fit into a recording.
const COMMAND_MAX: usize = 1024;

/// The program's command line for a shell: as the user gave it, or as its only process was started; otherwise `CMD`.
pub(crate) fn of(report: &MeterReport) -> String {
    let given = &report.invocation.command;
    match &report.processes[..] {
        _ if !given.is_empty() => shell::line(given),
        [process] if !process.command.is_empty() && !is_cut(&process.command) => {
            shell::line(&process.command)
        }
        _ => "CMD".into(),
    }
}

/// The program's command line for a command that chooses the run queue: without the option by which the workload volano
/// chooses one itself.
pub(crate) fn without_run_queue(report: &MeterReport) -> String {
    const OPTION: &str = "--runqueue";
    let given = &report.invocation.command;
    if given.first().is_none_or(|name| name != "volano") {
        return of(report);
    }
    let is_value = |at: usize| at > 0 && given[at - 1] == OPTION;
    let is_kept =
        |at: usize| given[at] != OPTION && !is_value(at) && !given[at].starts_with(&format!("{OPTION}="));
    let kept: Vec<String> = (0..given.len()).filter(|&at| is_kept(at)).map(|at| given[at].clone()).collect();
    shell::line(&kept)
}

/// Whether a process's command line may have been truncated in the recording.
fn is_cut(command: &[String]) -> bool {
    command.iter().map(|word| word.len() + 1).sum::<usize>() >= COMMAND_MAX
}
