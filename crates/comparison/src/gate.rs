//! `--fail-if-slower`: the decision for a CI job.
//!
//! A gate that compares the point estimate with the limit fails by chance: of two equal commits half seem slower than the other. So it
//! has three outcomes. It is *exceeded* if the whole interval of the slowdown lies beyond the limit, *kept* if none of it
//! does and the floor is within the limit, and otherwise *unsure*; `--fail-if-unsure` decides whether that fails.

use crate::options::CompareOptions;
use crate::units::Units;
use unspin_report::figures::Percent;
use unspin_results::{ComparedFigures, Gate, GateOutcome, Judged};
use unspin_stats::{Direction, Ratio, Settings, holm};

/// By which share a figure became worse, with the ends of the interval; negative if it became better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    pub value: f64,
    pub least: f64,
    pub most: f64,
}

impl Slowdown {
    pub fn of(ratio: Ratio, direction: Direction) -> Slowdown {
        let worse = |times_as_good| worse_by(times_as_good, direction);
        Slowdown { value: worse(ratio.value), least: worse(ratio.upper), most: worse(ratio.lower) }
    }
}

/// By which share a figure became worse that is so many times as good as before.
fn worse_by(times_as_good: f64, direction: Direction) -> f64 {
    match direction {
        Direction::LowerIsBetter => 1.0 / times_as_good - 1.0,
        Direction::HigherIsBetter => 1.0 - times_as_good,
    }
}

/// Decides; none without a limit. Each configuration has its units, none if runs failed. `has_several`: each side has several sessions.
pub fn gate(
    figures: &[(ComparedFigures, Option<Units>)],
    direction: Direction,
    floor: Option<f64>,
    options: &CompareOptions,
    settings: &Settings,
    has_several: bool,
) -> Option<Gate> {
    let limit = options.fail_if_slower?;
    let worst = |compared: &ComparedFigures| Worst::of(&compared.judged, floor, direction);
    let beyond = is_beyond(figures, limit, direction, settings);
    let (mut exceeded, mut unsure) = (Vec::new(), Vec::new());
    for ((compared, _), is_beyond) in figures.iter().zip(beyond) {
        if compared.judged.is_worse() && is_beyond {
            exceeded.push(compared);
        } else if worst(compared).is_none_or(|worst| worst.share() > limit) {
            unsure.push(compared);
        }
    }
    let outcome = match (exceeded.is_empty(), unsure.is_empty()) {
        (false, _) => GateOutcome::Exceeded,
        (true, false) => GateOutcome::Unsure,
        (true, true) => GateOutcome::Kept,
    };
    let names = |of: &[&ComparedFigures]| of.iter().map(|compared| compared.name.clone()).collect();
    let sentence = match outcome {
        GateOutcome::Exceeded => describe_exceeded(&exceeded, limit, direction, has_several),
        GateOutcome::Unsure => {
            let is_lost = figures.iter().any(|(compared, _)| compared.judged.has_failed())
                || figures.iter().all(|(compared, _)| compared.judged.test.is_none());
            let then = match (is_lost, options.fail_if_unsure) {
                (true, _) => "What was not compared is an error (exit code 4), also for a gate",
                (false, true) => "That fails, by --fail-if-unsure",
                (false, false) => "That passes; with --fail-if-unsure it would fail",
            };
            describe_unsure(&unsure, limit, then, has_several, worst)
        }
        GateOutcome::Kept => {
            let limit = Percent::Short.of(limit);
            format!("Gate kept: no configuration is slower than before by more than {limit}.")
        }
    };
    Some(Gate {
        limit,
        outcome,
        exceeded: names(&exceeded),
        unsure: names(&unsure),
        fails_if_unsure: options.fail_if_unsure,
        sentence,
    })
}

/// For each configuration, whether its slowdown is proven to exceed the limit: it is compared with the earlier figures as they would
/// be if they were worse by the limit. Runs that were ended exceed every limit.
fn is_beyond(
    figures: &[(ComparedFigures, Option<Units>)],
    limit: f64,
    direction: Direction,
    settings: &Settings,
) -> Vec<bool> {
    let times_as_good = match direction {
        Direction::LowerIsBetter => 1.0 / (1.0 + limit),
        Direction::HigherIsBetter => 1.0 - limit,
    };
    let test = |judged: &Judged, units: &Option<Units>| {
        units.as_ref().filter(|_| judged.test.is_some())?.with_before(times_as_good).test(settings)
    };
    let tests: Vec<_> = figures.iter().map(|(compared, units)| test(&compared.judged, units)).collect();
    let mut corrected = holm(&tests.iter().flatten().map(|test| test.p).collect::<Vec<f64>>()).into_iter();
    let mut beyond = |test: &Option<_>| match test {
        None => true,
        Some(unspin_stats::independent::IndependentTest { ratio, .. }) => {
            corrected.next().is_some_and(|p| p <= settings.alpha) && ratio.upper < 1.0
        }
    };
    tests.iter().map(&mut beyond).collect()
}

/// By which share a configuration may have become worse.
#[derive(Clone, Copy)]
enum Worst {
    /// The far end of the interval of its slowdown.
    Interval(f64),
    /// The floor, below which nothing can be proven, beyond an interval that ends here.
    Floor { floor: f64, end: f64 },
}

impl Worst {
    /// None if it was not compared.
    fn of(judged: &Judged, floor: Option<f64>, direction: Direction) -> Option<Worst> {
        let test = judged.test?;
        let end = Slowdown::of(test.ratio, direction).most;
        let is_proven = judged.is_worse() || judged.is_better();
        let floor = worse_by(1.0 / test.floor(floor), direction);
        Some(if is_proven || floor <= end { Worst::Interval(end) } else { Worst::Floor { floor, end } })
    }

    fn share(self) -> f64 {
        match self {
            Worst::Interval(end) => end,
            Worst::Floor { floor, .. } => floor,
        }
    }
}

/// "system may be slower by up to 12 %".
fn may_be_slower(name: &str, worst: Worst) -> String {
    let shown = |share| Percent::Short.of(share);
    match worst {
        Worst::Interval(end) => format!("{name} may be slower by up to {}", shown(end)),
        Worst::Floor { floor, end } if end > 0.0 => format!(
            "{name} may be slower by up to {}, the floor, below which nothing is proven here (its interval ends at {})",
            shown(floor),
            shown(end)
        ),
        Worst::Floor { floor, .. } => {
            format!(
                "{name} may be slower by up to {}, the floor, below which nothing is proven here",
                shown(floor)
            )
        }
    }
}

fn describe_exceeded(
    exceeded: &[&ComparedFigures],
    limit: f64,
    direction: Direction,
    has_several: bool,
) -> String {
    let clauses: Vec<String> = exceeded.iter().map(|compared| slower_by(compared, direction)).collect();
    let next = match has_several {
        true => "`unspin meter` shows where the time is lost.",
        false => {
            "To be sure that it is the program and not the session, repeat both sides in turns (--before, --after); `unspin meter` \
             shows where the time is lost."
        }
    };
    format!("Gate exceeded: {}; the limit is {}. {next}", clauses.join("; "), Percent::Short.of(limit))
}

fn describe_unsure(
    unsure: &[&ComparedFigures],
    limit: f64,
    then: &str,
    has_several: bool,
    worst: impl Fn(&ComparedFigures) -> Option<Worst>,
) -> String {
    let clauses: Vec<String> = unsure
        .iter()
        .map(|compared| match worst(compared) {
            Some(worst) => may_be_slower(&compared.name, worst),
            None => format!("{} was not compared", compared.name),
        })
        .collect();
    let hides_limit = |compared: &&ComparedFigures| {
        let rounding = compared.judged.test.and_then(|test| test.rounding);
        rounding.is_some_and(|rounding| rounding - 1.0 > limit)
    };
    let remedy = match unsure.iter().any(hides_limit) {
        true => {
            "Let the program print more digits, or compare larger figures: rounding alone hides the limit"
                .into()
        }
        false => format!(
            "Measure longer (--runs, --time-budget), on a quieter machine (--wait-for-quiet), or in {} sessions",
            if has_several { "more" } else { "several" }
        ),
    };
    format!(
        "Gate unsure: {}; the limit is {}. {then}. {remedy}.",
        clauses.join("; "),
        Percent::Short.of(limit),
    )
}

/// "system is slower by 12 % (8.1 % to 16 %)".
fn slower_by(compared: &ComparedFigures, direction: Direction) -> String {
    let name = &compared.name;
    let Some(test) = compared.judged.test else {
        return format!("{name}'s runs were ended, because they took many times as long as the control");
    };
    let Slowdown { value, least, most } = Slowdown::of(test.ratio, direction);
    let [value, least, most] = [value, least, most].map(|share| Percent::Short.of(share));
    format!("{name} is slower by {value} ({least} to {most})")
}
