//! What the locks of the run queues cost, under the control and under each candidate: the figures of Hartner 2001.

use super::report::Report;
use serde::Serialize;
use unspin_meter::Lock;
use unspin_runqueue::lock::LOCK_NAME;

/// The locks of the run queues in one metered run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRunQueue<'a> {
    /// The control or the candidate.
    pub candidate: &'a str,
    /// Number of locks, in all processes.
    pub locks: u64,
    /// Share of the metered time in which a lock was held, as a mean of the locks.
    pub util_each: f64,
    /// Share of the machine's CPU time that threads spun.
    pub spin_cpu: f64,
    /// CPUs that were busy with holding the locks or spinning for them, at most what the program used.
    pub cpus: f64,
    /// `cpus` as a share of the control's; none for the control, and if the control's is 0.
    pub of_control: Option<f64>,
    /// The lock in the table.
    #[serde(skip)]
    pub lock: &'a Lock,
}

/// The run queues of the metered runs, the control's first. Empty unless run queues are judged.
pub fn judged(report: &Report) -> Vec<JudgedRunQueue<'_>> {
    if !report.is_about_run_queues() {
        return Vec::new();
    }
    let control = report.session.analysis.control.as_str();
    let mut all: Vec<JudgedRunQueue<'_>> = Vec::new();
    for metered in &report.locks.metered {
        let Some(lock) = metered.report.lock(LOCK_NAME) else { continue };
        let cpus = lock.row.cpus;
        let base = all.iter().find(|known| known.candidate == control && known.cpus > 0.0);
        all.push(JudgedRunQueue {
            candidate: &metered.candidate,
            locks: lock.locks,
            util_each: lock.util_each(),
            spin_cpu: lock.row.spin_cpu,
            cpus,
            of_control: base.map(|base| cpus / base.cpus),
            lock,
        });
    }
    all
}
