//! The staircase of Rostedt 2008: kinds of mutex, each of which adds one step to the one before.

use super::configuration::Configuration;
use super::session::Session;
use serde::Serialize;
use unspin_locks::LockKind;
use unspin_stats::{Analysis, Experiment, Ratio, Role, Summary};

/// The known staircases, from strict order to stealing to spinning.
const STAIRS: [[LockKind; 3]; 2] = [
    [LockKind::RtFair, LockKind::RtSteal, LockKind::RtAdaptive],
    [LockKind::Fair, LockKind::Steal, LockKind::Adaptive],
];

/// A measured staircase. Its steps do not count for the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Staircase {
    /// The control, which the reports call vanilla, and libc's mutex with priority inheritance if it was measured.
    pub beside: Vec<Level>,
    /// The kinds, lowest first.
    pub steps: Vec<Level>,
    /// The last step against the first.
    pub whole: Option<Ratio>,
}

/// One step. Ratios above 1 are better.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub summary: Option<Summary>,
    /// Compared with the step before.
    pub to_before: Option<Ratio>,
    /// Compared with the control.
    pub to_control: Option<Ratio>,
}

impl Staircase {
    /// The first staircase all of whose steps were measured.
    pub fn of(configurations: &[Configuration], session: &Session) -> Option<Staircase> {
        let place =
            |kind: LockKind| configurations.iter().position(|c| c.is_judged() && c.name() == kind.name());
        let present = |stairs: &[LockKind]| stairs.iter().filter_map(|&kind| place(kind)).collect::<Vec<_>>();
        let steps =
            STAIRS.iter().map(|stairs| present(stairs)).find(|steps| steps.len() == STAIRS[0].len())?;
        let level = |index: usize, before: Option<usize>| Level {
            name: configurations[index].name().to_owned(),
            summary: session.experiment.samples[index].summary(session.experiment.metric.direction),
            to_before: before.and_then(|before| ratio(session, before, index)),
            to_control: (index > 0).then(|| ratio(session, 0, index)).flatten(),
        };
        Some(Staircase {
            beside: [Some(0), place(LockKind::Pi)]
                .into_iter()
                .flatten()
                .map(|index| level(index, None))
                .collect(),
            steps: (0..steps.len())
                .map(|n| level(steps[n], n.checked_sub(1).map(|before| steps[before])))
                .collect(),
            whole: ratio(session, steps[0], steps[steps.len() - 1]),
        })
    }
}

/// The same runs, with one configuration as the control and another as the only candidate. None if their runs failed.
fn ratio(session: &Session, before: usize, after: usize) -> Option<Ratio> {
    let samples = [before, after].map(|index| session.experiment.samples[index].clone());
    if samples.iter().any(|s| s.failures().0 > 0 || s.cut_off() > 0) {
        return None;
    }
    let [mut before, mut after] = samples;
    (before.candidate.role, after.candidate.role) = (Role::Control, Role::Candidate);
    let experiment = Experiment { samples: vec![before, after], ..session.experiment.clone() };
    Analysis::of(&experiment, &session.analysis.settings).comparisons.pop()?.ratio
}
