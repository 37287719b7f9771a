//! The time budget: what each phase may use of it.
//!
//! ```text
//! metered run ─► short runs ─► rounds, at least as many as a proof needs ─► one metered run of each candidate
//! ```
//!
//! The first metered run shows how long a run takes. From then on each phase leaves the time that the later ones need.
//! If a proof does not fit, that is said at once; the short runs, or as many rounds as fit, are made all the same. No
//! run begins after the end of the budget, so one run at most exceeds it.

use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_stats::rounds_for_proof;

/// The time budget of a session. It begins with the program.
#[derive(Clone, Copy, Debug)]
pub struct TimeBudget {
    began: Instant,
    total: Duration,
    /// The number of rounds, if that is given: then it limits only the search.
    rounds: Option<u32>,
    /// The last part of the budget, in which no round begins.
    reserve: Duration,
}

/// A proof did not fit in the time budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// The time budget, in seconds.
    pub budget_s: f64,
    /// The time that a proof needs, in seconds, with the search and the metered runs.
    pub needed_s: f64,
}

/// Whether each configuration of a session has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasWarmedUp {
    /// The estimate rests on some of them.
    No,
    /// Each has run once.
    Yes,
}

/// The configurations beside the candidates: the control, its A/A pair, the program without the preload library.
const BESIDE: usize = 3;
/// A proof is announced to take that much longer than estimated: the durations of runs vary.
const MARGIN: f64 = 1.15;

impl TimeBudget {
    /// Begins now.
    pub fn begin(total: Duration, rounds: Option<u32>) -> TimeBudget {
        TimeBudget { began: Instant::now(), total, rounds, reserve: Duration::ZERO }
    }

    /// The budget, with a part at its end in which no round begins.
    pub fn with_reserve(self, reserve: Duration) -> TimeBudget {
        TimeBudget { reserve, ..self }
    }

    /// The budget, which begins now.
    pub fn restart(self) -> TimeBudget {
        TimeBudget { began: Instant::now(), ..self }
    }

    /// The time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The whole budget; none if the number of rounds is given.
    pub fn total(&self) -> Option<Duration> {
        self.rounds.is_none().then_some(self.total)
    }

    /// The time left for everything else; without limit if the number of rounds is given.
    pub fn left(&self) -> Duration {
        match self.rounds {
            Some(_) => Duration::MAX,
            None => self.total.saturating_sub(self.elapsed()),
        }
    }

    /// The time after which a run that begins now takes so long that the user should know why: it exceeds the budget.
    pub fn patience(&self) -> Duration {
        self.total.saturating_sub(self.elapsed()).max(self.total / 2)
    }

    /// The time from `moment` to the end of the budget, less the reserve; without limit if the number of rounds is given.
    pub fn left_after(&self, moment: Instant) -> Duration {
        match self.rounds {
            Some(_) => Duration::MAX,
            None => (self.began + self.total.saturating_sub(self.reserve)).saturating_duration_since(moment),
        }
    }

    /// The most time that the short runs of a search may use.
    pub fn for_screening(&self) -> Duration {
        /// Judging needs more, because only it proves anything.
        const SCREENING: f64 = 0.35;
        self.total.mul_f64(SCREENING)
    }

    /// The shortfall if `more` time is needed.
    pub fn shortfall(&self, more: Duration) -> Option<Shortfall> {
        let needed = self.elapsed().saturating_add(more);
        (self.rounds.is_none() && needed > self.total)
            .then_some(Shortfall { budget_s: self.total.as_secs_f64(), needed_s: needed.as_secs_f64() })
    }
}

impl Shortfall {
    /// "a proof needs about 34 s, and the time budget is 20 s: use --time-budget 40s".
    pub fn sentence(&self) -> String {
        format!("{}: use --time-budget {}", self.finding(), self.option())
    }

    /// "a proof needs about 34 s, and the time budget is 20 s": for commands that have no `--time-budget`.
    pub fn finding(&self) -> String {
        format!(
            "a proof needs about {}, and the time budget is {}",
            duration(self.needed_s),
            duration(self.budget_s)
        )
    }

    /// Whether the estimate is so far above the budget that later runs hardly change that. The first run is often the
    /// slowest; after the warm-up each configuration has run once.
    pub fn is_certain(&self, has_warmed_up: HasWarmedUp) -> bool {
        let factor = match has_warmed_up {
            HasWarmedUp::No => 2.0,
            HasWarmedUp::Yes => 1.25,
        };
        self.needed_s > factor * self.budget_s
    }

    /// The shortfall to report if this one was announced before: one figure for the user, unless it turned out too low.
    pub fn after(self, announced: Option<Shortfall>) -> Shortfall {
        announced.filter(|announced| self.needed_s <= MARGIN * announced.needed_s).unwrap_or(self)
    }

    /// The value of --time-budget that is enough.
    pub fn option(&self) -> String {
        let seconds = MARGIN * self.needed_s;
        let up = |step: f64| (seconds / step).ceil() * step;
        match seconds {
            s if s <= 20.0 => format!("{:.0}s", up(1.0).max(1.0)),
            s if s <= 120.0 => format!("{:.0}s", up(5.0)),
            _ => format!("{:.0}m", up(60.0) / 60.0),
        }
    }
}

/// A duration in whole seconds, in minutes or in hours: "34 s", "12 min", "12 h".
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 && s.fract() >= 0.05 => format!("{s:.1} s"),
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 10_800.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// The time of a session that can prove something about so many candidates, if a run takes `run`, with one metered run
/// of each candidate afterwards, of `metered` each.
pub fn proof(candidates: usize, run: Duration, metered: Duration) -> Duration {
    let rounds = rounds_for_proof(candidates, 0.05);
    // One round more: the warm-up.
    let runs = (rounds + 1) as usize * (BESIDE + candidates);
    run.saturating_mul(runs as u32).saturating_add(metered.saturating_mul(candidates as u32))
}

/// The time of the shortest screening of so many candidates: the warm-up of the control, and two rounds.
pub fn screening(candidates: usize, run: Duration) -> Duration {
    run.saturating_mul(1 + 2 * (candidates as u32 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn proof_of_fewer_candidates_needs_less_time() {
        assert_eq!(proof(1, SECOND, SECOND), 29 * SECOND, "seven rounds of four, and one metered run");
        assert_eq!(proof(2, SECOND, SECOND), 42 * SECOND);
        assert_eq!(screening(2, SECOND), 7 * SECOND);
    }

    #[test]
    fn shortfall_names_an_option_that_is_enough() {
        let shortfall = |needed_s| Shortfall { budget_s: 5.0, needed_s };
        assert_eq!(
            shortfall(30.0).sentence(),
            "a proof needs about 30 s, and the time budget is 5 s: use --time-budget 35s"
        );
        assert_eq!(shortfall(30.0).finding(), "a proof needs about 30 s, and the time budget is 5 s");
        assert_eq!(shortfall(7.2).option(), "9s");
        assert_eq!(shortfall(200.0).option(), "4m");
        assert_eq!(
            (duration(0.25), duration(7.0), duration(600.0), duration(45_002.0)),
            ("0.2 s".into(), "7 s".into(), "10 min".into(), "13 h".into())
        );
    }

    /// Issue 14: "80 s: use 95s" after the first run, and 55s were enough.
    #[test]
    fn estimate_is_announced_once_it_is_certain() {
        let shortfall = |needed_s| Shortfall { budget_s: 60.0, needed_s };
        assert!(!shortfall(80.0).is_certain(HasWarmedUp::No) && shortfall(130.0).is_certain(HasWarmedUp::No));
        assert!(
            !shortfall(70.0).is_certain(HasWarmedUp::Yes) && shortfall(80.0).is_certain(HasWarmedUp::Yes)
        );
    }

    /// Issue 14: "69 s: use 80s" and "63 s: use 75s" in one output.
    #[test]
    fn report_repeats_the_announced_estimate() {
        let shortfall = |needed_s| Shortfall { budget_s: 10.0, needed_s };
        assert_eq!(shortfall(63.0).after(Some(shortfall(69.0))), shortfall(69.0));
        assert_eq!(shortfall(75.0).after(Some(shortfall(69.0))), shortfall(69.0), "80s are enough");
        assert_eq!(shortfall(99.0).after(Some(shortfall(69.0))), shortfall(99.0));
        assert_eq!(shortfall(99.0).after(None), shortfall(99.0));
    }

    #[test]
    fn program_of_a_second_fits_in_the_default_budget() {
        let options = crate::settings::ProveSettings::of(vec!["ls".into()]);
        // A metered run that takes twice as long, five runs that show the noise, the search, and the proof.
        let before = 2 * SECOND + 5 * SECOND + screening(5, SECOND);
        assert!(before + proof(1, SECOND, 2 * SECOND) <= options.time_budget());
    }

    #[test]
    fn given_rounds_have_no_time_limit() {
        let budget = TimeBudget::begin(Duration::ZERO, Some(6));
        assert_eq!((budget.left(), budget.shortfall(SECOND)), (Duration::MAX, None));
        assert_eq!(budget.total(), None);
        let budget = TimeBudget::begin(SECOND, None);
        assert!(budget.left() <= SECOND && budget.shortfall(2 * SECOND).is_some());
    }
}
