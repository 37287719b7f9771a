//! The result of a session, as far as a CI system shows it.

use super::outcome::Outcome;
use crate::configuration::Configuration;
use crate::report::Report;
use crate::settings::ProveSettings;
use crate::summary::warnings;
use crate::text::cells::{self, Cells};
use crate::text::{self, disturbance, ended_early, fixed_time, plan, search, summary};
use std::ffi::OsString;
use unspin_launch::command::words;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::output::shell;
use unspin_report::shell_title;
use unspin_stats::Conclusion;

/// What is shown, in words and figures.
#[derive(Clone, Debug)]
pub struct JobResult {
    /// The command that was measured.
    pub command: String,
    /// The command in short: the names of its program and of its script.
    pub title: String,
    /// The command that measures it again.
    pub repeat: String,
    /// What is proven, or why nothing is: a paragraph each.
    pub verdict: Vec<String>,
    /// How certain that is.
    pub certainty: Option<String>,
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
    /// Why nothing is proven better, and what to do next: a sentence each.
    pub next: Vec<String>,
    /// What was compared, by what, how often.
    pub compared: Option<String>,
    /// Other programs and the hypervisor; none if nothing was measured.
    pub disturbance: Option<String>,
    /// Machine, kernel and build.
    pub place: String,
    /// The unit of the means; empty without one.
    pub unit: String,
    /// For what CPU times are compared, at the end of "CPU time".
    pub cpu_per: &'static str,
    /// The configurations in the order of the table.
    pub rows: Vec<Row>,
    /// The duration in seconds.
    pub elapsed_s: f64,
    /// The exit code.
    pub code: u8,
}

/// A configuration.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub cells: Cells,
    /// The outcome, if it is a candidate.
    pub outcome: Option<Outcome>,
    /// The verdict in a sentence; empty for the control.
    pub sentence: String,
    /// The wall-clock time of all its runs, in seconds.
    pub elapsed_s: f64,
}

impl JobResult {
    /// The result of a session.
    pub fn of(report: &Report) -> JobResult {
        let session = &report.session;
        let (scale, has_runs) = (cells::scale(report), session.elapsed.as_nanos() > 0);
        let mut result = JobResult {
            title: title(&report.command, report.service.is_some()),
            command: shell::line(&report.command),
            place: place(&report.machine, &report.build),
            elapsed_s: session.elapsed.as_secs_f64(),
            code: report.code(),
            repeat: repeat(report.command_of_unspin.as_deref()),
            unit: scale.unit.clone(),
            cpu_per: report.cpu_time_per(),
            disturbance: has_runs.then(|| disturbance::sentence(&session.disturbance)),
            ..JobResult::empty()
        };
        if let Some((metered, why)) = report.locks.ended_early() {
            result.verdict = vec![format!("Proven: {}", ended_early::outcome(metered, why))];
            result.next = ended_early::next(report, metered);
            return result;
        }
        if disturbance::is_high(&session.disturbance) {
            result.disturbance = None;
        }
        result.warnings.extend(warnings(report));
        let cut_short = session.aborted.as_ref().map(|error| format!("Ended early: {error}"));
        let interrupted = report.interrupted.then(|| "Interrupted.".to_owned());
        result.warnings.extend(cut_short.into_iter().chain(interrupted));
        result.warnings.extend(fixed_time::remark(report));
        result.next = next(report);
        if !report.has_judged() {
            result.verdict = search::why_none(report);
            return result;
        }
        result.verdict = vec![format!("Proven: {}", summary::outcome(report))];
        let certainty = summary::how_sure(report).into_iter().chain(summary::evidence(report));
        result.certainty = certainty.reduce(|certainty, evidence| format!("{certainty} {evidence}"));
        result.compared = summary::compared(report);
        result.warnings.extend(summary::caution(report));
        result.warnings.extend(first_failures(report));
        let row = |(index, configuration): (usize, &Configuration)| Row {
            name: configuration.name().to_owned(),
            cells: Cells::of(report, index, &scale),
            outcome: report.comparison(configuration).filter(|_| configuration.is_judged()).map(Outcome::of),
            sentence: report.comparison(configuration).map_or(String::new(), |c| c.sentence.clone()),
            elapsed_s: session.trials(index).map(|trial| trial.elapsed_s).sum(),
        };
        result.rows = report.configurations.iter().enumerate().map(row).collect();
        result
    }

    /// The result of a session that could not be measured.
    pub fn without_report(why: &str, code: u8, options: &ProveSettings) -> JobResult {
        let command = match &options.server.server {
            Some(server) => words::words("--server", server).unwrap_or_else(|_| vec![server.into()]),
            None => options.command.clone(),
        };
        JobResult {
            title: title(&command, options.server.server.is_some()),
            command: shell::line(&command),
            verdict: vec![format!("Proven: nothing. {why}")],
            code,
            repeat: repeat(options.words.as_deref()),
            ..JobResult::empty()
        }
    }

    /// Nothing was measured by this command line.
    fn empty() -> JobResult {
        JobResult {
            command: String::new(),
            title: String::new(),
            repeat: String::new(),
            verdict: Vec::new(),
            certainty: None,
            warnings: Vec::new(),
            next: Vec::new(),
            compared: None,
            disturbance: None,
            place: place(&Machine::this(), &Build::THIS),
            unit: String::new(),
            cpu_per: "",
            rows: Vec::new(),
            elapsed_s: 0.0,
            code: 0,
        }
    }

    /// The candidates, each with its outcome.
    pub fn judged(&self) -> impl Iterator<Item = (&Row, Outcome)> {
        self.rows.iter().filter_map(|row| row.outcome.map(|outcome| (row, outcome)))
    }
}

fn repeat(words: Option<&[OsString]>) -> String {
    words.map(shell::line).unwrap_or_default()
}

fn place(machine: &Machine, build: &Build) -> String {
    let Machine { cpus, processor, kernel, .. } = machine;
    format!("{cpus} CPUs ({processor}), Linux {kernel}, unspin {} ({})", build.version, build.commit)
}

/// Why runs failed: one sentence for each configuration that has failed runs, with the last line of the first one's output.
fn first_failures(report: &Report) -> impl Iterator<Item = String> + '_ {
    report.configurations.iter().enumerate().filter_map(|(index, configuration)| {
        let trial = report.session.failures(index).next()?;
        let reason = trial.value.as_ref().err()?;
        let last = trial.output_tail.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or(String::new(), |line| format!(" Its output ends with: {}", line.trim()));
        Some(format!("First failure of {}: {reason}.{last}", configuration.name()))
    })
}

/// What the printed report says about the next step, if nothing is proven better.
fn next(report: &Report) -> Vec<String> {
    let no_plan = plan::no_plan(report).into_iter();
    let reasons = no_plan.flat_map(|(headline, reasons)| [vec![headline + "."], reasons].concat());
    let is_undecided = report.has_judged() && report.conclusion() == Conclusion::NothingProven;
    is_undecided.then(|| text::end_of_session(report)).into_iter().chain(reasons).collect()
}

/// `python3 queues.py` of `/usr/bin/python3 bench/queues.py`. The command of a server is text for a shell.
fn title(command: &[OsString], is_server: bool) -> String {
    if is_server { shell_title(&words::named(command)) } else { shell_title(command) }
}

/// Results for tests.
#[cfg(test)]
pub mod testing {
    use super::*;

    /// A control, a candidate with a pipe in its name that is proven better, and one about which nothing is proven.
    pub fn result() -> JobResult {
        let cells = Cells {
            mean: "1.447 ± 0.055".into(),
            best: "1.433".into(),
            ratio: "1".into(),
            interval: "the control".into(),
            cpu: "1".into(),
            p: "-".into(),
            p_of_spread: "-".into(),
            runs: 7,
            failed: 0,
        };
        let row = |name: &str, outcome, sentence: &str| Row {
            name: name.into(),
            cells: cells.clone(),
            outcome,
            sentence: sentence.into(),
            elapsed_s: 1.5,
        };
        JobResult {
            command: "./server".into(),
            title: "server".into(),
            repeat: "unspin prove ./server".into(),
            verdict: vec!["Proven: steal@a|b is faster.".into()],
            certainty: Some("with 95 % confidence <tight>.".into()),
            warnings: vec!["Disturbance: much.".into()],
            place: "2 CPUs (x), Linux 6".into(),
            unit: "s".into(),
            cpu_per: " per request",
            rows: vec![
                row("system", None, ""),
                row("steal@a|b", Some(Outcome::Better), "steal is better"),
                row("poll", Some(Outcome::NotProven), "nothing about \"poll\""),
            ],
            elapsed_s: 9.0,
            ..JobResult::empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_that_of_the_program_or_of_the_server() {
        let title = |words: &[&str], is_server| {
            super::title(&words.iter().map(Into::into).collect::<Vec<_>>(), is_server)
        };
        assert_eq!(title(&["/usr/bin/python3", "bench/q.py", "80"], false), "python3 q.py");
        assert_eq!(title(&["/opt/a program/server"], false), "server", "only a server's command is split");
        assert_eq!(title(&["/bin/sh", "-c", "exec /opt/bin/server $X"], true), "server");
    }

    #[test]
    fn server_that_was_not_measured_is_named() {
        let mut options = ProveSettings::of(Vec::new());
        options.server.server = Some("/opt/bin/redis-server --save ''".into());
        let result = JobResult::without_report("it did not start", 4, &options);
        assert_eq!(
            (result.title.as_str(), result.command.as_str()),
            ("redis-server", "/opt/bin/redis-server --save ''")
        );
    }
}
