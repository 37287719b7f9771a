//! What is tried.

use super::findings::Findings;
use super::picks::Pick;
use crate::plan::{Entry, Plan, WaitPolicy, Which};
use unspin_locks::Kind;
use unspin_stats::screening::Standing;

/// The kinds that are tried on everything: those that nobody starves under. None for study, and none that pays for
/// priorities that nobody asked for.
pub const KINDS: [Kind; 2] = [Kind::Adaptive, Kind::Steal];
/// Waits for conditions and semaphores that are shorter than this may be worth spinning through: some times what it costs
/// to sleep and be woken (some 5 µs to 50 µs).
const SHORT_WAIT_S: f64 = 200e-6;

/// The share of wall time × CPUs that such waits must take to be worth it: most of a wait is for what is waited for.
const MANY_WAITS: f64 = 0.1;

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
    }
    if findings.share(findings.by_design_s) >= MANY_WAITS && findings.by_design_mean_s < SHORT_WAIT_S {
        plans.push(("poll".into(), Plan::all_waits(WaitPolicy::Poll)));
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
    Some((format!("{kind}@{}", pick.name), Plan { mutexes: vec![entry], waits: Vec::new() }))
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
    let mutexes = parts.into_iter().flat_map(|(.., plan)| plan.mutexes).collect();
    Some((name, Plan { mutexes, waits: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Located;
    use unspin_stats::screening::Fate;

    /// Ten seconds on two CPUs.
    fn findings(by_design_s: f64, by_design_mean_s: f64) -> Findings {
        Findings {
            seconds: 10.0,
            cpus: 2,
            computed: 0.5,
            mutexes_s: 1.0,
            rwlocks_s: 0.0,
            spin_locks_s: 0.0,
            by_design_s,
            by_design_mean_s,
            unexplained_s: None,
            attempts: 1000,
            worst: None,
            silence: None,
        }
    }

    fn pick(name: &str, starved: bool) -> Pick {
        let located = Located { name: name.into(), origin: None, places: Vec::new() };
        Pick {
            name: name.into(),
            origin: None,
            lost_s: 1.0,
            lost: 0.05,
            ceiling: 1.1,
            starved,
            located: Some(located),
        }
    }

    fn names(plans: &[Named]) -> Vec<&str> {
        plans.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn what_is_tried_depends_on_what_was_found() {
        let quiet = findings(0.0, 0.0);
        assert!(candidates(&[], &quiet).is_empty());
        let all = candidates(&[pick("a", false), pick("b", true)], &quiet);
        assert_eq!(
            names(&all),
            ["adaptive", "steal", "adaptive@a", "adaptive@b", "steal@a", "steal@b", "fair"]
        );
        assert_eq!(names(&candidates(&[], &findings(5.0, 20e-6))), ["poll"]);
        assert!(candidates(&[], &findings(5.0, 0.5)).is_empty(), "a long wait is nothing to spin through");
    }

    #[test]
    fn the_best_for_each_lock_are_judged_together() {
        let standing = |name: &str, ratio| Standing {
            index: 1,
            name: name.into(),
            ratio: Some(ratio),
            rounds: 4,
            fate: Fate::Kept,
        };
        let picks = [pick("a", false), pick("b", false)];
        let standings = [standing("adaptive@a", 1.2), standing("steal@a", 1.3), standing("adaptive@b", 1.1)];
        let (name, plan) = together(&picks, &standings).unwrap();
        assert_eq!((name.as_str(), plan.mutexes.len()), ("steal@a + adaptive@b", 2));
        assert_eq!(together(&picks, &standings[..2]), None, "one alone has been tried");
    }
}
