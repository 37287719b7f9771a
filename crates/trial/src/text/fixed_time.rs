//! Programs that run for a fixed time: their wall time is the same with every lock, so that no run of them proves anything.

use super::super::format::paragraph;
use super::super::report::Report;
use super::super::service::Service;
use std::ffi::OsString;
use std::fmt::{self, Formatter};
use unspin_report::figures::time;
use unspin_report::{shell_line, stated_time};
use unspin_stats::{Metric, Verdict};

/// The runs of all candidates differ by this share at most, if nothing else tells that their time is fixed.
const SAME: f64 = 0.01;
/// The runs differ by this share at most, if a word of the command names their time.
const SAME_AS_STATED: f64 = 0.03;
/// Shorter runs are as long as each other because they are short.
const SECONDS_MIN: f64 = 0.5;
/// Fewer runs may be equal by chance.
const RUNS_MIN: usize = 6;

/// Prints what to compare instead, if the wall time was compared, nothing was proven, and all runs took the same time.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    match of(report) {
        Some((text, options)) => {
            write!(f, "{}", paragraph(&text, 0))?;
            // In a line of its own, which can be copied.
            options.map_or(Ok(()), |options| writeln!(f, "  {options}"))
        }
        None => Ok(()),
    }
}

/// The same in one paragraph.
pub fn remark(report: &Report) -> Option<String> {
    let (text, options) = of(report)?;
    Some(options.map_or(text.clone(), |options| format!("{text} {options}")))
}

/// The sentences, and the options for the rate that the program prints.
fn of(report: &Report) -> Option<(String, Option<String>)> {
    // A workload's own figure is another time.
    if report.session.analysis.metric.name != Metric::wall_time().name {
        return None;
    }
    let is_undecided = |verdict: &Verdict| matches!(verdict, Verdict::NothingProven { .. });
    if !report.session.analysis.comparisons.iter().all(|comparison| is_undecided(&comparison.verdict)) {
        return None;
    }
    let command = words(&report.command, report.service.as_ref());
    let timed = report.session.runs.iter().filter(|run| run.trial.value.is_ok());
    let mut runs: Vec<f64> = timed.map(|run| run.trial.elapsed_s).collect();
    if runs.is_empty() {
        // The search has ended with its metered run, or with its short runs.
        runs.extend(report.locks.metered.iter().map(|metered| metered.elapsed_s));
    }
    describe(&command, &runs, report.rate_in_output.as_deref())
}

/// What to say before the budget is spent, if a word of the command names the time of the metered run; none for other figures
/// than the wall time.
pub fn warning(
    metric: &Metric,
    command: &[OsString],
    service: Option<&Service>,
    metered_s: f64,
) -> Option<String> {
    let is_wall_time = metric.name == Metric::wall_time().name;
    let stated = stated_time(&words(command, service), metered_s).filter(|_| is_wall_time)?;
    Some(format!(
        "the metered run took {}, and the command has the words {stated}. If they say how long the program runs, its time proves \
         nothing: end this by ^C, and compare a rate that it prints (--metric)",
        time(metered_s)
    ))
}

/// The command that is timed. The first word is a program.
fn words(command: &[OsString], service: Option<&Service>) -> Vec<String> {
    match service {
        Some(service) => vec![String::new(), service.load.clone()],
        None => command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    }
}

/// The sentences about runs that took so many seconds each, and the options for the rate that the program prints.
fn describe(command: &[String], runs: &[f64], rate: Option<&str>) -> Option<(String, Option<String>)> {
    let (least, most) = (runs.iter().copied().reduce(f64::min)?, runs.iter().copied().reduce(f64::max)?);
    let stated =
        stated_time(command, (least + most) / 2.0).filter(|_| most <= least * (1.0 + SAME_AS_STATED));
    let is_same = runs.len() >= RUNS_MIN && least >= SECONDS_MIN && most <= least * (1.0 + SAME);
    let took = match runs.len() {
        1 => format!("The run took {}", time(least)),
        _ => format!("Every run took {} to {}", time(least), time(most)),
    };
    let fixed = match stated {
        Some(words) => {
            format!("{took}, and the command has the words {words}. If they say how long the program runs, ")
        }
        None if is_same => format!("{took}, with every candidate. If the program runs for a fixed time, "),
        None => return None,
    };
    let options = rate.map(|rate| {
        let option = shell_line(&["--metric".to_owned(), rate.to_owned()]);
        format!("{option} --higher-is-better")
    });
    let next = match options {
        Some(_) => "compare a rate that it prints, by these options of prove:",
        None => {
            "compare what it gets done in that time: --metric 'WORDS' --higher-is-better, with the words that stand before \
             such a figure in its output."
        }
    };
    Some((format!("{fixed}its time proves nothing: {next}"), options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn fixed_time_is_told_by_the_command_or_by_equal_runs() {
        let sysbench = command("sysbench mutex --time=10 run");
        let (text, options) = describe(&sysbench, &[10.01, 10.2, 10.03], Some(r"events:\s+\(")).unwrap();
        let begin = "Every run took 10.0s to 10.2s, and the command has the words --time=10.";
        assert!(text.starts_with(begin) && text.ends_with("by these options of prove:"), "{text}");
        assert_eq!(options.as_deref(), Some(r"--metric 'events:\s+\(' --higher-is-better"));
        let (text, options) = describe(&sysbench, &[10.01], None).unwrap();
        assert!(text.starts_with("The run took 10.0s, and the command"), "{text}");
        assert!(
            text.contains("--metric 'WORDS' --higher-is-better, with the words") && options.is_none(),
            "{text}"
        );
        let (text, _) =
            describe(&command("server"), &[2.001, 2.003, 2.002, 2.001, 2.004, 2.0], None).unwrap();
        assert!(text.starts_with("Every run took 2.00s to 2.00s, with every candidate."), "{text}");
    }

    #[test]
    fn warning_comes_before_the_budget_is_spent() {
        let command: Vec<OsString> = ["bench", "-t", "2"].map(OsString::from).into();
        let warned = |metric: &Metric, seconds| warning(metric, &command, None, seconds);
        let wall = Metric::wall_time();
        let text = warned(&wall, 2.02).unwrap();
        assert!(
            text.starts_with("the metered run took 2.02s, and the command has the words -t 2."),
            "{text}"
        );
        assert_eq!((warned(&wall, 0.7), warned(&Metric::cpu_time(), 2.02)), (None, None));
    }

    #[test]
    fn other_runs_are_not_said_to_take_a_fixed_time() {
        let sysbench = command("sysbench mutex --time=10 run");
        assert_eq!(describe(&sysbench, &[10.01, 10.9, 10.03], None), None, "runs that differ");
        assert_eq!(describe(&command("bench"), &[2.001, 2.003], None), None, "few runs");
        assert_eq!(describe(&command("bench"), &[0.01; 8], None), None, "short runs");
        assert_eq!(describe(&command("bench"), &[], None), None);
    }
}
