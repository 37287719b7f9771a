//! The time that one call takes.

use super::EffortOptions;
use std::time::{Duration, Instant};

/// How long a loop goes on.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// Until this time is over.
    Time(Duration),
    /// This many calls, without a clock: for a counter of instructions.
    Times(u64),
}

impl From<EffortOptions> for Effort {
    fn from(options: EffortOptions) -> Effort {
        match options.times {
            Some(times) => Effort::Times(times),
            None => Effort::Time(Duration::from_millis(options.time_ms.unwrap_or_default())),
        }
    }
}

/// A batch: long against reading the clock (some 25 ns), short against a time slice.
const BATCH: Duration = Duration::from_micros(100);

/// Nanoseconds of one `call`: the median over batches, which a loss of the CPU in some of them leaves alone. Zero if
/// no time was to be taken.
#[inline(always)]
pub fn per_call(effort: &Effort, mut call: impl FnMut()) -> f64 {
    let time = match *effort {
        Effort::Time(time) => time,
        Effort::Times(times) => {
            (0..times).for_each(|_| call());
            return 0.0;
        }
    };
    // The first call may create objects that later calls find, and may take longer than a batch.
    call();
    // Determining the length of a batch also warms up the measured code.
    let mut calls = 1u32;
    // The shortest of several: a call that lost the CPU says nothing, and a batch of one call would measure the clock.
    while (0..5).map(|_| batch(calls, &mut call)).min() < Some(BATCH) {
        calls *= 2;
    }
    let start = Instant::now();
    let mut batches = Vec::with_capacity(1 << 16);
    while start.elapsed() < time || batches.is_empty() {
        batches.push(batch(calls, &mut call));
    }
    batches.sort();
    batches[batches.len() / 2].as_nanos() as f64 / f64::from(calls)
}

#[inline(always)]
fn batch(calls: u32, call: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed()
}
