//! The printed report: the verdict, the speed of each candidate, then other findings. The noise in detail and the use
//! of the CPUs are printed on request.

pub mod cells;
mod complete_runs;
mod digits;
pub mod disturbance;
pub mod ended_early;
pub mod fixed_time;
mod kernels;
mod locks;
pub mod plan;
mod rates;
mod run_queues;
mod schedulers;
pub mod search;
mod staircase;
pub mod summary;
pub mod waits;

use self::cells::Cells;
use super::budget::duration;
use super::configuration::Configuration;
use super::format::{Scale, count, paragraph};
use super::report::Report;
use super::runner::RunEnd;
use std::fmt::{self, Formatter};
use unspin_launch::output::shell;
use unspin_stats::{Advice, INTERVALS_OF_DIGITS, Quantity, Role, SpreadVerdict, StopReason, Verdict};

/// More rounds than these are not advised.
const ROUNDS_PRACTICAL: u32 = 100;

/// How much of a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What is needed to trust the verdict.
    Brief,
    /// Also the noise, the use of the CPUs, and all columns of the locks.
    Full,
}

/// Prints a report within 100 columns; the full lock tables are wider.
pub struct Text<'a>(pub &'a Report, pub Detail);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some((metered, why)) = self.0.locks.ended_early() {
            ended_early::write(f, self.0, metered, why)?;
            return self.place(f);
        }
        self.heading(f)?;
        if !self.0.has_judged() {
            search::write_outcome(f, self.0)?;
            fixed_time::write(f, self.0)?;
            search::write(f, self.0)?;
            plan::write(f, self.0)?;
            return self.place(f);
        }
        // Empty tables would hide why nothing was measured.
        match self.0.session.rounds {
            0 => complete_runs::write(f, self.0)?,
            _ => self.table(f)?,
        }
        self.verdict(f)?;
        search::write(f, self.0)?;
        if self.0.session.rounds > 0 {
            staircase::write(f, self.0)?;
            rates::write(f, self.0)?;
        }
        waits::write(f, self.0)?;
        run_queues::write(f, self.0)?;
        schedulers::write(f, self.0)?;
        kernels::write(f, self.0)?;
        locks::write(f, self.0, self.1)?;
        plan::write(f, self.0)?;
        self.failures(f)?;
        if self.0.session.rounds > 0 && self.1 == Detail::Full {
            self.noise(f)?;
            self.cpus(f)?;
        }
        self.caveats(f)?;
        self.place(f)
    }
}

/// Prints only the lock tables of a report.
pub struct LockTables<'a>(pub &'a Report);

impl fmt::Display for LockTables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        run_queues::write_tables(f, self.0)?;
        locks::write(f, self.0, Detail::Brief)
    }
}

impl Text<'_> {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", paragraph(&shell::line(&self.0.command), 0))?;
        if let Some(service) = &self.0.service {
            write!(f, "{}", paragraph(&format!("Loaded by: {}", service.load), 0))?;
        }
        if self.0.has_judged() {
            summary::write(f, self.0)?;
            fixed_time::write(f, self.0)?;
        }
        if self.0.interrupted {
            writeln!(f, "Interrupted: the results are those of the runs until then.")?;
        }
        if let Some(error) = &self.0.session.aborted {
            let text = format!("Ended early; the results are those of the runs until then: {error}");
            write!(f, "{}", paragraph(&text, 0))?;
        }
        writeln!(f)
    }

    /// The machine and the build.
    fn place(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Report { machine, build, .. } = self.0;
        let place = format!(
            "{} CPUs ({}), Linux {}, unspin {} ({})",
            machine.cpus, machine.processor, machine.kernel, build.version, build.commit
        );
        write!(f, "{}", paragraph(&place, 0))?;
        if self.0.has_judged() && self.0.session.rounds > 0 && self.1 == Detail::Brief {
            writeln!(f, "--verbose shows the noise in detail, and where the CPUs went.")?;
        }
        Ok(())
    }

    fn noise(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let analysis = &self.0.session.analysis;
        let (Some(sentence), Some(floor)) = (&analysis.noise_floor_sentence, &analysis.noise_floor) else {
            return writeln!(f, "Noise floor: unknown, the control has not run often enough.\n");
        };
        write!(f, "{}", paragraph(sentence, 0))?;
        // One floor in a report: the minimum detectable effect of the same rounds is part of it.
        let power = 100.0 * analysis.settings.power;
        let of = match floor.differs && floor.factor > floor.minimum_detectable_effect {
            _ if floor.is_of_digits() => "This is the largest difference that rounding hides.".to_owned(),
            true => "This is the far end of the interval.".to_owned(),
            false => format!(
                "This is the smallest effect that {} rounds find with a probability of {power:.0} %.",
                floor.rounds
            ),
        };
        writeln!(f, "{}", paragraph(&of, 0))
    }

    fn table(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let analysis = &self.0.session.analysis;
        let scale = cells::scale(self.0);
        let unit = if scale.unit.is_empty() { String::new() } else { format!(" [{}]", scale.unit) };
        writeln!(
            f,
            "{:15} {:>17} {:>9} {:>6} {:>13} {:>6} {:>7} {:>8} {:>4} {:>6}",
            "",
            format!("mean ± sd{unit}"),
            "best n-1",
            "ratio",
            "95 % interval",
            "CPU",
            "p",
            "p spread",
            "runs",
            "failed"
        )?;
        for (index, configuration) in self.0.configurations.iter().enumerate() {
            self.row(f, index, configuration, &scale)?;
        }
        let better = format!(
            "ratio: how many times as good as the control, {}; above 1 is better. CPU: how many times the control's CPU \
             time{}; above 1 is more. p is corrected (Holm). best n-1: the mean of all runs but the worst, which \
             reports of 2002 and 2003 print; the verdict does not use it.",
            analysis.control,
            self.0.cpu_time_per()
        );
        writeln!(f, "{}", paragraph(&better, 0))
    }

    fn row(
        &self,
        f: &mut Formatter<'_>,
        index: usize,
        configuration: &Configuration,
        scale: &Scale,
    ) -> fmt::Result {
        let Cells { mean, best, ratio, interval, cpu, p, p_of_spread, runs, failed } =
            Cells::of(self.0, index, scale);
        writeln!(
            f,
            "{} {mean:>17} {best:>9} {ratio:>6} {interval:>13} {cpu:>6} {p:>7} {p_of_spread:>8} {runs:>4} {failed:>6}",
            head(configuration.name()),
        )
    }

    fn verdict(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Verdict")?;
        if let Some(sentence) = self.0.control_failure() {
            return writeln!(f, "{}", paragraph(&sentence, 2));
        }
        let shown = self.0.configurations.iter().filter(|c| c.candidate.role == Role::Candidate);
        for comparison in shown.filter_map(|c| self.0.comparison(c)) {
            // The summary says that no round is complete, so that nothing can be proven.
            if self.0.session.rounds == 0 && matches!(comparison.verdict, Verdict::NothingProven { .. }) {
                continue;
            }
            write!(f, "{}", paragraph(&comparison.sentence, 2))?;
            let spread = comparison.spread.map(|s| s.verdict);
            if matches!(spread, Some(SpreadVerdict::ProvenSteadier | SpreadVerdict::ProvenMoreErratic)) {
                write!(f, "{}", paragraph(comparison.spread_sentence.as_deref().unwrap_or_default(), 2))?;
            }
        }
        if let Some(comparison) = &self.0.reports_figure {
            write!(f, "{}", paragraph(&format!("The reports' figure: {}", comparison.sentence), 2))?;
        }
        schedulers::write_pairs(f, self.0)?;
        write!(f, "{}", paragraph(&end_of_session(self.0), 2))?;
        writeln!(f)
    }

    fn cpus(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let cpus = self.0.machine.cpus;
        writeln!(f, "Where the {cpus} CPUs went, means of a run")?;
        writeln!(
            f,
            "{:15} {:>8} {:>8} {:>10}  {:>9} {:>9}  {:>19} {:>12}",
            "", "user", "system", "idle/other", "CPU [s]", "wall [s]", "switches: voluntary", "involuntary"
        )?;
        for (configuration, cpu) in self.0.configurations.iter().zip(&self.0.cpu) {
            writeln!(
                f,
                "{} {:>6.1} % {:>6.1} % {:>8.1} %  {:>9.3} {:>9.3}  {:>19} {:>12}",
                head(configuration.name()),
                cpu.user_percent,
                cpu.system_percent,
                cpu.idle_percent,
                cpu.cpu_s,
                cpu.wall_s,
                count(cpu.voluntary_switches),
                count(cpu.involuntary_switches)
            )?;
        }
        writeln!(f)
    }

    fn failures(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, configuration) in self.0.configurations.iter().enumerate() {
            let Some(trial) = self.0.session.failures(index).next() else { continue };
            let reason = trial.value.as_ref().err().map_or("", String::as_str);
            let first = format!("First failure of {}: {reason}.", configuration.name());
            let has_output = !trial.output_tail.trim().is_empty();
            if !has_output && matches!(trial.ending, RunEnd::NotStarted | RunEnd::Exited { code: 0 }) {
                write!(f, "{}", paragraph(&first, 0))?;
            } else {
                write!(f, "{}", paragraph(&format!("{first} The end of its output:"), 0))?;
                let tail = if has_output { &trial.output_tail } else { "(nothing)" };
                for line in tail.lines() {
                    writeln!(f, "  | {line}")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn caveats(&self, f: &mut Formatter<'_>) -> fmt::Result {
        disturbance::write(f, &self.0.session.disturbance, self.1)?;
        let trials = || self.0.session.runs.iter().map(|e| &e.trial);
        let metric = &self.0.session.analysis.metric;
        if metric.quantity == Quantity::Other
            && let Some(figure) = constant(trials().map(|trial| trial.value.as_ref().ok().copied()))
        {
            let cause = match self.0.percentile.as_ref().and_then(|percentile| percentile.tool) {
                Some(tool) => format!("{tool} may print too few digits for a difference to be seen"),
                None => "the expression may match something that is not measured".to_owned(),
            };
            let text = format!(
                "Every run gave the same figure, {figure}{}{}: {cause}.",
                if metric.unit.is_empty() { "" } else { " " },
                metric.unit
            );
            write!(f, "{}", paragraph(&text, 0))?;
        }
        let processes: u32 = trials().map(|t| t.left_processes).sum();
        if processes > 0 {
            writeln!(f, "Runs left {processes} processes behind, which were ended before the next began.")?;
        }
        self.write_left_sets(f)
    }

    fn write_left_sets(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sets = &self.0.left_sets;
        if sets.is_empty() {
            return Ok(());
        }
        let text = format!(
            "Runs that failed seem to have left kernel semaphore sets behind; if no other program created them, remove \
             them: ipcrm -s {}",
            sets.iter().map(i32::to_string).collect::<Vec<_>>().join(" -s ")
        );
        write!(f, "{}", paragraph(&text, 0))
    }
}

/// The figure, if all runs gave the same one, and there are enough runs for that to be strange.
fn constant(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    const RUNS_AT_LEAST: usize = 6;
    let figures: Vec<Option<f64>> = figures.collect();
    let first = figures.first().copied()??;
    (figures.len() >= RUNS_AT_LEAST && figures.iter().all(|figure| *figure == Some(first))).then_some(first)
}

/// Why the session ended, and how many more runs a proof would take.
pub fn end_of_session(report: &Report) -> String {
    let analysis = &report.session.analysis;
    if let Some(shortfall) = report.session.shortfall.as_ref().filter(|_| !report.all_judged_failed()) {
        return format!("The time budget is spent: {}.", shortfall.sentence());
    }
    let ended = match analysis.stop {
        Some(StopReason::NarrowEnough) if analysis.has_intervals_of_digits() => INTERVALS_OF_DIGITS,
        Some(StopReason::NarrowEnough) => "Every interval is narrow enough.",
        Some(StopReason::BudgetSpent) => "The time budget is spent.",
        Some(StopReason::RoundsMax) => "All rounds have been run.",
        Some(StopReason::ControlFailed) => "Stopped, because the control failed.",
        Some(StopReason::NoneLeft) => return "Stopped, because no candidate was left.".into(),
        None => "Cut short.",
    };
    append_advice(ended, analysis.advice.as_ref())
}

/// How many more rounds a proof takes, after the reason for the end.
fn append_advice(ended: &str, advice: Option<&Advice>) -> String {
    match advice {
        Some(advice) if advice.rounds_more > ROUNDS_PRACTICAL => format!(
            "{ended} No practical number of rounds makes the intervals as narrow as ±{:.1} % (the widest, {}'s, has \
             ±{:.1} %): measure on a quieter machine (--wait-for-quiet), or let the program run longer.",
            100.0 * advice.half_width_target,
            advice.widest,
            100.0 * advice.half_width,
        ),
        Some(advice) if advice.rounds_more > 0 => format!(
            "{ended} For intervals of ±{:.1} % (the widest, {}'s, has ±{:.1} %) about {} more {} \
             needed, {}.",
            100.0 * advice.half_width_target,
            advice.widest,
            100.0 * advice.half_width,
            advice.rounds_more,
            if advice.rounds_more == 1 { "round is" } else { "rounds are" },
            duration(advice.time_more_s)
        ),
        _ => ended.into(),
    }
}

/// The name in the first column of a table; a longer name gets its own line.
fn head(name: &str) -> String {
    const COLUMN: usize = 15;
    if name.chars().count() <= COLUMN { format!("{name:COLUMN$}") } else { format!("{name}\n{:COLUMN$}", "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: a figure that is no measurement was compared without a word.
    #[test]
    fn figure_that_never_changes_is_noticed() {
        let constant = |figures: &[Option<f64>]| super::constant(figures.iter().copied());
        assert_eq!(constant(&[Some(7.0); 6]), Some(7.0));
        assert_eq!(constant(&[Some(7.0); 5]), None, "too few runs");
        let mut figures = [Some(7.0); 8];
        figures[5] = Some(7.5);
        assert_eq!(constant(&figures), None);
        figures[5] = None;
        assert_eq!((constant(&figures), constant(&[])), (None, None));
    }

    /// Issue 14: "11542 more rounds are needed, 45002 s".
    #[test]
    fn unpractical_numbers_of_rounds_are_not_advised() {
        let said = |rounds_more, time_more_s| {
            let (half_width, half_width_target) = (0.4, 0.025);
            let advice =
                Advice { widest: "fair".into(), half_width, half_width_target, rounds_more, time_more_s };
            append_advice("The time budget is spent.", Some(&advice))
        };
        assert!(
            said(90, 1200.0).ends_with("about 90 more rounds are needed, 20 min."),
            "{}",
            said(90, 1200.0)
        );
        assert!(said(1, 4.0).ends_with("about 1 more round is needed, 4 s."), "{}", said(1, 4.0));
        let many = said(11_542, 45_002.0);
        assert!(many.contains("No practical number of rounds") && !many.contains("11542"), "{many}");
    }
}
