//! What a session of a scheduler has counted, as JSON and as a line.

use crate::counters::Counters;
use crate::locks::LockUse;
use serde::Serialize;

/// The document of `--stats`.
#[derive(Serialize, Debug)]
pub struct Statistics {
    /// The scheduler.
    pub scheduler: &'static str,
    /// Seconds for which it was loaded.
    pub seconds: f64,
    /// CPUs of the machine.
    pub cpus: usize,
    /// Tasks that it still had when it was unloaded.
    pub tasks_at_unload: u64,
    /// The counters of all CPUs.
    pub counters: Counters,
    /// The runs that began, of all kinds.
    pub runs: u64,
    /// Whether the counters add up.
    pub adds_up: bool,
    /// The sums that are not equal: a sentence for each.
    pub contradictions: Vec<String>,
    /// Why the kernel ended the scheduler; null: it did not.
    pub ejected: Option<String>,
    /// The locks, with `--locks`.
    pub locks: Option<Vec<LockUse>>,
}

impl Statistics {
    /// The session in one line.
    pub fn line(&self) -> String {
        let c = &self.counters;
        let sums = match self.contradictions.first() {
            None => "the counters add up".into(),
            Some(first) => format!("the counters do not add up: {first}"),
        };
        format!(
            "{}: {} tasks, {} runs: {} of {} enqueued, {} of {} put on idle CPUs, {} resumed; {} stolen, {} migrations; {sums}",
            self.scheduler,
            c.tasks,
            self.runs,
            c.runs_queued,
            c.enqueued,
            c.runs_direct,
            c.direct,
            c.resumed,
            c.stolen,
            c.migrations,
        )
    }
}
