//! The printed report.

use super::measurement::ROUNDS_MIN;
use super::report::{ScaleReport, ScaledConfiguration};
use crate::format::{Percent, paragraph, significant};
use crate::next;
use std::fmt::{self, Formatter};
use unspin_report::{DISTURBED, shell_line};
use unspin_scaling::fit::{FigureSource, Validation};
use unspin_scaling::misses;
use unspin_scaling::program::WaitStyle;

/// Prints a report within 100 columns.
pub struct Text<'a>(pub &'a ScaleReport);

/// The width of the longest bar.
const BAR: f64 = 16.0;

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        write!(f, "{}", paragraph(&shell_line(&report.command), 0))?;
        if report.interrupted {
            let kept = if report.rounds < ROUNDS_MIN { "runs" } else { "complete rounds" };
            writeln!(f, "Interrupted: the results are those of the {kept} until then.")?;
        }
        if report.rounds < ROUNDS_MIN {
            return runs(f, report);
        }
        let cpus: Vec<String> = report.measured_cpus.iter().map(u32::to_string).collect();
        let cost = &report.machine_cost;
        let measured = format!(
            "Measured on {} CPUs, {} rounds in random order, {:.0} s. All other rows are predictions. Between this machine's \
             CPUs a cache line takes {}, a sleep with its wake-up {} of CPU time ({} within one CPU, {} where the scheduler places the threads).",
            cpus.join(" and "),
            report.rounds,
            report.elapsed_s,
            time(cost.transfer_s),
            time(cost.sleep_across_s),
            time(cost.sleep_here_s),
            time(cost.sleep_placed_s),
        );
        write!(f, "{}", paragraph(&measured, 0))?;
        if let Some(percentile) = &report.percentile {
            write!(f, "{}", paragraph(&percentile.text(), 0))?;
        }
        writeln!(f)?;
        let all = report.configurations.iter().flat_map(|c| &c.fit.predictions);
        let most = all.filter(|p| p.source != FigureSource::Unborne).map(|p| p.throughput);
        let most = most.fold(0.0, f64::max);
        for (n, configuration) in report.configurations.iter().enumerate() {
            let role = if n == 0 { " (the control)" } else { "" };
            writeln!(f, "{}{role}: throughput, {}", configuration.name, report.unit())?;
            table(f, configuration, most)?;
            write!(f, "{}", paragraph(&lock(configuration), 2))?;
            for validation in &configuration.fit.validations {
                write!(f, "{}", paragraph(&describe_check(validation), 2))?;
            }
            if let Some(text) = cost_of(configuration) {
                write!(f, "{}", paragraph(&text, 2))?;
            }
            for text in misses(configuration) {
                write!(f, "{}", paragraph(&text, 2))?;
            }
            writeln!(f)?;
        }
        write_comparisons(f, report)?;
        for failure in &report.failures {
            write!(f, "{}", paragraph(failure, 0))?;
        }
        let (stolen, others) = report.disturbance.percent();
        if stolen + others >= 100.0 * DISTURBED {
            let text = format!(
                "Other programs took {others:.0} % of the CPUs during the runs, the hypervisor {stolen:.0} %: all figures \
                 contain that. Repeat on a quiet machine before you rely on them."
            );
            write!(f, "{}", paragraph(&text, 0))?;
        }
        next::write(f, &next::scale::next(report))?;
        let place = format!(
            "{} CPUs ({}), Linux {}, unspin {} ({})",
            report.machine.cpus,
            report.machine.processor,
            report.machine.kernel,
            report.unspin.version,
            report.unspin.commit
        );
        write!(f, "{}", paragraph(&place, 0))
    }
}

/// The runs alone: they are too few for a fit.
fn runs(f: &mut Formatter<'_>, report: &ScaleReport) -> fmt::Result {
    writeln!(
        f,
        "Nothing is predicted: a fit needs {ROUNDS_MIN} complete rounds. Measured, in {}:",
        report.unit()
    )?;
    for (n, name) in report.names.iter().enumerate() {
        for &cpus in &report.measured_cpus {
            let of_this = report.runs.iter().filter(|run| run.configuration == n && run.cpus == cpus);
            let figures: Vec<String> = of_this.map(|run| significant(run.throughput)).collect();
            if !figures.is_empty() {
                let text = format!("{name}, {}: {}", on_cpus(cpus), figures.join(", "));
                write!(f, "{}", paragraph(&text, 2))?;
            }
        }
    }
    for failure in &report.failures {
        write!(f, "{}", paragraph(failure, 0))?;
    }
    next::write(f, &next::scale::next(report))
}

fn on_cpus(cpus: u32) -> String {
    if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") }
}

fn table(f: &mut Formatter<'_>, configuration: &ScaledConfiguration, most: f64) -> fmt::Result {
    let one = configuration.fit.predictions[0].throughput;
    writeln!(f, "  CPUs  throughput  95 % interval         of one CPU    USL")?;
    for prediction in &configuration.fit.predictions {
        let interval = prediction
            .interval
            .map_or("unknown".into(), |(low, high)| format!("{} – {}", significant(low), significant(high)));
        let (bar, source) = match prediction.source {
            FigureSource::Measured => ('█', "measured"),
            FigureSource::Predicted => ('▒', "predicted"),
            FigureSource::FarBeyond | FigureSource::Unborne => ('░', "predicted, far beyond"),
        };
        let law = prediction.by_law.map_or("-".into(), |law| format!("{:.2}", law / one));
        if prediction.source == FigureSource::Unborne {
            let (cpus, none) = (prediction.cpus, "-");
            writeln!(f, "{cpus:>6}  {none:>10}  {interval:<20}  {none:>10}  {law:>5}  no prediction")?;
            continue;
        }
        let length = (BAR * prediction.throughput / most).round().max(1.0) as usize;
        writeln!(
            f,
            "{:>6}  {:>10}  {interval:<20}  {:>10.2}  {law:>5}  {} {source}",
            prediction.cpus,
            significant(prediction.throughput),
            prediction.throughput / one,
            bar.to_string().repeat(length),
        )?;
    }
    Ok(())
}

/// What the model knows of the lock.
fn lock(configuration: &ScaledConfiguration) -> String {
    let profile = &configuration.fit.model.profile;
    let threads = format!("{} threads can run at once", profile.threads);
    let Some((lock, name)) = configuration.lock.as_ref().and_then(|l| Some((l, l.name.as_ref()?))) else {
        return format!(
            "No lock is contended, so the model has none: CPU time for each unit, more of it for sleeps across CPUs ({} \
             sleeps a unit); {threads}.",
            significant(profile.sleeps)
        );
    };
    let several = if lock.locks > 1 { format!("{} locks ", lock.locks) } else { "the lock ".into() };
    let writing = if lock.for_writing { " for writing" } else { "" };
    let how = match lock.style {
        WaitStyle::Spin => "waiters spin",
        WaitStyle::Barging => "waiters sleep, running threads may overtake them",
        WaitStyle::HandOff => "waiters sleep, in strict order",
    };
    format!(
        "The model: {several}{name}, held{writing} for {} of the CPU time on one CPU, {} each time, {} acquisitions a unit; {how}; \
         {threads}.",
        Percent::TwoDigits.of(lock.share),
        time(lock.hold_s),
        significant(lock.acquisitions),
    )
}

fn describe_check(validation: &Validation) -> String {
    let interval = validation.error_interval.map_or(String::new(), |(low, high)| {
        format!(" (95 % interval {:+.0} to {:+.0} %)", 100.0 * low, 100.0 * high)
    });
    let from = if validation.from == 1 { "1 CPU".into() } else { format!("up to {} CPUs", validation.from) };
    format!(
        "Checked: the fit on {from} predicts {} for {}; measured {}: an error of {:+.0} %{interval}.",
        significant(validation.predicted),
        validation.cpus,
        significant(validation.measured),
        100.0 * validation.error
    )
}

/// The fitted cost.
fn cost_of(configuration: &ScaledConfiguration) -> Option<String> {
    let fit = &configuration.fit;
    let (low, high) = fit.cost_interval_s?;
    let what = match (fit.model.profile.has_lock(), fit.model.profile.style) {
        (false, _) => "What a unit costs more on two CPUs".to_owned(),
        (true, WaitStyle::Spin | WaitStyle::HandOff) => "A hand-over of the contended lock".to_owned(),
        (true, WaitStyle::Barging) => "A contended acquisition (sleep and wake-up)".to_owned(),
    };
    Some(format!(
        "{what}: {} by the probe alone, {} as fitted ({} to {}).",
        time(fit.probed_cost_s),
        time(fit.model.cost_s),
        time(low),
        time(high)
    ))
}

/// What the model does not have, as far as the runs show it.
fn misses(configuration: &ScaledConfiguration) -> Vec<String> {
    let has_lock = configuration.lock.as_ref().is_some_and(|lock| lock.name.is_some());
    misses::sentences(&configuration.sleeps, &configuration.busy, has_lock)
}

/// Candidates against the control on the predicted CPUs within reach.
fn write_comparisons(f: &mut Formatter<'_>, report: &ScaleReport) -> fmt::Result {
    let Some((control, candidates)) = report.configurations.split_first() else { return Ok(()) };
    for candidate in candidates {
        let pairs = control.fit.predictions.iter().zip(&candidate.fit.predictions);
        let ratios: Vec<String> = pairs
            .filter(|(a, b)| {
                [a, b].iter().all(|p| matches!(p.source, FigureSource::Measured | FigureSource::Predicted))
            })
            .map(|(a, b)| {
                let is_prediction = if a.source == FigureSource::Measured { "" } else { " (predicted)" };
                format!("{:.2} on {}{is_prediction}", b.throughput / a.throughput, a.cpus)
            })
            .collect();
        let text = format!("{} against {}: {} CPUs.", candidate.name, control.name, ratios.join(", "));
        write!(f, "{}", paragraph(&text, 0))?;
    }
    Ok(())
}

/// A short time with its unit.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1e-3 => format!("{:.1} ms", 1e3 * s),
        s if s >= 1e-6 => format!("{:.1} us", 1e6 * s),
        s => format!("{:.0} ns", 1e9 * s),
    }
}
