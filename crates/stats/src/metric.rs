//! The metric, and which direction is better.

use serde::{Deserialize, Serialize};

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// For example seconds, misses, bytes.
    LowerIsBetter,
    /// For example transactions per second.
    HigherIsBetter,
}

impl Direction {
    /// How many times as good `candidate` is as `control`; above 1 is better. Both must be positive.
    pub fn times_as_good(self, candidate: f64, control: f64) -> f64 {
        match self {
            Direction::LowerIsBetter => control / candidate,
            Direction::HigherIsBetter => candidate / control,
        }
    }
}

/// The quantity, which selects the wording of sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The elapsed time of the program: "3.1 times as fast".
    WallTime,
    /// CPU time: "0.32 times kernel's".
    CpuTime,
    /// Any other quantity: "2.1 times kernel's"; "2.1 times as good as kernel" if less is better.
    Other,
}

/// The figure that each run yields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// The name in sentences and tables.
    pub name: String,
    /// The unit printed after a value; empty if unknown.
    pub unit: String,
    /// Which direction is better.
    pub direction: Direction,
    /// Selects the wording of sentences.
    pub quantity: Quantity,
}

impl Metric {
    /// Wall time in seconds.
    pub fn wall_time() -> Metric {
        Metric {
            name: "wall time".into(),
            unit: "s".into(),
            direction: Direction::LowerIsBetter,
            quantity: Quantity::WallTime,
        }
    }

    /// CPU time, user and system, in seconds.
    pub fn cpu_time() -> Metric {
        Metric { name: "CPU time".into(), quantity: Quantity::CpuTime, ..Metric::wall_time() }
    }

    /// Whether the metric is CPU time.
    pub fn is_cpu_time(&self) -> bool {
        self.quantity == Quantity::CpuTime
    }

    /// A figure that the program prints itself.
    pub fn custom(name: impl Into<String>, unit: impl Into<String>, direction: Direction) -> Metric {
        Metric { name: name.into(), unit: unit.into(), direction, quantity: Quantity::Other }
    }
}
