//! An emulated browser: a thread that requests pages and thinks (clause 5.3).

use crate::database::Failure;
use crate::histogram::Histogram;
use crate::interaction::Interaction;
use crate::ledger::Ledger;
use crate::mix::Mix;
use crate::pool::Pool;
use crate::random::Random;
use crate::shop::{Shop, Visitor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What all browsers of a run share.
pub struct Setting<'a> {
    /// The connections.
    pub pool: Pool<'a>,
    /// The shop.
    pub shop: &'a Shop,
    /// The mix of interactions.
    pub mix: Mix,
    /// Mean of the think times.
    pub think_time: Duration,
    /// When the measurement begins.
    pub measured_from: Instant,
    /// When the run ends.
    pub until: Instant,
    /// Set when the run shall end at once. The setter wakes the threads.
    pub is_over: AtomicBool,
}

/// What a browser did.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Response times of the measured interactions, in the order of [`Interaction::ALL`].
    pub times: [Histogram; 14],
    /// What it did to the database, the warm-up included.
    pub ledger: Ledger,
    /// Transactions that had to be tried again.
    pub conflicts: u64,
}

impl Journal {
    /// Adds what another browser did.
    pub fn merge(&mut self, other: &Journal) {
        for (times, more) in self.times.iter_mut().zip(&other.times) {
            times.merge(more);
        }
        self.ledger.merge(&other.ledger);
        self.conflicts += other.conflicts;
    }
}

/// A think time is at most so many means (clause 5.3.2.1).
const THINK_MAX: f64 = 10.0;
/// Mean and greatest length of a user session (clause 6.2.1.2).
const SESSION_MEAN: Duration = Duration::from_secs(15 * 60);
const SESSION_MAX: Duration = Duration::from_secs(60 * 60);

/// Requests pages until the run ends.
pub fn browse(setting: &Setting<'_>, mut random: Random) -> Result<Journal, (Interaction, Failure)> {
    let mut journal = Journal::default();
    let mut visitor = Visitor::new(random.split());
    let mut session_ends = Instant::now();
    let mut next = Interaction::Home;
    while !setting.is_over() {
        if next == Interaction::Home && Instant::now() >= session_ends {
            visitor.enter(setting.shop);
            let length = SESSION_MEAN.mul_f64(random.exponential()).min(SESSION_MAX);
            session_ends = Instant::now() + length;
        }
        let began = Instant::now();
        visitor
            .perform(setting.shop, &mut *setting.pool.borrow(), next)
            .map_err(|failure| (next, failure))?;
        let ended = Instant::now();
        if ended >= setting.measured_from && ended < setting.until {
            journal.times[next as usize].add(ended - began);
        }
        next = setting.mix.next(next, &mut random);
        setting.think(ended, &mut random);
    }
    Ok(Journal { ledger: visitor.ledger, conflicts: visitor.conflicts, ..journal })
}

impl Setting<'_> {
    fn is_over(&self) -> bool {
        // Relaxed: the flag guards no other data; the counts are handed over by joining the threads.
        Instant::now() >= self.until || self.is_over.load(Ordering::Relaxed)
    }

    /// Waits for the think time after a page, or until the run is over.
    fn think(&self, since: Instant, random: &mut Random) {
        if self.think_time.is_zero() {
            return;
        }
        let thinks = self.think_time.mul_f64(random.exponential().min(THINK_MAX));
        let until = (since + thinks).min(self.until);
        while !self.is_over() {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return;
            };
            thread::park_timeout(left);
        }
    }
}
