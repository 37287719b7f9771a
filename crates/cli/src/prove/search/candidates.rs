//! What is tried.

use super::findings::Findings;
use super::picks::Pick;
use crate::mutex::{Entry, Plan, Waits, Which};
use unspin_locks::Kind;
use unspin_stats::screening::Standing;

/// The kinds that are tried on everything: those that nobody starves under. None for study, and none that pays for
/// priorities that nobody asked for.
pub const KINDS: [Kind; 2] = [Kind::Adaptive, Kind::Steal];
/// Waits for conditions and semaphores that are shorter than this may be worth spinning through: some times what it costs
/// to sleep and be woken (some 5 µs to 50 µs).
const SHORT_WAIT_S: f64 = 200e-6;

/// A plan and its name.
type Named = (String, Plan);

/// What is worth a try, the most promising first. Nothing, if no lock is.
pub fn candidates(picks: &[Pick], findings: &Findings) -> Vec<Named> {
    let mut plans: Vec<Named> = Vec::new();
    if !picks.is_empty() {
        plans.extend(KINDS.map(everywhere));
        for kind in KINDS {
            plans.extend(picks.iter().filter_map(|pick| only(kind, pick)));
        }
        if picks.iter().any(|pick| pick.starved) {
            plans.push(everywhere(Kind::Fair));
        }
        if findings.by_design_s > findings.mutexes_s && findings.by_design_mean_s < SHORT_WAIT_S {
            let plan = Plan { waits: Waits::SpinningFirst, ..Plan::all(Kind::Adaptive) };
            plans.push((format!("{} + spinning waits", Kind::Adaptive), plan));
        }
    }
    plans
}

/// One kind for all.
pub fn everywhere(kind: Kind) -> Named {
    (kind.name().to_owned(), Plan::all(kind))
}

/// A kind for one lock; none if it cannot be told from others.
fn only(kind: Kind, pick: &Pick) -> Option<Named> {
    let entry = Entry { kind, which: Which::Located(pick.located.clone()?) };
    Some((format!("{kind}@{}", pick.name), Plan { entries: vec![entry], waits: Waits::default() }))
}

/// The best kind for each lock, where it was better than the control; none unless several locks have one.
pub fn together(picks: &[Pick], standings: &[Standing]) -> Option<Named> {
    let best = |pick: &Pick| {
        let tried = KINDS.into_iter().filter_map(|kind| {
            let (name, plan) = only(kind, pick)?;
            let standing = standings.iter().find(|standing| standing.name == name)?;
            let ratio = standing.ratio.filter(|&ratio| ratio > 1.0)?;
            Some((ratio, name, plan))
        });
        tried.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let parts: Vec<_> = picks.iter().filter_map(best).collect();
    if parts.len() < 2 {
        return None;
    }
    let name = parts.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
    let entries = parts.into_iter().flat_map(|(.., plan)| plan.entries).collect();
    Some((name, Plan { entries, waits: Waits::default() }))
}
