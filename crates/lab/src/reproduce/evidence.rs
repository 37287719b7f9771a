//! What published figures prove: Welch's test of the means, and a test of the spreads.

use super::figure::Figure;
use super::published::Published;
use serde::Serialize;
use unspin_stats::random::{Purpose, stream};
use unspin_stats::spread::{RUNS_MIN, brown_forsythe};
use unspin_stats::{VarianceRatio, WelchTest, holm, three_digits, variance_ratio, welch};
use unspin_trial::format::p_value;

/// The level of significance; that of [`unspin_stats::Settings`].
const ALPHA: f64 = 0.05;
/// Drawings of the permutation test, where its divisions are too many to be tried.
const DRAWS: u32 = 99_999;
/// The seed of the drawings: the same figures give the same p.
const SEED: u64 = 2002;

/// The tests of one published comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Of the means.
    pub means: MeansEvidence,
    /// Of the spreads.
    pub spread: SpreadEvidence,
}

/// Whether the means differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "test")]
pub enum MeansEvidence {
    /// Welch's t test; `p_corrected` by Holm over the comparisons of the report.
    Welch {
        /// The test.
        #[serde(flatten)]
        figures: WelchTest,
        /// The test's p after the correction.
        p_corrected: f64,
    },
    /// There is no test.
    CannotBeJudged {
        /// Why.
        why: &'static str,
    },
}

/// Whether the spreads differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "test")]
pub enum SpreadEvidence {
    /// Brown and Forsythe's test of the runs, in relation to the median.
    BrownForsythe {
        /// The statistic; none if no run varies.
        f: Option<f64>,
        /// The test's p by relabelling.
        p: f64,
    },
    /// The F test of the variances, from moments.
    VarianceRatio(VarianceRatio),
    /// There is no test.
    CannotBeJudged {
        /// Why.
        why: &'static str,
    },
}

const NO_RUNS: &str = "the report states one figure for each side, and no runs";
const ONE_FIGURE: &str = "the report states one figure for one side, and no runs";
const NO_SPREAD: &str = "the runs of one side agree to the last printed digit";

/// The evidence of all comparisons of a report.
pub fn of_all(published: &[Published]) -> Vec<Evidence> {
    let means: Vec<Option<WelchTest>> = published.iter().map(test_of_means).collect();
    let p_values: Vec<f64> = means.iter().flatten().map(|test| test.p).collect();
    let mut corrected = holm(&p_values).into_iter();
    let evidence = |(published, test): (&Published, Option<WelchTest>)| Evidence {
        means: match test {
            Some(figures) => {
                let p_corrected = corrected.next().expect("each test has a corrected p");
                MeansEvidence::Welch { figures, p_corrected }
            }
            None => MeansEvidence::CannotBeJudged { why: why_not(published) },
        },
        spread: test_of_spreads(published),
    };
    published.iter().zip(means).map(evidence).collect()
}

fn test_of_means(published: &Published) -> Option<WelchTest> {
    welch(&published.before.figure.moments()?, &published.after.figure.moments()?)
}

fn test_of_spreads(published: &Published) -> SpreadEvidence {
    let (before, after) = (&published.before.figure, &published.after.figure);
    if let (Figure::Runs(before), Figure::Runs(after)) = (before, after)
        && before.len().min(after.len()) >= RUNS_MIN
        && let Some(test) = brown_forsythe(before, after, DRAWS, &mut stream(SEED, Purpose::Spread))
    {
        return SpreadEvidence::BrownForsythe { f: test.statistic, p: test.p.p };
    }
    let test =
        before.moments().zip(after.moments()).and_then(|(before, after)| variance_ratio(&before, &after));
    match test {
        Some(test) => SpreadEvidence::VarianceRatio(test),
        None => SpreadEvidence::CannotBeJudged { why: why_not(published) },
    }
}

fn why_not(published: &Published) -> &'static str {
    let has_moments = [&published.before, &published.after].map(|side| side.figure.moments().is_some());
    match has_moments {
        [true, true] => NO_SPREAD,
        [false, false] => NO_RUNS,
        _ => ONE_FIGURE,
    }
}

impl Evidence {
    /// Whether a difference of the means is proven; none if there is no test.
    pub fn proves_means(&self) -> Option<bool> {
        match self.means {
            MeansEvidence::Welch { p_corrected, .. } => Some(p_corrected <= ALPHA),
            MeansEvidence::CannotBeJudged { .. } => None,
        }
    }

    /// Whether a difference of the spreads is proven; none if there is no test.
    pub fn proves_spread(&self) -> Option<bool> {
        match self.spread {
            SpreadEvidence::BrownForsythe { p, .. } => Some(p <= ALPHA),
            SpreadEvidence::VarianceRatio(VarianceRatio { p, .. }) => Some(p <= ALPHA),
            SpreadEvidence::CannotBeJudged { .. } => None,
        }
    }

    /// One word or two for the table of all reports.
    pub fn in_brief(&self) -> &'static str {
        match (self.proves_means(), self.proves_spread()) {
            (Some(true), _) => "yes",
            (Some(false), Some(true)) => "spread only",
            (Some(false), _) => "no",
            (None, _) => "no runs",
        }
    }

    /// The tests as sentences.
    pub fn sentences(&self, published: &Published) -> String {
        let (what, means, spread) = (published.what, self.means(), self.spread());
        match (&self.means, &self.spread) {
            (MeansEvidence::CannotBeJudged { why }, SpreadEvidence::CannotBeJudged { .. }) => {
                format!("{what}: cannot be judged: {why}.")
            }
            _ => format!("{what}: {means}; {spread}."),
        }
    }

    fn means(&self) -> String {
        match &self.means {
            MeansEvidence::Welch { figures, p_corrected } => format!(
                "the means {} (Welch's t test: t = {}, {:.1} degrees of freedom, p {}{})",
                if *p_corrected <= ALPHA { "differ" } else { "do not differ provably" },
                three_digits(figures.t.abs(), 2),
                figures.freedom,
                p(figures.p),
                if *p_corrected > figures.p {
                    format!(", corrected {}", p_value(*p_corrected))
                } else {
                    String::new()
                }
            ),
            MeansEvidence::CannotBeJudged { why } => format!("the means cannot be judged: {why}"),
        }
    }

    fn spread(&self) -> String {
        let proven = if self.proves_spread() == Some(true) { "differ" } else { "do not differ provably" };
        match &self.spread {
            SpreadEvidence::BrownForsythe { p: value, .. } => format!(
                "the spreads {proven} (Brown and Forsythe's test, relative to the median: p {})",
                p(*value)
            ),
            SpreadEvidence::VarianceRatio(test) => format!(
                "the spreads {proven} (F test of the variances: F = {} with {} and {} degrees of freedom, p {}; it assumes \
                 normally distributed runs)",
                three_digits(test.f, 2),
                test.freedom[0],
                test.freedom[1],
                p(test.p)
            ),
            SpreadEvidence::CannotBeJudged { why } => format!("the spreads cannot be judged: {why}"),
        }
    }
}

/// "= 0.23" or "< 0.0001".
fn p(p: f64) -> String {
    let shown = p_value(p);
    match shown.strip_prefix('<') {
        Some(bound) => format!("< {bound}"),
        None => format!("= {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::published::Side;
    use super::*;
    use unspin_stats::{Direction, Moments};

    fn published(before: Figure, after: Figure) -> Published {
        Published {
            what: "both",
            source: "",
            cpus: 1,
            unit: "s",
            direction: Direction::LowerIsBetter,
            before: Side::new("a", before),
            after: Side::new("b", after),
        }
    }

    fn sentence(before: Figure, after: Figure) -> String {
        let published = published(before, after);
        of_all(std::slice::from_ref(&published))[0].sentences(&published)
    }

    #[test]
    fn single_figures_cannot_be_judged() {
        assert_eq!(
            sentence(Figure::Single(76.3), Figure::Single(6.85)),
            "both: cannot be judged: the report states one figure for each side, and no runs."
        );
        assert_eq!(
            sentence(Figure::Single(30.0), Figure::Words("gone")),
            "both: cannot be judged: the report states one figure for each side, and no runs."
        );
    }

    #[test]
    fn runs_against_one_figure_are_called_so() {
        let runs = Figure::Runs(vec![4.8, 4.9, 4.8]);
        assert_eq!(
            sentence(runs, Figure::Single(3.9)),
            "both: cannot be judged: the report states one figure for one side, and no runs."
        );
    }

    #[test]
    fn runs_that_agree_have_no_test_of_their_spread() {
        let text = sentence(Figure::Runs(vec![2.0, 2.1]), Figure::Runs(vec![1.0, 1.0]));
        assert!(text.starts_with("both: the means differ (Welch's t test: t = 21.0, 1.0 degrees"), "{text}");
        assert!(text.ends_with(
            "the spreads cannot be judged: the runs of one side agree to the last printed digit."
        ));
    }

    #[test]
    fn five_runs_are_tested_by_brown_and_forsythe_and_moments_by_f() {
        let runs = |scale: f64| Figure::Runs([1.0, 1.3, 0.7, 1.1, 0.95, 1.2].map(|x| scale * x).to_vec());
        assert!(sentence(runs(1.0), runs(2.0)).contains("Brown and Forsythe"));
        let moments = |sd| Figure::Moments(Moments { count: 5, mean: 10.0, standard_deviation: sd });
        let text = sentence(moments(7.5), moments(1.0));
        assert!(
            text.contains("the spreads differ (F test of the variances: F = 56.2 with 4 and 4"),
            "{text}"
        );
    }

    #[test]
    fn tests_of_one_report_are_corrected_together() {
        let pair = published(Figure::Runs(vec![2.0, 2.1, 2.2]), Figure::Runs(vec![1.9, 2.0, 2.1]));
        let corrected = |count: usize| match of_all(&vec![pair.clone(); count])[0].means {
            MeansEvidence::Welch { figures, p_corrected } => (figures.p, p_corrected),
            MeansEvidence::CannotBeJudged { .. } => panic!("there are runs"),
        };
        let ((p, alone), (_, of_three)) = (corrected(1), corrected(3));
        assert_eq!(p, alone);
        assert!((of_three - (3.0 * p).min(1.0)).abs() < 1e-12);
    }
}
