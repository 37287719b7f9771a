//! Parameters from measurements on 1..n CPUs, validation, and prediction.
//!
//! 1. The runs on one CPU give the program's CPU time; the meter gives acquisitions and holds; the machine's probe gives
//!    the costs that appear on several CPUs only. That is a complete model ([`ProgramModel::from_one_cpu`]).
//! 2. *Validation*: each measured number of CPUs is predicted by the fit on those below it.
//! 3. The fit on all of them adjusts one parameter, the cost of a contended acquisition, by least squares of the
//!    logarithms. One parameter, because two numbers of CPUs cannot determine more.
//! 4. A prediction's interval has two parts. Resampling of the rounds tells how far the measurement is off. The
//!    validations tell how far the model is off ([`model_error`]); that counts once for each doubling of the CPUs beyond
//!    the measured ones. Without a validation there is no interval.

use crate::program::{MachineCost, ProgramModel, ProgramProfile};
use crate::usl::ScalabilityLaw;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use unspin_stats::distribution::student_quantile;
use unspin_stats::random::{Purpose, stream};

/// Throughputs on one number of CPUs, one for each round.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuMeasurement {
    /// CPUs.
    pub cpus: u32,
    /// Throughput in each round, in units of work a second.
    pub throughputs: Vec<f64>,
}

/// A fit, and what follows from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScalingFit {
    /// The model after the fit on all measurements.
    pub model: ProgramModel,
    /// The cost of a contended acquisition by the machine's probe alone, in seconds.
    pub probed_cost_s: f64,
    /// 95 % interval of the fitted cost in seconds, by resampling of the rounds; none with fewer than two rounds or
    /// where only one CPU was measured.
    pub cost_interval_s: Option<(f64, f64)>,
    /// The universal scalability law through the measurements; none if only one CPU was measured.
    pub law: Option<ScalabilityLaw>,
    /// Predictions of what was measured, from fewer CPUs.
    pub validations: Vec<Validation>,
    /// The measured and the requested numbers of CPUs.
    pub predictions: Vec<Prediction>,
}

/// A measured number of CPUs, predicted by the fit on fewer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Validation {
    /// CPUs that are predicted.
    pub cpus: u32,
    /// The most CPUs of the fit.
    pub from: u32,
    /// Predicted throughput.
    pub predicted: f64,
    /// Measured mean.
    pub measured: f64,
    /// Predicted/measured − 1.
    pub error: f64,
    /// 95 % interval of that error, by resampling of the rounds; none with fewer than two rounds.
    pub error_interval: Option<(f64, f64)>,
}

/// A throughput that was measured or is predicted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Prediction {
    /// CPUs.
    pub cpus: u32,
    /// Which of the two it is.
    pub source: FigureSource,
    /// The measured mean, or the prediction of the model, even where its interval is too wide for a prediction.
    pub throughput: f64,
    /// 95 % interval; none if the measurements do not determine one.
    pub interval: Option<(f64, f64)>,
    /// The universal scalability law's value.
    pub by_law: Option<f64>,
}

/// Where a figure comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureSource {
    /// Runs on this machine.
    Measured,
    /// The model, for up to [`REACH`] times the measured CPUs.
    Predicted,
    /// The model, for more CPUs than that: the data do not bear it, and it shows a direction only.
    FarBeyond,
    /// No prediction: the interval spans more than a factor of [`SPAN_MAX`], so the figure in it says nothing.
    Unborne,
}

/// Up to this many times the measured CPUs the data bear a prediction: a validation from 1 to 2 CPUs is one doubling, and
/// an error that counts for each doubling is a guess after two more.
pub const REACH: u32 = 4;

/// A validation that misses by more than this share is no base for a prediction.
pub const MISS: f64 = 0.15;

/// A prediction of "between three fifths and five thirds" hardly tells whether more CPUs are of use: what spans more is unborne. A
/// check of a program that gains nothing from a second CPU, where the model expects twice as much, is beyond it.
pub const SPAN_MAX: f64 = 3.0;

/// Why there is no fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FitError {
    /// Nothing was measured on one CPU.
    NoSingleCpu,
    /// A number of CPUs has no runs, or other rounds than another number, or a throughput that is not positive.
    Throughputs(u32),
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::NoSingleCpu => f.write_str("the fit needs runs on one CPU"),
            FitError::Throughputs(cpus) => {
                write!(f, "the runs on {cpus} CPUs have no usable throughput in every round")
            }
        }
    }
}

impl std::error::Error for FitError {}

/// A figure of some points (CPUs, throughput).
type Statistic<'a> = &'a dyn Fn(&[(u32, f64)]) -> f64;

const CONFIDENCE: f64 = 0.95;
/// Resamples of the rounds. The interval is made of their standard deviation, which 200 give to some 5 %.
const RESAMPLES: usize = 200;
/// Steps of the golden-section search: the bracket of nine decades of cost shrinks to 10⁻⁷ of itself.
const STEPS: usize = 34;

impl ScalingFit {
    /// Fits, validates and predicts for `cpus`, which the measured numbers of CPUs need not be part of. `others` are
    /// validations of the same session with other locks: they tell of the same model's error.
    ///
    /// # Errors
    /// If the measurements lack runs on one CPU, or a round.
    pub fn new(
        measurements: &[CpuMeasurement],
        profile: ProgramProfile,
        machine: &MachineCost,
        cpus: &[u32],
        others: &[Validation],
        seed: u64,
    ) -> Result<ScalingFit, FitError> {
        let measurements = &check(measurements)?;
        let points = mean_points(measurements);
        let most = points.last().map_or(1, |point| point.0);
        let law = ScalabilityLaw::fit(&points);
        let model = fit_model(&points, profile, machine);
        let (rounds, draws) = (measurements[0].throughputs.len(), draw_resamples(measurements, seed));
        let spread = |statistic: Statistic<'_>| half_width(&draws, rounds, statistic);
        let validations = validate(&points, &draws, rounds, profile, machine);
        let cost_interval_s = draws_of_cost(&draws, &points, profile, machine);
        let model_error = model_error(&validations, others);
        let mut wanted: Vec<u32> = points.iter().map(|point| point.0).chain(cpus.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let predictions = wanted
            .into_iter()
            .map(|cpus| {
                let measured = points.iter().position(|point| point.0 == cpus);
                let (throughput, interval) = match measured {
                    Some(n) => (points[n].1, spread(&|points| points[n].1.ln())),
                    None => {
                        let by_rounds =
                            spread(&|points| fit_model(points, profile, machine).throughput(cpus).ln());
                        let by_model = model_error.map(|error| error * doublings(cpus, most).max(1.0));
                        let both = by_rounds.zip(by_model).map(|(a, b)| a.hypot(b));
                        (model.throughput(cpus), both)
                    }
                };
                // The interval is [throughput/e^half, throughput·e^half].
                let is_unborne = interval.is_some_and(|half| (2.0 * half).exp() > SPAN_MAX);
                Prediction {
                    cpus,
                    source: match measured {
                        Some(_) => FigureSource::Measured,
                        None if is_unborne => FigureSource::Unborne,
                        None if cpus <= REACH * most => FigureSource::Predicted,
                        None => FigureSource::FarBeyond,
                    },
                    throughput,
                    interval: interval.map(|half| around(throughput, half)),
                    by_law: law.map(|law| law.throughput(cpus)),
                }
            })
            .collect();
        let probed_cost_s = ProgramModel::from_one_cpu(profile, points[0].1, machine).cost_s;
        Ok(ScalingFit { model, probed_cost_s, cost_interval_s, law, validations, predictions })
    }
}

/// Predicts each measured number of CPUs from those below it.
///
/// # Errors
/// If the measurements lack runs on one CPU, or a round.
pub fn validations(
    measurements: &[CpuMeasurement],
    profile: ProgramProfile,
    machine: &MachineCost,
    seed: u64,
) -> Result<Vec<Validation>, FitError> {
    let measurements = &check(measurements)?;
    let (points, rounds) = (mean_points(measurements), measurements[0].throughputs.len());
    Ok(validate(&points, &draw_resamples(measurements, seed), rounds, profile, machine))
}

/// By how much the model may be off for each doubling of the CPUs, as a logarithm; none without a validation.
///
/// A single check can be near 0 by luck, so no check counts with its error but with the far end of the error's interval, a t
/// interval of the logarithm of prediction over measurement. The result is the largest of the fit's own checks, and at
/// least the root mean square over all checks of the session.
pub fn model_error(own: &[Validation], others: &[Validation]) -> Option<f64> {
    let error = |v: &Validation| {
        let (low, high) = v.error_interval.unwrap_or((v.error, v.error));
        let end = |error: f64| (1.0 + error).ln().abs();
        end(low).max(end(high)).max(end(v.error)) / doublings(v.cpus, v.from)
    };
    let most = own.iter().map(error).reduce(f64::max)?;
    let squares: Vec<f64> = own.iter().chain(others).map(|v| error(v).powi(2)).collect();
    Some(most.max((squares.iter().sum::<f64>() / squares.len() as f64).sqrt()))
}

/// Resamples of the rounds; none of a single round.
fn draw_resamples(measurements: &[CpuMeasurement], seed: u64) -> Vec<Vec<(u32, f64)>> {
    let rounds = measurements[0].throughputs.len();
    let mut random = stream(seed, Purpose::Bootstrap);
    let count = if rounds > 1 { RESAMPLES } else { 0 };
    let mut draw = || -> Vec<usize> { (0..rounds).map(|_| random.random_range(0..rounds)).collect() };
    (0..count).map(|_| points_of(measurements, &draw())).collect()
}

fn validate(
    points: &[(u32, f64)],
    draws: &[Vec<(u32, f64)>],
    rounds: usize,
    profile: ProgramProfile,
    machine: &MachineCost,
) -> Vec<Validation> {
    let validation = |n: usize| {
        let ratio = |points: &[(u32, f64)]| predicted_from_below(points, n, profile, machine) / points[n].1;
        let error = ratio(points) - 1.0;
        let half = half_width(draws, rounds, &|points| ratio(points).ln());
        Validation {
            cpus: points[n].0,
            from: points[n - 1].0,
            predicted: predicted_from_below(points, n, profile, machine),
            measured: points[n].1,
            error,
            error_interval: half.map(|half| around(1.0 + error, half)).map(|(a, b)| (a - 1.0, b - 1.0)),
        }
    };
    (1..points.len()).map(validation).collect()
}

/// Sorted by CPUs, if they are complete.
fn check(measurements: &[CpuMeasurement]) -> Result<Vec<CpuMeasurement>, FitError> {
    let mut sorted = measurements.to_vec();
    sorted.sort_by_key(|m| m.cpus);
    let first = sorted.first().filter(|first| first.cpus == 1).ok_or(FitError::NoSingleCpu)?;
    let rounds = first.throughputs.len();
    let is_usable = |x: &f64| x.is_finite() && *x > 0.0;
    let bad = |m: &&CpuMeasurement| {
        m.throughputs.len() != rounds || rounds == 0 || !m.throughputs.iter().all(is_usable)
    };
    match sorted.iter().find(bad) {
        Some(m) => Err(FitError::Throughputs(m.cpus)),
        None => Ok(sorted),
    }
}

fn mean_points(measurements: &[CpuMeasurement]) -> Vec<(u32, f64)> {
    let all: Vec<usize> = (0..measurements[0].throughputs.len()).collect();
    points_of(measurements, &all)
}

/// The means of some rounds. The rounds of all numbers of CPUs stay together, because a disturbance affects them all.
fn points_of(measurements: &[CpuMeasurement], rounds: &[usize]) -> Vec<(u32, f64)> {
    let mean = |m: &CpuMeasurement| {
        rounds.iter().map(|&round| m.throughputs[round]).sum::<f64>() / rounds.len() as f64
    };
    measurements.iter().map(|m| (m.cpus, mean(m))).collect()
}

/// The prediction of point `n` by the fit on those before it.
fn predicted_from_below(
    points: &[(u32, f64)],
    n: usize,
    profile: ProgramProfile,
    machine: &MachineCost,
) -> f64 {
    fit_model(&points[..n], profile, machine).throughput(points[n].0)
}

/// The model whose cost fits the points best. One point leaves the machine's cost.
fn fit_model(points: &[(u32, f64)], profile: ProgramProfile, machine: &MachineCost) -> ProgramModel {
    let base = ProgramModel::from_one_cpu(profile, points[0].1, machine);
    if points.len() < 2 {
        return base;
    }
    let with = |cost_s: f64| ProgramModel { cost_s, ..base };
    let loss = |cost_s: f64| {
        let miss =
            |&(cpus, throughput): &(u32, f64)| (with(cost_s).throughput(cpus) / throughput).ln().powi(2);
        points[1..].iter().map(miss).sum::<f64>()
    };
    // From a thousandth of a nanosecond to a millisecond, in logarithms; and no cost at all.
    let (mut low, mut high) = (1e-12_f64.ln(), 1e-3_f64.ln());
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (loss(a.exp()), loss(b.exp()));
    for _ in 0..STEPS {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = loss(a.exp());
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = loss(b.exp());
        }
    }
    let best = (0.5 * (low + high)).exp();
    if loss(0.0) <= loss(best) { with(0.0) } else { with(best) }
}

/// How often the CPUs double.
fn doublings(cpus: u32, from: u32) -> f64 {
    (f64::from(cpus) / f64::from(from)).log2()
}

/// Half the width of the 95 % interval of a logarithm: the standard deviation of the resamples, corrected for the few
/// rounds as in `unspin_stats::bootstrap` (t for the normal quantile, n − 1 for n).
fn half_width(draws: &[Vec<(u32, f64)>], rounds: usize, statistic: Statistic<'_>) -> Option<f64> {
    if draws.is_empty() {
        return None;
    }
    let values: Vec<f64> = draws.iter().map(|points| statistic(points)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let freedom = rounds as f64 - 1.0;
    let t = student_quantile(0.5 + 0.5 * CONFIDENCE, rounds as u32 - 1);
    Some(t * (variance * rounds as f64 / freedom).sqrt())
}

/// The central 95 % of the fitted costs.
fn draws_of_cost(
    draws: &[Vec<(u32, f64)>],
    points: &[(u32, f64)],
    profile: ProgramProfile,
    machine: &MachineCost,
) -> Option<(f64, f64)> {
    if draws.is_empty() || points.len() < 2 {
        return None;
    }
    let mut costs: Vec<f64> = draws.iter().map(|points| fit_model(points, profile, machine).cost_s).collect();
    costs.sort_by(f64::total_cmp);
    let at = |share: f64| costs[((costs.len() - 1) as f64 * share).round() as usize];
    Some((at(0.025), at(0.975)))
}

fn around(value: f64, half: f64) -> (f64, f64) {
    (value * (-half).exp(), value * half.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKLESS: ProgramProfile = ProgramProfile {
        threads: 64,
        style: crate::program::WaitStyle::Barging,
        locks: 1,
        acquisitions: 0.0,
        hold_s: 0.0,
        sleeps: 0.0,
        busy: 1.0,
    };
    const FREE: MachineCost =
        MachineCost { transfer_s: 0.0, sleep_here_s: 0.0, sleep_across_s: 0.0, sleep_placed_s: 0.0 };

    fn validation(error: f64, half: f64, cpus: u32) -> Validation {
        let (low, high) = around(1.0 + error, half);
        let error_interval = Some((low - 1.0, high - 1.0));
        Validation { cpus, from: 1, predicted: 1.0 + error, measured: 1.0, error, error_interval }
    }

    #[test]
    fn check_that_is_right_by_luck_does_not_make_the_model_exact() {
        let lucky = validation(0.0, 0.2, 2);
        assert!(
            (model_error(std::slice::from_ref(&lucky), &[]).unwrap() - 0.2).abs() < 1e-9,
            "its interval counts"
        );
        // Four checks of other configurations are off by a half.
        let others = vec![validation(0.5, 0.0, 2); 4];
        let expected = ((4.0 * 1.5_f64.ln().powi(2) + 0.2_f64.powi(2)) / 5.0).sqrt();
        assert!((model_error(&[lucky], &others).unwrap() - expected).abs() < 1e-9);
        // Good checks of others do not hide a bad one of its own.
        let bad = validation(0.5, 0.0, 2);
        assert!((model_error(&[bad], &[validation(0.0, 0.0, 2)]).unwrap() - 1.5_f64.ln()).abs() < 1e-9);
        // Two doublings.
        assert!((model_error(&[validation(0.5, 0.0, 4)], &[]).unwrap() - 0.5 * 1.5_f64.ln()).abs() < 1e-9);
        assert_eq!(model_error(&[], &others), None);
    }

    /// Two threads that take turns: a second CPU gains nothing, and nothing on one CPU tells it.
    #[test]
    fn model_that_its_check_refutes_predicts_nothing() {
        let sources = |two: f64| {
            let points = [(1, 100.0), (2, two)].map(|(cpus, throughput): (u32, f64)| CpuMeasurement {
                cpus,
                throughputs: [0.99, 1.0, 1.01].map(|noise| noise * throughput).to_vec(),
            });
            let fit = ScalingFit::new(&points, LOCKLESS, &FREE, &[4, 8, 16], &[], 1).unwrap();
            fit.predictions.iter().map(|prediction| prediction.source).collect::<Vec<_>>()
        };
        use FigureSource::{FarBeyond, Measured, Predicted, Unborne};
        assert_eq!(sources(101.0), [Measured, Measured, Unborne, Unborne, Unborne]);
        assert_eq!(sources(198.0), [Measured, Measured, Predicted, Predicted, FarBeyond]);
    }

    #[test]
    fn checks_of_other_configurations_widen_the_intervals() {
        let (profile, machine) = (LOCKLESS, FREE);
        let points = [(1, 100.0), (2, 200.0)].map(|(cpus, throughput): (u32, f64)| CpuMeasurement {
            cpus,
            throughputs: [0.99, 1.0, 1.01].map(|noise| noise * throughput).to_vec(),
        });
        let width = |others: &[Validation]| {
            let fit = ScalingFit::new(&points, profile, &machine, &[4], others, 1).unwrap();
            assert_eq!(fit.validations, validations(&points, profile, &machine, 1).unwrap());
            let (low, high) = fit.predictions[2].interval.unwrap();
            (high / low).ln()
        };
        assert!(width(&[validation(0.5, 0.0, 2)]) > 2.0 * width(&[]) + 0.1);
    }
}
