//! The first lines of the report: what was compared, what is proven, how certain that is. The JSON document has them, too.

use super::super::budget::duration;
use super::super::configuration::{Configuration, OWN_RUN_QUEUE, OWN_SCHEDULER};
use super::super::format::{p_value, paragraph};
use super::super::report::Report;
use super::digits;
use crate::next::baseline;
use crate::percentile::PercentileEvidence;
use std::fmt::{self, Formatter};
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_locks::LockKind;
use unspin_report::figures::{capital, list};
use unspin_stats::{
    Comparison, CutOff, Direction, NotProvenReason, Quantity, Ratio, TOO_FEW_DIGITS, UNBOUNDED, Verdict,
    effect, format_unbounded, three_digits,
};

/// Prints the lines. If the control failed, that replaces the second and third.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    write!(f, "{}", paragraph(&format!("Compared: {}", describe_session(report)), 0))?;
    write!(f, "{}", paragraph(&format!("Proven: {}", outcome(report)), 0))?;
    if let Some(certainty) = how_sure(report) {
        write!(f, "{}", paragraph(&format!("How sure: {certainty}"), 0))?;
    }
    let remarks = evidence(report).into_iter().chain(caution(report));
    remarks.into_iter().try_for_each(|text| write!(f, "{}", paragraph(&text, 0)))
}

/// What was compared.
pub fn compared(report: &Report) -> Option<String> {
    report.has_judged().then(|| describe_session(report))
}

/// What is proven, or why nothing is. A candidate was judged.
pub fn outcome(report: &Report) -> String {
    if let Some(failure) = report.control_failure() {
        return format!("nothing. {failure}");
    }
    if report.all_judged_failed() {
        let failed = report.configurations.iter().filter(|c| c.is_judged()).map(Configuration::name);
        return format!("nothing, because {} failed.", list(&failed.collect::<Vec<_>>(), "and"));
    }
    if let Some(shortfall) = &report.session.shortfall {
        let rounds = match report.session.rounds {
            0 => "no round was".to_owned(),
            1 => "only 1 round was".to_owned(),
            rounds => format!("only {rounds} rounds were"),
        };
        return format!("nothing, because {rounds} run. {}.", capital(&shortfall.sentence()));
    }
    match report.session.rounds == 0 && report.interrupted {
        true => "nothing, because no round was complete.".into(),
        false => proven(report),
    }
}

/// How certain the proof is; none if there can be none.
pub fn how_sure(report: &Report) -> Option<String> {
    (!report.all_judged_failed() && report.control_failure().is_none() && !has_no_round(report))
        .then(|| certainty(report))
}

/// What the figures rest on: how many requests, if they are percentiles; and what their digits hide. None if neither matters.
pub fn evidence(report: &Report) -> Option<String> {
    if report.control_failure().is_some() || report.session.rounds == 0 {
        return None;
    }
    let percentile = report.percentile.as_ref();
    let has_cpu_time = report.session.analysis.comparisons.iter().any(|comparison| comparison.cpu.is_some());
    // A load of a fixed time serves more requests if the server is faster.
    let unequal = percentile.filter(|_| has_cpu_time && !report.is_cpu_time_per_request()).map(|_| {
        "CPU time is compared run for run: that is right only if every run serves as many requests."
            .to_owned()
    });
    let sentences = percentile.map(PercentileEvidence::text).into_iter().chain(unequal);
    sentences.chain(digits::sentence(report)).reduce(|text, sentence| format!("{text} {sentence}"))
}

/// What makes the figures doubtful.
pub fn caution(report: &Report) -> Option<String> {
    let analysis = &report.session.analysis;
    let says_nothing = report.control_failure().is_some() || has_no_round(report);
    let doubts =
        baseline::warning(&analysis.control, analysis.noise_floor).into_iter().chain(preload_cost(report));
    doubts.reduce(|text, sentence| format!("{text} {sentence}")).filter(|_| !says_nothing)
}

/// That the library itself costs the program time, which a ratio to the control does not show.
fn preload_cost(report: &Report) -> Option<String> {
    let no_preload = report.session.no_preload.as_ref()?;
    let Verdict::ProvenFaster { ratio } = no_preload.verdict else { return None };
    let claim = claim(report, &no_preload.name, ratio);
    Some(format!(
        "{}: the preload library costs that much, and a plan that is deployed pays it, too.",
        capital(&claim)
    ))
}

/// Whether ^C came before a round was complete.
fn has_no_round(report: &Report) -> bool {
    report.session.shortfall.is_none() && report.session.rounds == 0 && report.interrupted
}

/// "adaptive and poll with system (libc's own locks and waits), by wall time, lower is better: 33 rounds in 8 s".
fn describe_session(report: &Report) -> String {
    let session = &report.session;
    let metric = &session.analysis.metric;
    let better = match metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let names: Vec<&str> =
        report.configurations.iter().filter(|c| c.is_judged()).map(Configuration::name).collect();
    let control = &session.analysis.control;
    let explained = match control.as_str() {
        name if name == Engine::Kernel.name() => " (the kernel's own System V IPC)",
        name if name == LockKind::System.name() => " (libc's own locks and waits)",
        OWN_SCHEDULER => " (the kernel's own)",
        OWN_RUN_QUEUE => " (the run queue that the program chooses)",
        _ if report.run_queue == Some(RunQueue::Global) => " (one run queue for all workers)",
        _ if report.run_queue == Some(RunQueue::Percpu) => " (a run queue for each worker)",
        _ => "",
    };
    format!(
        "{} with {control}{explained}, by {}, {better}: {} of {} configurations in random order, {}",
        list(&names, "and"),
        metric.name,
        match session.rounds {
            0 => "no complete round".into(),
            1 => "1 round".into(),
            rounds => format!("{rounds} rounds"),
        },
        report.configurations.len(),
        duration(session.elapsed.as_secs_f64().round())
    )
}

/// "poll is faster, 3.1 times as fast as system, with 1.3 times the CPU time; nothing about adaptive."
fn proven(report: &Report) -> String {
    let control = &report.session.analysis.control;
    let (mut clauses, mut undecided, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for comparison in judged_comparisons(report) {
        let name = &comparison.name;
        match &comparison.verdict {
            Verdict::ProvenFaster { ratio } | Verdict::ProvenSlower { ratio } => {
                clauses.push(claim(report, name, *ratio) + &price(report, comparison));
            }
            Verdict::NothingProven { doubt, .. } => {
                undecided.push(name.as_str());
                if let NotProvenReason::BelowFloor { floor } = doubt {
                    let of_digits = comparison.rounding.is_some_and(|rounding| rounding >= *floor);
                    let what = if of_digits { "what rounding can make" } else { "the noise floor" };
                    below.push(format!("{name}'s difference is below {what}, {}", effect(*floor)));
                }
            }
            Verdict::Collapsed(CutOff { limit_s, .. }) => {
                clauses.push(format!("{name} collapsed, and was stopped after {limit_s:.0} s"));
            }
            Verdict::Hangs(CutOff { limit_s, .. }) => {
                clauses.push(format!("{name} hangs, and was stopped after {limit_s:.0} s"));
            }
            Verdict::Withheld(CutOff { cut_off, runs, limit_s, .. }) => clauses.push(format!(
                "nothing about {name}, because {cut_off} of its {runs} runs {} stopped after {limit_s:.0} s",
                if *cut_off == 1 { "was" } else { "were" }
            )),
            Verdict::GivenUp { times, proven: true, .. } => clauses.push(format!(
                "{name} is slower, each run took over {} times as long as {control}'s slowest, and was given up early",
                three_digits(*times, 1)
            )),
            Verdict::GivenUp { .. } => clauses.push(format!("{name} was given up, as its runs took too long")),
            Verdict::Failed { .. } => clauses.push(format!("{name} failed")),
        }
    }
    match (clauses.is_empty(), undecided.is_empty()) {
        (true, _) => {
            let either = undecided.join(" or ");
            let floors = if below.is_empty() { String::new() } else { format!(": {}", list(&below, "and")) };
            return format!(
                "nothing. The runs do not tell whether {either} is better or worse than {control}{floors}."
            );
        }
        (false, false) => clauses.push(format!("nothing about {}", list(&undecided, "and"))),
        (false, true) => (),
    }
    format!("{}.", clauses.join("; "))
}

/// "poll is 3.1 times as fast as system"; for figures other than wall time, the figure and its better direction.
fn claim(report: &Report, name: &str, ratio: Ratio) -> String {
    let control = &report.session.analysis.control;
    let metric = &report.session.analysis.metric;
    let (times, _) = format_ratio(report, ratio);
    match (metric.quantity, ratio.value > 1.0) {
        (Quantity::WallTime, true) => format!("{name} is faster, {times} times as fast as {control}"),
        (Quantity::WallTime, false) => format!("{name} is slower, {times} times as long as {control}"),
        // As the table has it.
        (Quantity::Other, is_better) if metric.direction == Direction::LowerIsBetter => {
            let better = if is_better { "better" } else { "worse" };
            format!("{name} is {better}, {times} times as good as {control} by {}", metric.name)
        }
        (_, is_better) => {
            let better = if is_better { "better" } else { "worse" };
            format!("{name} is {better}, its {} is {times} times {control}'s", metric.name)
        }
    }
}

/// ", with 1.31 times the CPU time": a reader who stops at the first line knows the price. Empty if the CPU times do not differ, or
/// if they are the metric.
fn price(report: &Report, comparison: &Comparison) -> String {
    let is_metric = report.session.analysis.metric.quantity == Quantity::CpuTime;
    let price = comparison.cpu.filter(|_| !is_metric).and_then(|cost| cost.price());
    price.map_or(String::new(), |price| format!(", with {price}"))
}

/// The ratio and its interval as the sentence needs them: times as fast, times as long, or the quotient of the figures.
fn format_ratio(report: &Report, ratio: Ratio) -> (String, String) {
    let metric = &report.session.analysis.metric;
    let is_inverted = match metric.quantity {
        Quantity::WallTime => ratio.value < 1.0,
        Quantity::CpuTime => true,
        Quantity::Other => false,
    };
    let ratio = match is_inverted {
        true => Ratio { value: 1.0 / ratio.value, lower: 1.0 / ratio.upper, upper: 1.0 / ratio.lower },
        false => ratio,
    };
    let (value, [lower, upper]) = ratio.shown();
    (value, format!("{lower} to {upper}"))
}

/// The interval of the greatest proven difference; or, if nothing is proven, the differences that may remain
/// undetected.
fn certainty(report: &Report) -> String {
    let distance = |comparison: &&Comparison| comparison.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
    let is_proven = |comparison: &&Comparison| {
        matches!(comparison.verdict, Verdict::ProvenFaster { .. } | Verdict::ProvenSlower { .. })
    };
    let best =
        judged_comparisons(report).filter(is_proven).max_by(|a, b| distance(a).total_cmp(&distance(b)));
    let analysis = &report.session.analysis;
    let floor = analysis.noise_floor.map_or(String::new(), |floor| {
        let below = effect(floor.factor);
        match floor.is_of_digits() {
            true => format!("; differences below {below} are within the steps of the figures"),
            false => {
                format!(
                    "; differences below {below} are within the noise, measured by running {} twice",
                    analysis.control
                )
            }
        }
    });
    if let Some((comparison, ratio)) = best.and_then(|best| best.ratio.map(|ratio| (best, ratio))) {
        let (_, interval) = format_ratio(report, ratio);
        let p = comparison.difference_p_corrected.map_or(String::new(), |p| format!(", p {}", p_value(p)));
        let confidence = 100.0 * analysis.settings.confidence;
        return format!(
            "with {confidence:.0} % confidence {}'s factor is {interval}{p}, {} rounds{floor}.",
            comparison.name, comparison.rounds
        );
    }
    let hidden = judged_comparisons(report).filter_map(|comparison| match comparison.verdict {
        Verdict::NothingProven { could_hide, .. } => could_hide,
        _ => None,
    });
    match hidden.max_by(f64::total_cmp) {
        Some(factor) if factor < UNBOUNDED => {
            format!("a difference of up to {} may be undetected.", effect(factor))
        }
        None if judged_comparisons(report).any(|comparison| comparison.verdict.is_slower()) => {
            "the verdict below says by which rule.".into()
        }
        Some(_) if judged_comparisons(report).all(Comparison::is_limited_by_digits) => {
            format!("{TOO_FEW_DIGITS}.")
        }
        _ => format!("{}.", format_unbounded(report.session.rounds)),
    }
}

fn judged_comparisons(report: &Report) -> impl Iterator<Item = &Comparison> {
    let judged = report.configurations.iter().filter(|configuration| configuration.is_judged());
    judged.filter_map(|configuration| report.comparison(configuration))
}
