//! The figures of dbt1 as the report of 2002 prints them, beside the verdict.

use super::super::configuration::Configuration;
use super::super::format::paragraph;
use super::super::report::Report;
use super::super::session::Session;
use std::fmt::{self, Formatter};
use unspin_launch::program::workload::BOGOTRANSACTIONS;
use unspin_stats::{RateTable, Role, effect};

/// Runs of the report.
const RUNS: usize = 5;

/// Prints the table of the control, its A/A pair and each candidate; nothing for other figures.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let session = &report.session;
    if session.analysis.metric.name != BOGOTRANSACTIONS {
        return Ok(());
    }
    let is_shown = |configuration: &Configuration| {
        configuration.candidate.role != Role::Candidate || configuration.is_judged()
    };
    let shown: Vec<(&str, Vec<f64>)> = report
        .configurations
        .iter()
        .enumerate()
        .filter(|(_, configuration)| is_shown(configuration))
        .map(|(index, configuration)| (configuration.name(), rates(session, index)))
        .filter(|(_, rates)| rates.len() >= 2)
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let of = match session.rounds as usize {
        rounds if rounds > RUNS => format!(", of the first {RUNS} of {rounds} rounds"),
        _ => String::new(),
    };
    let heading = format!("In the form of DBT-1's report of 2002{of} (BT: bogotransactions per second)");
    write!(f, "{}", paragraph(&heading, 0))?;
    for (name, rates) in &shown {
        writeln!(f, "  {name}")?;
        for line in RateTable(rates).to_string().lines() {
            writeln!(f, "    {line}")?;
        }
    }
    if let (Some(floor), [(control, first), (_, second), ..]) = (&session.analysis.noise_floor, &shown[..]) {
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
        let differ = 100.0 * (mean(second) / mean(first) - 1.0).abs();
        let spread = format!(
            "Spread of the A/A pair: the two averages of {control} differ by {differ:.1} %; differences below {} are within the noise.",
            effect(floor.factor)
        );
        write!(f, "{}", paragraph(&spread, 2))?;
    }
    writeln!(f)
}

/// The rates of the first rounds in which the run did not fail.
fn rates(session: &Session, configuration: usize) -> Vec<f64> {
    session.trials(configuration).filter_map(|trial| trial.value.as_ref().ok().copied()).take(RUNS).collect()
}
