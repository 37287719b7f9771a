//! The English sentences.

use crate::collapse::CutOff;
use crate::comparison::{Comparison, Spread, SpreadVerdict};
use crate::cpu::CpuCost;
use crate::floor::NoiseFloor;
use crate::interval::{Ratio, three_digits};
use crate::metric::{Direction, Metric, Quantity};
use crate::settings::Settings;
use crate::verdict::{NotProvenReason, Verdict};
use unspin_figures::{Percent, two_digits};

/// From this factor on (a difference of 100 %) runs do not bound a difference: the exact value says nothing more.
pub const UNBOUNDED: f64 = 1.995;

/// Why more rounds would not bound a difference.
pub const TOO_FEW_DIGITS: &str = "the figures have too few digits to bound the difference";

/// Why a session ended whose intervals are wide because of the digits, not of the noise.
pub const INTERVALS_OF_DIGITS: &str =
    "More rounds do not narrow the intervals, because the figures have too few digits.";

/// The values that all sentences of a session share.
pub(crate) struct Wording<'a> {
    pub(crate) metric: &'a Metric,
    pub(crate) settings: &'a Settings,
    pub(crate) control: &'a str,
    /// The number of candidates for which the p values are corrected.
    pub(crate) judged: usize,
}

impl Wording<'_> {
    /// A comparison's verdict.
    pub(crate) fn verdict(&self, comparison: &Comparison) -> String {
        let (name, control) = (&comparison.name, self.control);
        match &comparison.verdict {
            Verdict::ProvenFaster { ratio } | Verdict::ProvenSlower { ratio } => {
                let (verb, phrase, shown) = self.phrase(*ratio);
                let figures = self.figures(shown, comparison);
                let side = self.for_better_or_worse(*ratio);
                let (cost, limit) = (self.cost(comparison), self.limit(comparison));
                format!(
                    "{name}{verb}{} {phrase} ({figures}){cost}: difference proven{side}.{limit}",
                    self.times(shown)
                )
            }
            Verdict::NothingProven { could_hide, doubt } => {
                let measured = comparison.ratio.map_or(String::new(), |ratio| {
                    let (_, phrase, shown) = self.phrase(ratio);
                    // The bound in the same sentence is an end of the interval, so this one has as many digits.
                    let figures = self.figures_with(shown, comparison, shown.decimals().max(2));
                    format!("{} {phrase} in these runs ({figures}), ", self.times(shown))
                });
                let doubted = match (doubt, comparison.rounding) {
                    (NotProvenReason::BelowFloor { floor }, Some(rounding)) if rounding >= *floor => {
                        format!(" (rounding of the figures alone can make {})", effect(rounding))
                    }
                    _ => format_doubt(*doubt, comparison.rounds),
                };
                let is_unbounded = could_hide.is_some_and(|factor| factor >= UNBOUNDED);
                let hidden = match is_unbounded && comparison.is_limited_by_digits() {
                    true => TOO_FEW_DIGITS.to_owned(),
                    false => hidden(*could_hide, comparison.rounds),
                };
                format!("{name} against {control}: {measured}no difference proven{doubted}; {hidden}.")
            }
            Verdict::Collapsed(cut_off) | Verdict::Hangs(cut_off) | Verdict::Withheld(cut_off) => {
                self.cut_off(name, cut_off)
            }
            Verdict::GivenUp { times, runs, stopped, proven, p } => {
                given_up(name, control, (*times, *runs, *stopped), *p, *proven)
            }
            Verdict::Failed { name: failed_name, failed, runs, reason } => {
                let end = if failed_name == name {
                    "it is not ranked".to_string()
                } else {
                    format!("nothing can be compared with it, and {name} is not ranked")
                };
                format!("{failed_name} failed in {failed} of {runs} runs (first: {reason}); {end}.")
            }
        }
    }

    /// A candidate with runs that took many times as long as the control: what they show.
    fn cut_off(&self, name: &str, found: &CutOff) -> String {
        let CutOff { limit_s, control_worst_s, cut_off, runs, others, .. } = *found;
        let (limit, worst) = (seconds(limit_s), seconds(control_worst_s));
        let slowest = format!("when {}'s slowest run had taken {worst}", self.control);
        let of_runs = format!("{cut_off} of its {runs} runs");
        if found.is_proven() {
            return match found.is_hang() {
                true => format!(
                    "{name} hangs: {of_runs} were stopped after {limit}, {slowest}, and no thread of them ran in the second \
                     half of that time; it is not ranked."
                ),
                false => format!(
                    "{name} collapsed: stopped after {limit} in {of_runs}, {slowest}; it is not ranked."
                ),
            };
        }
        let was = if cut_off == 1 { "was" } else { "were" };
        let hung =
            if found.is_hang() { ", and hung: no thread ran in the second half of that time" } else { "" };
        // The limits are those of the slowest run as known at the time.
        if !found.is_long_enough() {
            return format!(
                "{name} is not ranked: {of_runs} {was} stopped after {limit}, which proves nothing, because a run of {} took \
                 {worst} later. Measure again on a quiet machine, with a larger --time-budget.",
                self.control
            );
        }
        let why = match others {
            0 => format!("one such run does not tell whether {name} or the machine was the cause"),
            1 => "a run of another configuration was stopped too, so the machine may be the cause".into(),
            _ => format!(
                "{others} runs of other configurations were stopped too, so the machine may be the cause"
            ),
        };
        format!(
            "{name} is not ranked: {of_runs} {was} stopped after {limit}, {slowest}{hung}. Measure again on a quiet machine: {why}."
        )
    }

    /// What the A/A pair shows.
    pub(crate) fn noise_floor(&self, floor: &NoiseFloor) -> String {
        let control = self.control;
        let digits = floor.ratio.decimals();
        let interval = interval(floor.ratio, digits, self.settings.confidence);
        let seems =
            if floor.differs { "seems to differ from itself" } else { "shows no difference from itself" };
        let why = if floor.is_of_digits() { ", because the figures are rounded" } else { "" };
        format!(
            "Noise floor: {control} measured twice {seems} (ratio {}, {interval}, {} rounds); \
             a difference below {} is not ranked{why}.",
            three_digits(floor.ratio.value, digits),
            floor.rounds,
            effect(floor.factor)
        )
    }

    /// What the test of spread proves. The test is about the spread in relation to the mean; what a user feels is the spread in
    /// seconds, which can have become less at the same time: so that comes first.
    pub(crate) fn spread(&self, name: &str, spread: &Spread, floor: Option<NoiseFloor>) -> String {
        const PROVEN: &str = "difference of spread proven";
        let control = self.control;
        let deviations = quantities(
            [spread.control_standard_deviation, spread.candidate_standard_deviation],
            &self.metric.unit,
        );
        let shares = format!(
            "{} → {} of the mean, {}",
            Percent::Short.of(spread.control_coefficient_of_variation),
            Percent::Short.of(spread.candidate_coefficient_of_variation),
            p_value(spread.p()),
        );
        let pair = floor.and_then(|floor| floor.coefficients_of_variation);
        let is_bounded = spread.p() <= self.settings.alpha;
        let is_less = spread.candidate_standard_deviation < spread.control_standard_deviation;
        let (claim, proven) = match (spread.verdict, is_less) {
            (SpreadVerdict::NothingProven, _) => {
                let bound = pair.filter(|_| is_bounded).map_or(String::new(), |[one, other]| {
                    let (one, other) = (Percent::Short.of(one), Percent::Short.of(other));
                    format!(
                        " (two sets of runs of one program have {one} and {other} here, which leaves it open)"
                    )
                });
                ("against", format!("no difference of spread proven{bound}"))
            }
            (SpreadVerdict::ProvenSteadier, true) => ("is steadier than", PROVEN.to_owned()),
            (SpreadVerdict::ProvenMoreErratic, false) => ("is more erratic than", PROVEN.to_owned()),
            (SpreadVerdict::ProvenMoreErratic, true) => {
                return format!(
                    "{name} varies less than {control} (standard deviation {deviations}), but more in relation to its mean \
                     ({shares}): difference of relative spread proven."
                );
            }
            (SpreadVerdict::ProvenSteadier, false) => {
                return format!(
                    "{name} varies more than {control} (standard deviation {deviations}), but less in relation to its mean \
                     ({shares}): difference of relative spread proven."
                );
            }
        };
        format!("{name} {claim} {control} (standard deviation {deviations}, {shares}): {proven}.")
    }

    /// The verb, the phrase after "3.1 times", and the ratio as it reads in that phrase: as fast, as slow or as good, or the
    /// plain quotient of the candidate's figure and the control's. The table has times as good, so that the quotient of a figure
    /// of which less is better would be its inverse. A time whose direction is open is stated as in the table.
    fn phrase(&self, ratio: Ratio) -> (String, String, Ratio) {
        let control = self.control;
        let quotient = || (format!("'s {} is ", self.metric.name), format!("{control}'s"));
        let ((verb, phrase), shown) = match (self.metric.quantity, self.metric.direction) {
            (Quantity::WallTime, _) if ratio.value < 1.0 && !ratio.includes_one() => {
                ((" takes ".into(), format!("as long as {control}")), inverse(ratio))
            }
            (Quantity::WallTime, _) => ((" is ".into(), format!("as fast as {control}")), ratio),
            (Quantity::Other, Direction::LowerIsBetter) => {
                ((" is ".into(), format!("as good as {control} by {}", self.metric.name)), ratio)
            }
            (Quantity::CpuTime, Direction::LowerIsBetter) => (quotient(), inverse(ratio)),
            (Quantity::CpuTime | Quantity::Other, Direction::HigherIsBetter) => (quotient(), ratio),
        };
        (verb, phrase, shown)
    }

    /// "3.1 times".
    fn times(&self, shown: Ratio) -> String {
        format!("{} times", three_digits(shown.value, shown.decimals()))
    }

    /// ", with 1.6 times the CPU time (1.5–1.7)".
    fn cost(&self, comparison: &Comparison) -> String {
        // If CPU time is the metric, the sentence already states it.
        let Some(CpuCost { times, per, .. }) = comparison.cpu.filter(|_| !self.metric.is_cpu_time()) else {
            return String::new();
        };
        let (digits, of) = (times.decimals(), per.of_work());
        let (lower, upper) = times.ends(digits);
        format!(", with {} times the CPU time{of} ({lower}–{upper})", three_digits(times.value, digits))
    }

    /// " It is not recommended: …", if the candidate exceeds the limit of CPU time.
    fn limit(&self, comparison: &Comparison) -> String {
        let faster = matches!(comparison.verdict, Verdict::ProvenFaster { .. });
        let Some(limit) = self.settings.cpu_limit.filter(|_| faster && comparison.over_cpu_limit) else {
            return String::new();
        };
        match comparison.cpu {
            Some(CpuCost { times, per, .. }) => {
                format!(
                    " It is not recommended: it may take {} times the control's CPU time{}, and the limit is {} more.",
                    times.ends(times.decimals()).1,
                    per.of_work(),
                    Percent::Short.of(limit)
                )
            }
            None => format!(
                " It is not recommended: its CPU time is unknown, and the limit is {} more than the control's.",
                Percent::Short.of(limit)
            ),
        }
    }

    /// "95 % interval 2.9–3.4, p = 0.002, 12 rounds".
    fn figures(&self, shown: Ratio, comparison: &Comparison) -> String {
        self.figures_with(shown, comparison, shown.decimals())
    }

    fn figures_with(&self, shown: Ratio, comparison: &Comparison, decimals: usize) -> String {
        let p = comparison.shown_p(self.settings).map_or(String::new(), |p| {
            let is_corrected = self.judged > 1 && comparison.difference_p_corrected.is_some();
            let correction = match is_corrected {
                true => format!(" corrected for {} candidates", self.judged),
                false => String::new(),
            };
            format!(", {}{correction}", p_value(p))
        });
        let figures = match comparison.has_interval(self.settings.confidence) {
            true => interval(shown, decimals, self.settings.confidence) + &p,
            false => p.trim_start_matches(", ").to_owned(),
        };
        format!("{figures}, {}", rounds(comparison.rounds))
    }

    /// "times kernel's" does not tell which direction is better; "as fast as" does.
    fn for_better_or_worse(&self, ratio: Ratio) -> &'static str {
        match self.metric.quantity {
            Quantity::WallTime => "",
            Quantity::CpuTime | Quantity::Other if ratio.value > 1.0 => ", for the better",
            Quantity::CpuTime | Quantity::Other => ", for the worse",
        }
    }
}

/// A candidate that was given up: its runs, and what they prove.
fn given_up(
    name: &str,
    control: &str,
    (times, runs, stopped): (f64, u32, u32),
    p: Option<f64>,
    proven: bool,
) -> String {
    let times = three_digits(times, 1);
    let least = if stopped > 0 { "more than " } else { "" };
    match (p, proven) {
        (Some(p), true) => format!(
            "{name} is proven slower and was given up early: each of its {runs} runs took {least}{times} times as long \
             as {control}'s slowest run ({}); it is not recommended.",
            p_value(p)
        ),
        (Some(_), false) => format!(
            "{name} was given up: {} {least}{times} times as long as {control}'s slowest run, and more of them do not \
             fit in the time budget; it is not recommended, and not proven slower.",
            if runs == 1 { "its run took".into() } else { format!("each of its {runs} runs took") }
        ),
        (None, _) => format!(
            "{name} was given up: {stopped} of its {runs} runs were stopped after {times} times the duration of \
             {control}'s slowest run; it is not ranked."
        ),
    }
}

/// "1 round", "12 rounds".
fn rounds(rounds: u32) -> String {
    if rounds == 1 { "1 round".into() } else { format!("{rounds} rounds") }
}

fn hidden(could_hide: Option<f64>, rounds: u32) -> String {
    match could_hide.filter(|&factor| factor < UNBOUNDED) {
        Some(factor) => format!("a difference of up to {} either way could still hide", effect(factor)),
        None => format_unbounded(rounds),
    }
}

/// The clause that so many rounds leave any difference possible, with what to do about it.
pub fn format_unbounded(rounds: u32) -> String {
    let rounds = match rounds {
        0 => "no complete round".to_owned(),
        some => self::rounds(some),
    };
    format!(
        "after {rounds} the difference may have any size: allow more rounds, or measure on a quieter machine"
    )
}

fn format_doubt(doubt: NotProvenReason, rounds: u32) -> String {
    match doubt {
        NotProvenReason::TooFewRounds { needed } => {
            format!(" ({} cannot prove one, {needed} are the least that can)", self::rounds(rounds))
        }
        NotProvenReason::NotSignificant => String::new(),
        NotProvenReason::BelowFloor { floor } => {
            format!(" (it is below the noise floor of {})", effect(floor))
        }
    }
}

/// "95 % interval 0.97–1.08".
fn interval(ratio: Ratio, decimals: usize, confidence: f64) -> String {
    let (lower, upper) = ratio.ends(decimals);
    let confidence = two_digits(100.0 * confidence);
    format!("{confidence} % interval {lower}–{upper}")
}

/// The interval of the ratio in the opposite direction.
fn inverse(ratio: Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, lower: 1.0 / ratio.upper, upper: 1.0 / ratio.lower }
}

/// A factor as an effect, with two digits: "8.3 %", "a factor of 2.3".
pub fn effect(factor: f64) -> String {
    if factor < UNBOUNDED {
        Percent::Short.of(factor - 1.0)
    } else {
        format!("a factor of {}", two_digits(factor))
    }
}

fn seconds(s: f64) -> String {
    quantity(s, "s")
}

/// A quantity with two digits, "0.25 ms": seconds in the unit that they need.
pub fn quantity(value: f64, unit: &str) -> String {
    let (factor, unit) = if unit == "s" { unit_of_time(value) } else { (1.0, unit) };
    format!("{} {unit}", two_digits(value * factor)).trim_end().to_owned()
}

/// Two quantities of one unit, "97 → 340 ns": seconds in the unit that the larger one needs.
fn quantities([before, after]: [f64; 2], unit: &str) -> String {
    let (factor, unit) = if unit == "s" { unit_of_time(before.max(after)) } else { (1.0, unit) };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{} → {}{unit}", two_digits(before * factor), two_digits(after * factor))
}

/// The unit in which so many seconds are shown, and how many of it a second has.
fn unit_of_time(seconds: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e3, "ms"), (1e6, "us")];
    UNITS.into_iter().find(|(factor, _)| seconds * factor >= 1.0 || seconds == 0.0).unwrap_or((1e9, "ns"))
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {}", two_digits(p)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_they_need() {
        assert_eq!(quantities([97e-9, 9.5e-9], "s"), "97 → 9.5 ns");
        assert_eq!(quantities([0.11, 0.0076], "s"), "110 → 7.6 ms");
        assert_eq!(quantities([3.0, 0.5], "TPS"), "3 → 0.5 TPS");
        assert_eq!(
            (seconds(0.0000021), seconds(5.0), seconds(0.0)),
            ("2.1 us".into(), "5 s".into(), "0 s".into())
        );
    }

    fn spread(control: [f64; 2], candidate: [f64; 2], verdict: SpreadVerdict) -> String {
        let difference = crate::p_value::PValue {
            p: 0.0012,
            smallest_attainable: 0.0001,
            enumeration: crate::p_value::Enumeration::MonteCarlo { draws: 9_999 },
        };
        let spread = Spread {
            control_standard_deviation: control[0],
            candidate_standard_deviation: candidate[0],
            control_coefficient_of_variation: control[1],
            candidate_coefficient_of_variation: candidate[1],
            brown_forsythe: None,
            difference,
            difference_p_corrected: None,
            verdict,
        };
        let (metric, settings) = (Metric::wall_time(), Settings::default());
        let wording = Wording { metric: &metric, settings: &settings, control: "kernel", judged: 1 };
        wording.spread("rcu", &spread, None)
    }

    #[test]
    fn spread_in_seconds_comes_before_the_relative_one() {
        assert_eq!(
            spread([97e-9, 0.065], [9.5e-9, 0.11], SpreadVerdict::ProvenMoreErratic),
            "rcu varies less than kernel (standard deviation 97 → 9.5 ns), but more in relation to its mean (6.5 % → 11 % of \
             the mean, p = 0.0012): difference of relative spread proven."
        );
        let steadier = spread([0.01, 0.1], [0.02, 0.05], SpreadVerdict::ProvenSteadier);
        assert!(
            steadier.starts_with("rcu varies more than kernel (standard deviation 10 → 20 ms), but less"),
            "{steadier}"
        );
        let erratic = spread([97e-9, 0.065], [340e-9, 0.088], SpreadVerdict::ProvenMoreErratic);
        assert!(
            erratic.starts_with(
                "rcu is more erratic than kernel (standard deviation 97 → 340 ns, 6.5 % → 8.8 %"
            ),
            "{erratic}"
        );
    }

    #[test]
    fn numbers_have_few_digits() {
        assert_eq!(effect(1.083), "8.3 %");
        assert_eq!(effect(2.345), "a factor of 2.3");
        assert_eq!((effect(1.99), effect(1.996)), ("99 %".into(), "a factor of 2".into()), "never 100 %");
        // Issue 14: "a difference of up to a factor of 353 either way".
        let unbounded = "after 7 rounds the difference may have any size: allow more rounds, or measure on a quieter machine";
        for factor in [Some(353.0), Some(2.0), Some(1.997), None] {
            assert_eq!(hidden(factor, 7), unbounded);
        }
        assert!(
            hidden(None, 0).contains("after no complete round ")
                && hidden(None, 1).contains("after 1 round ")
        );
        assert!(hidden(Some(1.5), 7).contains("up to 50 % either way"));
        assert_eq!(p_value(0.000_01), "p < 0.0001");
    }
}
