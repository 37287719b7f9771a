//! The English sentences.

use crate::comparability::sessions;
use crate::floor::FloorCause;
use unspin_report::figures::{capital, list, p_value};
use unspin_results::{
    Basis, ComparisonConclusion, ConfigurationVerdict, Judged, Obstacle, ResultComparison, SessionSummary,
    Untested,
};
use unspin_stats::independent::{IndependentTest, IndependentVerdict, UNITS_MIN};
use unspin_stats::{Direction, Metric, Quantity, Ratio, TOO_FEW_DIGITS, UNBOUNDED, effect};

/// What one session on each side does not show, and what does.
pub fn limit(basis: Basis) -> &'static str {
    match basis {
        Basis::Figures => {
            "One session on each side does not show how much sessions of one machine differ from each other: a difference may be that \
             of the sessions. To be sure, measure each side at least three times, in turns, and name all files (--before, --after)."
        }
        Basis::Gains => {
            "One session on each side does not show how much the gain differs from session to session. To be sure, measure each side at \
             least three times, and name all files (--before, --after)."
        }
    }
}

/// The sentence of each configuration, and those of the whole result.
pub fn write_sentences(result: &mut ResultComparison) {
    let (metric, control) = (result.metric.clone(), result.control.clone());
    let causes = |judged: Vec<&Judged>, basis| -> Vec<FloorCause> {
        judged.into_iter().map(|judged| cause(result, judged, basis)).collect()
    };
    let of_figures_causes = causes(result.figures.iter().map(|c| &c.judged).collect(), Basis::Figures);
    let of_gains_causes = causes(result.gains.iter().map(|c| &c.judged).collect(), Basis::Gains);
    for (compared, cause) in result.figures.iter_mut().zip(of_figures_causes) {
        let sentence = of_figures(&compared.name, &compared.judged, &metric, cause);
        compared.judged.sentence = sentence + &cpu_sentence(&compared.judged, Basis::Figures, &control);
    }
    for (compared, cause) in result.gains.iter_mut().zip(of_gains_causes) {
        let sides = [&compared.before, &compared.after].map(|side| side.as_ref().map(|side| side.value));
        let sentence = of_gain(&compared.name, &compared.judged, &control, sides, cause);
        compared.judged.sentence = sentence + &cpu_sentence(&compared.judged, Basis::Gains, &control);
    }
    result.compared = describe(result);
    result.sentence = conclusion(result);
    result.certainty = certainty(result);
}

/// Why smaller differences than the floor of this comparison are not ranked.
fn cause(result: &ResultComparison, judged: &Judged, basis: Basis) -> FloorCause {
    let common = common_floor(result, basis);
    let Some(test) = &judged.test else { return FloorCause::Noise };
    let floor = match judged.verdict {
        ConfigurationVerdict::Tested(IndependentVerdict::BelowFloor { floor, .. }) => floor,
        _ => own_floor(test, common),
    };
    FloorCause::of(result, test, (floor, common), basis)
}

/// The floor of all comparisons of figures, or of gains.
fn common_floor(result: &ResultComparison, basis: Basis) -> Option<f64> {
    match basis {
        Basis::Figures => result.floor,
        Basis::Gains => result.gains_floor,
    }
}

/// The floor of one comparison, as far as it is known before the runs are judged; 1 if nothing of it is.
fn own_floor(test: &IndependentTest, common: Option<f64>) -> f64 {
    test.floor(common.or(Some(1.0)))
}

fn of_figures(name: &str, judged: &Judged, metric: &Metric, cause: FloorCause) -> String {
    let Some((test, verdict)) = tested(judged) else { return untested(name, judged) };
    let (phrase, interval) = quotient(test.ratio, metric);
    let figures = figures(test, judged.p_corrected, &interval);
    match verdict {
        IndependentVerdict::ProvenBetter => format!("{name} is better: {phrase} ({figures}), proven."),
        IndependentVerdict::ProvenWorse => format!("{name} is worse: {phrase} ({figures}), proven."),
        unproven => {
            format!("{name}: {phrase} in these runs ({figures}), {}.", unproven_because(unproven, cause))
        }
    }
}

fn of_gain(name: &str, judged: &Judged, control: &str, sides: [Option<f64>; 2], cause: FloorCause) -> String {
    let Some((test, verdict)) = tested(judged) else {
        return untested(&format!("The gain of {name}"), judged);
    };
    let (value, [lower, upper]) = test.ratio.shown();
    let gains = match sides {
        [Some(before), Some(after)] => {
            format!("{} and then {} times as good as {control}", times(before), times(after))
        }
        _ => "unknown".into(),
    };
    let figures = figures(test, judged.p_corrected, &format!("{lower}–{upper}"));
    let gain = format!("the gain of {name} over {control} is {value} times that before ({gains}; {figures})");
    match verdict {
        IndependentVerdict::ProvenBetter => format!("{}: larger, proven.", capital(&gain)),
        IndependentVerdict::ProvenWorse => format!("{}: smaller, proven.", capital(&gain)),
        unproven => format!("{} in these runs, {}.", capital(&gain), unproven_because(unproven, cause)),
    }
}

fn tested(judged: &Judged) -> Option<(IndependentTest, IndependentVerdict)> {
    match (&judged.verdict, judged.test) {
        (ConfigurationVerdict::Tested(verdict), Some(test)) => Some((test, *verdict)),
        _ => None,
    }
}

/// "it takes 1.12 times as long as before", and the ends of that factor.
fn quotient(ratio: Ratio, metric: &Metric) -> (String, String) {
    let is_inverted = is_inverted(ratio, metric);
    let shown = if is_inverted { inverse(ratio) } else { ratio };
    let (value, [lower, upper]) = shown.shown();
    let phrase = match metric.quantity {
        Quantity::WallTime if is_inverted => format!("it takes {value} times as long as before"),
        Quantity::WallTime => format!("it is {value} times as fast as before"),
        Quantity::CpuTime | Quantity::Other => format!("its {} is {value} times that before", metric.name),
    };
    (phrase, format!("{lower}–{upper}"))
}

/// Whether a sentence has the inverse of this ratio: times as long, or the quotient of figures of which less is better. A time whose
/// direction is open is stated as in the table.
pub fn is_inverted(ratio: Ratio, metric: &Metric) -> bool {
    match metric.quantity {
        Quantity::WallTime => ratio.value < 1.0 && !ratio.includes_one(),
        Quantity::CpuTime | Quantity::Other => metric.direction == Direction::LowerIsBetter,
    }
}

fn inverse(ratio: Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, lower: 1.0 / ratio.upper, upper: 1.0 / ratio.lower }
}

fn figures(test: IndependentTest, p_corrected: Option<f64>, interval: &str) -> String {
    let p = p_value(p_corrected.unwrap_or(test.p));
    let p = if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") };
    format!("95 % interval {interval}, {p}")
}

fn unproven_because(verdict: IndependentVerdict, cause: FloorCause) -> String {
    match verdict {
        IndependentVerdict::NothingProven { could_hide } if could_hide < UNBOUNDED => {
            format!("no difference proven; one of up to {} either way could still hide", effect(could_hide))
        }
        IndependentVerdict::BelowFloor { floor, .. } => {
            format!("no difference proven, because {}", cause.because(floor))
        }
        IndependentVerdict::TooFewUnits { needed } => {
            format!(
                "no difference proven: so few runs cannot prove one, {needed} on each side are the least that can (--runs)"
            )
        }
        _ if cause == FloorCause::Digits => format!("no difference proven; {TOO_FEW_DIGITS}"),
        _ => "no difference proven; it may have any size: allow more rounds, or measure on a quieter machine"
            .into(),
    }
}

fn untested(name: &str, judged: &Judged) -> String {
    let ConfigurationVerdict::Untested(untested) = &judged.verdict else {
        return format!("{name} was not compared.");
    };
    match untested {
        Untested::TooFew { units: [before, after] } => format!(
            "{name} was not compared: {before} and {after} runs are too few; {UNITS_MIN} on each side are the least that can be \
             compared (--runs)."
        ),
        Untested::NoValues { before, after } => {
            let sides = [("before", before), ("after", after)];
            let obstacles = sides
                .into_iter()
                .filter_map(|(side, obstacle)| Some(describe_obstacle(obstacle.as_ref()?, side)));
            let what = match untested.has_collapsed() {
                true => "is worse",
                false => "was not compared",
            };
            format!("{name} {what}: {}.", obstacles.collect::<Vec<String>>().join("; "))
        }
    }
}

fn describe_obstacle(obstacle: &Obstacle, side: &str) -> String {
    match obstacle {
        Obstacle::Failed { failed, runs, reason } => {
            format!("{failed} of {runs} runs failed {side} (first: {reason})")
        }
        Obstacle::CutOff { cut_off, runs, limit_s } => {
            format!("{cut_off} of {runs} runs were ended {side}, after {limit_s:.0} s")
        }
        Obstacle::NoRuns => format!("no round was complete {side}"),
        Obstacle::Control { name, why } => format!("of {name}, {}", describe_obstacle(why, side)),
    }
}

/// What is proven: "system is worse, it takes 1.12 times as long as before; nothing about poll."
fn conclusion(result: &ResultComparison) -> String {
    let (mut clauses, mut undecided) = (Vec::new(), Vec::new());
    for (name, judged) in result.deciding() {
        match tested(judged) {
            Some((test, IndependentVerdict::ProvenBetter | IndependentVerdict::ProvenWorse)) => {
                clauses.push(claim(result, name, test.ratio) + &price(result, judged));
            }
            Some(_) => undecided.push(name),
            None if judged.is_worse() => {
                clauses.push(format!("{name}'s runs were ended, as they took too long"))
            }
            None if judged.has_failed() => clauses.push(format!("{name} fails")),
            None => undecided.push(name),
        }
    }
    let what = match result.basis {
        Basis::Figures => "better or worse than before",
        Basis::Gains => "faster or slower over the control than before",
    };
    match (clauses.is_empty(), undecided.is_empty()) {
        (true, true) => "nothing, because the results have no configuration to compare.".into(),
        (true, false) if result.conclusion == ComparisonConclusion::Failed => {
            format!("nothing. {} could not be compared.", list(&undecided, "and"))
        }
        (true, false) => {
            format!("nothing. The runs do not tell whether {} is {what}.", list(&undecided, "or"))
        }
        (false, true) => format!("{}.", clauses.join("; ")),
        (false, false) => format!("{}; nothing about {}.", clauses.join("; "), list(&undecided, "and")),
    }
}

fn claim(result: &ResultComparison, name: &str, ratio: Ratio) -> String {
    match result.basis {
        Basis::Figures => {
            let better = if ratio.value > 1.0 { "better" } else { "worse" };
            format!("{name} is {better}, {}", quotient(ratio, &result.metric).0)
        }
        Basis::Gains => {
            let larger = if ratio.value > 1.0 { "larger" } else { "smaller" };
            format!(
                "the gain of {name} over {} is {larger}, {} times that before",
                result.control,
                ratio.shown().0
            )
        }
    }
}

/// ", with 1.31 times the CPU time": a reader who stops at the first line knows the price. Empty if the CPU times do not differ.
fn price(result: &ResultComparison, judged: &Judged) -> String {
    let price = judged.cpu.and_then(|cpu| cpu.price());
    price.map_or(String::new(), |price| {
        format!(", with {price}{}", relative_to(result.basis, &result.control))
    })
}

/// " CPU time: 1.31 (1.28–1.34) times that before." Empty if the CPU times do not differ.
fn cpu_sentence(judged: &Judged, basis: Basis, control: &str) -> String {
    let Some(cpu) = judged.cpu.filter(|cpu| cpu.differs) else { return String::new() };
    let (value, [lower, upper]) = cpu.times.shown();
    let (per, relative) = (cpu.per.of_work(), relative_to(basis, control));
    format!(" CPU time{per}{relative}: {value} ({lower}–{upper}) times that before.")
}

/// Gains compare machines, so their CPU time is that of the candidate divided by that of the control.
fn relative_to(basis: Basis, control: &str) -> String {
    match basis {
        Basis::Figures => String::new(),
        Basis::Gains => format!(" relative to {control}"),
    }
}

/// The interval of the greatest proven difference; or what may be hidden.
fn certainty(result: &ResultComparison) -> String {
    let distance = |test: &IndependentTest| test.ratio.value.ln().abs();
    let proven = result.deciding().into_iter().filter(|(_, judged)| judged.is_worse() || judged.is_better());
    let greatest = proven
        .filter_map(|(name, judged)| Some((name, judged, judged.test?, judged.p_corrected?)))
        .max_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)));
    if let Some((name, judged, test, p)) = greatest {
        let interval = match result.basis {
            Basis::Figures => quotient(test.ratio, &result.metric).1,
            Basis::Gains => {
                let (_, [lower, upper]) = test.ratio.shown();
                format!("{lower}–{upper}")
            }
        };
        let floor = own_floor(&test, common_floor(result, result.basis));
        let floor = match floor > 1.0 {
            true => cause(result, judged, result.basis).in_certainty(floor),
            false => String::new(),
        };
        let [before, after] = test.units;
        let units = unit(result);
        return format!(
            "with 95 % confidence {name}'s factor is {}, p {}, {before} and {after} {units}{floor}.",
            interval.replace('–', " to "),
            p_value(p)
        );
    }
    let hidden = result.deciding().into_iter().filter_map(|(_, judged)| match tested(judged)?.1 {
        IndependentVerdict::NothingProven { could_hide } => Some(could_hide),
        IndependentVerdict::BelowFloor { could_hide, .. } => Some(could_hide),
        _ => None,
    });
    let is_of_digits = || {
        let mut deciding = result.deciding().into_iter();
        deciding.any(|(_, judged)| cause(result, judged, result.basis) == FloorCause::Digits)
    };
    match hidden.max_by(f64::total_cmp) {
        Some(factor) if factor < UNBOUNDED => {
            format!("a difference of up to {} may be undetected.", effect(factor))
        }
        _ if is_of_digits() => format!("{TOO_FEW_DIGITS}."),
        _ => match too_few(result) {
            Some([before, after]) => format!(
                "a difference may have any size: {before} and {after} {} are too few, {UNITS_MIN} on each side are the least.",
                unit(result)
            ),
            None => {
                "a difference may have any size: allow more rounds, or measure on a quieter machine.".into()
            }
        },
    }
}

/// The number of runs on each side, if nothing could be tested because they are too few.
fn too_few(result: &ResultComparison) -> Option<[u32; 2]> {
    let units = |judged: &Judged| match judged.verdict {
        ConfigurationVerdict::Untested(Untested::TooFew { units }) => Some(units),
        _ => None,
    };
    let all: Option<Vec<[u32; 2]>> = result.deciding().into_iter().map(|(_, judged)| units(judged)).collect();
    all.filter(|_| result.sessions() == [1, 1])?.first().copied()
}

/// What is resampled.
fn unit(result: &ResultComparison) -> &'static str {
    match (result.sessions(), result.basis) {
        ([1, 1], Basis::Figures) => "runs",
        ([1, 1], Basis::Gains) => "rounds",
        _ => "sessions",
    }
}

/// "after.json with before.json, by wall time, lower is better: 7 and 7 rounds".
fn describe(result: &ResultComparison) -> String {
    let side = |side: &[SessionSummary]| match side {
        [one] => one.file.clone(),
        several => sessions(several.len()),
    };
    let rounds = |side: &[SessionSummary]| side.iter().map(|session| session.rounds).sum::<u32>();
    let metric = &result.metric;
    let better = match metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    format!(
        "{} (after) with {} (before), by {}, {better}: {} and {} rounds",
        side(&result.after),
        side(&result.before),
        metric.name,
        rounds(&result.after),
        rounds(&result.before)
    )
}

/// A gain with two decimals below 10.
fn times(gain: f64) -> String {
    unspin_stats::three_digits(gain, 2)
}
