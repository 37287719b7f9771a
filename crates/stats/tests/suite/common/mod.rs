//! A simulated machine: programs with known true speeds under noise and drift.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use std::f64::consts::TAU;

/// What disturbs a run.
#[derive(Clone, Copy)]
pub struct Noise {
    /// Coefficient of variation of a single run; log-normal, as run times are skewed.
    pub cv: f64,
    /// Standard deviation of the log of a factor that all runs of a round share: a neighbour's load.
    pub shared: f64,
    /// How much slower the machine becomes with each round, in log units: drift.
    pub drift: f64,
}

/// Identical runs on a small shared machine were observed to vary by 26 %; such machines also drift.
pub const SHARED_MACHINE: Noise = Noise { cv: 0.26, shared: 0.15, drift: 0.02 };

/// A machine on which most of the noise is common to a round: the case for pairing.
pub const LOUD_NEIGHBOUR: Noise = Noise { cv: 0.15, shared: 0.4, drift: 0.05 };

/// Draws run times.
pub struct Machine {
    noise: Noise,
    random: ChaCha8Rng,
    /// Log of the factor that this round's runs share.
    round: f64,
    rounds: f64,
}

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Machine {
        Machine { noise, random: ChaCha8Rng::seed_from_u64(seed), round: 0.0, rounds: 0.0 }
    }

    /// Begins the next round.
    pub fn next_round(&mut self) {
        self.rounds += 1.0;
        self.round = self.noise.shared * self.normal() + self.noise.drift * self.rounds;
    }

    /// A run of a program whose mean run time is `mean` without shared noise and drift.
    pub fn run(&mut self, mean: f64) -> f64 {
        let variance = self.noise.cv.powi(2).ln_1p();
        mean * (self.round + variance.sqrt() * self.normal() - 0.5 * variance).exp()
    }

    /// `rounds` pairs of a control and a candidate with these means.
    pub fn pairs(&mut self, rounds: usize, control: f64, candidate: f64) -> Vec<(f64, f64)> {
        let pair = |_| {
            self.next_round();
            (self.run(control), self.run(candidate))
        };
        (0..rounds).map(pair).collect()
    }

    fn normal(&mut self) -> f64 {
        // Box–Muller; 1 − u is never zero.
        let (u, v): (f64, f64) = (self.random.random(), self.random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
    }
}
