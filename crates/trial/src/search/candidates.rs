//! The candidates that the search tries.

use super::findings::Findings;
use super::picks::Pick;
use super::sites::{Polling, SitePick};
use crate::kinds;
use unspin_launch::plan::kind::{AnyKind, KindOfFamily};
use unspin_launch::plan::{Plan, WaitEntry, WaitPolicy, Which};
use unspin_locks::LockKind;
use unspin_stats::screening::ScreeningResult;
use unspin_wire::plan::LockFamily;

/// How much better than the control a candidate must have been in short runs to be combined with others in one plan:
/// smaller gains are more often noise, and plans should be short.
const WORTH_JOINING: f64 = 1.05;

/// A plan with its name.
type Named = (String, Plan);

/// The candidates, the most promising first. Empty if no lock and no wait costs enough.
pub fn candidates(picks: &[Pick], polling: &Polling, findings: &Findings) -> Vec<Named> {
    // With the gain that each group of candidates promises. The gain for readers that contend is in no figure; they are the
    // only candidates then, or come last.
    let lost =
        |family| picks.iter().filter(|pick| pick.family == family).fold(0.0, |sum, pick| sum + pick.lost);
    let mut groups: Vec<(f64, Vec<Named>)> =
        LockFamily::ALL.into_iter().map(|family| (lost(family), for_locks(family, picks))).collect();
    groups.push((polling.saving_s / findings.seconds, for_waits(polling)));
    groups.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Candidates for everything come before those for one lock or call site.
    let all = || groups.iter().flat_map(|(_, group)| group);
    let everywhere = all().filter(|(name, _)| !name.contains('@'));
    everywhere.chain(all().filter(|(name, _)| name.contains('@'))).cloned().collect()
}

fn for_locks(family: LockFamily, picks: &[Pick]) -> Vec<Named> {
    let picks: Vec<&Pick> = picks.iter().filter(|pick| pick.family == family && !pick.held_long).collect();
    if picks.is_empty() {
        return Vec::new();
    }
    // Without starvation. Experimental kinds are left out, and so are those with real-time priorities, which cost more.
    let kinds = kinds::search_order(family);
    let mut plans: Vec<Named> = kinds.iter().copied().map(everywhere).collect();
    for kind in kinds {
        plans.extend(picks.iter().filter_map(|pick| only(kind, pick)));
    }
    if family == LockFamily::Mutex && picks.iter().any(|pick| pick.starved) {
        plans.push(everywhere(LockKind::Fair.any()));
    }
    plans
}

fn for_waits(polling: &Polling) -> Vec<Named> {
    let everywhere = polling.is_promising().then(poll_everywhere);
    everywhere.into_iter().chain(polling.apart().iter().filter_map(poll_at)).collect()
}

/// The candidates for a program of which only the families of locks are known that it calls: every kind and policy,
/// everywhere. Mutexes are used by most libraries that a program loads later.
pub fn unmetered(called: &[LockFamily]) -> Vec<Named> {
    let is_tried = |family: &LockFamily| *family == LockFamily::Mutex || called.contains(family);
    let families = LockFamily::ALL.into_iter().filter(is_tried);
    families.flat_map(kinds::search_order).map(everywhere).chain([poll_everywhere()]).collect()
}

/// Every wait polls.
fn poll_everywhere() -> Named {
    (WaitPolicy::Poll.to_string(), Plan::all_waits(WaitPolicy::Poll))
}

/// The waits of one call site poll; none if it cannot be identified.
fn poll_at(site: &SitePick) -> Option<Named> {
    let which = Which::Located(site.located.clone()?);
    let plan = Plan::of_wait(WaitEntry { policy: WaitPolicy::Poll, which });
    Some((format!("{}@{}", WaitPolicy::Poll, site.name), plan))
}

/// One kind for all locks of its family.
fn everywhere(kind: AnyKind) -> Named {
    kinds::candidate(kind, Which::All)
}

/// A kind for one lock; none if it cannot be identified.
fn only(kind: AnyKind, pick: &Pick) -> Option<Named> {
    Some(kinds::candidate(kind, Which::Located(pick.located.clone()?)))
}

/// A plan that combines what was noticeably better than the control: the best kind for each lock, and polling where
/// that was best. None if the combination was tried already as one candidate.
pub fn together(picks: &[Pick], polling: &Polling, standings: &[ScreeningResult]) -> Option<Named> {
    let locks = LockFamily::ALL.into_iter().flat_map(|family| best_kinds(family, picks, standings));
    let parts: Vec<Named> = locks.chain(best_waits(polling, standings)).collect();
    if parts.len() < 2 {
        return None;
    }
    let name = parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
    let plan = parts.into_iter().fold(Plan::default(), |all, (_, plan)| all.before(plan));
    Some((name, plan))
}

/// The best kind for each lock of a family; or, if no kind was better for one alone, the best kind for all of them.
fn best_kinds(family: LockFamily, picks: &[Pick], standings: &[ScreeningResult]) -> Vec<Named> {
    let kinds = || kinds::search_order(family).into_iter();
    let of_family = || picks.iter().filter(|pick| pick.family == family);
    let alone: Vec<Named> = of_family()
        .filter_map(|pick| best(kinds().filter_map(|kind| only(kind, pick)), standings))
        .map(|(_, named)| named)
        .collect();
    match alone.is_empty() && of_family().next().is_some() {
        true => best(kinds().map(everywhere), standings).map(|(_, named)| named).into_iter().collect(),
        false => alone,
    }
}

/// Polling everywhere, or at those call sites that were better alone, if the best of these was better than everywhere.
fn best_waits(polling: &Polling, standings: &[ScreeningResult]) -> Vec<Named> {
    let everywhere = best([poll_everywhere()].into_iter(), standings);
    let sites = polling.apart().iter().filter_map(poll_at);
    let sites: Vec<(f64, Named)> = sites.filter_map(|site| best([site].into_iter(), standings)).collect();
    let best_site = sites.iter().map(|(ratio, _)| *ratio).fold(0.0, f64::max);
    match everywhere {
        Some((ratio, everywhere)) if ratio >= best_site => vec![everywhere],
        _ => sites.into_iter().map(|(_, named)| named).collect(),
    }
}

/// The best candidate, if it was noticeably better than the control, with its ratio.
fn best(candidates: impl Iterator<Item = Named>, standings: &[ScreeningResult]) -> Option<(f64, Named)> {
    let tried = candidates.filter_map(|named| {
        let standing = standings.iter().find(|standing| standing.name == named.0)?;
        Some((standing.ratio.filter(|&ratio| ratio >= WORTH_JOINING)?, named))
    });
    tried.max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_that_cannot_be_metered_gets_the_kinds_of_the_families_that_it_calls() {
        let names = |called: &[LockFamily]| {
            unmetered(called).into_iter().map(|(name, _)| name).collect::<Vec<String>>()
        };
        let mutexes = names(&[]);
        assert!(
            mutexes.iter().any(|name| name == "adaptive")
                && mutexes.last().is_some_and(|name| name == "poll")
        );
        assert!(!mutexes.iter().any(|name| name.starts_with("rw-") || name.starts_with("spin ")));
        assert_eq!(names(&[LockFamily::Mutex]), mutexes);
        let all = names(&[LockFamily::RwLock, LockFamily::Spin]);
        for name in mutexes.iter().map(String::as_str).chain(["rw-biased", "spin adaptive"]) {
            assert_eq!(all.iter().filter(|other| *other == name).count(), 1, "{name}: {all:?}");
        }
    }
    use crate::search::findings::of_ten_seconds as findings;
    use unspin_launch::plan::Located;
    use unspin_stats::screening::ScreeningEnd;

    fn pick(name: &str, starved: bool) -> Pick {
        let located = Located { name: name.into(), origin: None, places: Vec::new(), mutexes: 0 };
        Pick {
            family: LockFamily::Mutex,
            name: name.into(),
            origin: None,
            lost_s: 1.0,
            lost: 0.05,
            ceiling: 1.1,
            starved,
            held_long: false,
            contended_readers: false,
            located: Some(located),
        }
    }

    fn rwlock(name: &str) -> Pick {
        Pick { family: LockFamily::RwLock, ..pick(name, false) }
    }

    /// The saving by polling at call sites of these names: a second at the first, half of it at the next.
    fn polling(sites: &[&str]) -> Polling {
        let site = |(index, name): (usize, &&str)| SitePick {
            name: (*name).into(),
            place: None,
            kind: unspin_wire::RecordKind::Epoll,
            waits: 20_000,
            short: 19_000,
            median_s: 48e-6,
            saving_s: 1.0 / (index + 1) as f64,
            located: Some(Located { name: (*name).into(), origin: None, places: Vec::new(), mutexes: 0 }),
        };
        let sites: Vec<SitePick> = sites.iter().enumerate().map(site).collect();
        let saving_s = sites.first().map_or(0.0, |site| site.saving_s);
        Polling { waits: 20_000, saving_s, wake_up_s: Some(45e-6), sites }
    }

    fn standing(name: &str, ratio: f64) -> ScreeningResult {
        ScreeningResult {
            index: 1,
            name: name.into(),
            ratio: Some(ratio),
            rounds: 4,
            end: ScreeningEnd::Kept,
        }
    }

    fn names(plans: &[Named]) -> Vec<&str> {
        plans.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn candidates_depend_on_the_picks() {
        let (still, quiet) = (findings(), polling(&[]));
        assert!(candidates(&[], &quiet, &still).is_empty());
        let picks = [pick("a", false), pick("b", true)];
        assert_eq!(
            names(&candidates(&picks, &quiet, &still)),
            ["adaptive", "steal", "fair", "adaptive@a", "adaptive@b", "steal@a", "steal@b"]
        );
        assert_eq!(names(&candidates(&[], &polling(&["f"]), &still)), ["poll"], "one site is all there is");
        let sites = polling(&["f", "g", "h"]);
        assert_eq!(names(&candidates(&[], &sites, &still)), ["poll", "poll@f", "poll@g"]);
    }

    /// Issue 14: the meter said that no kind of lock helps, and prove tried one.
    #[test]
    fn no_kind_is_tried_for_a_lock_that_is_held_long() {
        let (still, quiet) = (findings(), polling(&[]));
        let long = Pick { held_long: true, ..pick("a", false) };
        assert!(candidates(std::slice::from_ref(&long), &quiet, &still).is_empty());
        let both = [long, pick("b", false)];
        assert_eq!(names(&candidates(&both, &quiet, &still)), ["adaptive", "steal", "adaptive@b", "steal@b"]);
    }

    #[test]
    fn candidate_with_greatest_saving_is_tried_first() {
        let (pick, sites) = ([pick("a", false)], polling(&["f", "g"]));
        let costly = names_of(&candidates(&pick, &sites, &findings()));
        assert_eq!(costly[..3], ["poll", "adaptive", "steal"], "a tenth of the time against a twentieth");
        let slow = Findings { seconds: 100.0, ..findings() };
        let cheap = names_of(&candidates(&pick, &sites, &slow));
        assert_eq!(cheap[..3], ["adaptive", "steal", "poll"]);
    }

    #[test]
    fn each_family_has_its_kinds() {
        let (still, quiet) = (findings(), polling(&[]));
        let spin = Pick { family: LockFamily::Spin, lost: 0.5, ..pick("spin", false) };
        assert_eq!(
            names(&candidates(&[pick("a", false), rwlock("t"), spin], &quiet, &still)),
            [
                "spin adaptive",
                "adaptive",
                "steal",
                "rw-biased",
                "rw-writer",
                "rw-fair",
                "spin adaptive@spin",
                "adaptive@a",
                "steal@a",
                "rw-biased@t",
                "rw-writer@t",
                "rw-fair@t"
            ],
            "most lost time first"
        );
        let contended = Pick { lost: 0.0, lost_s: 0.0, contended_readers: true, ..rwlock("t") };
        let tried = names_of(&candidates(&[contended], &quiet, &still));
        assert_eq!(tried[0], "rw-biased", "though no thread waits");
    }

    #[test]
    fn locks_of_all_families_are_combined_in_one_plan() {
        let picks = [pick("a", false), rwlock("t")];
        let standings = [standing("steal@a", 1.3), standing("rw-biased@t", 1.4), standing("poll", 2.0)];
        let (name, plan) = together(&picks, &polling(&["f"]), &standings).unwrap();
        assert_eq!(name, "steal@a + rw-biased@t + poll");
        assert!(LockFamily::ALL[..2].iter().all(|&family| plan.has(family)), "{plan:?}");
        let standings = [standing("adaptive", 1.3), standing("rw-writer", 1.2), standing("rw-fair", 1.1)];
        assert_eq!(together(&picks, &polling(&[]), &standings).unwrap().0, "adaptive + rw-writer");
    }

    fn names_of(plans: &[Named]) -> Vec<String> {
        plans.iter().map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn best_kinds_are_combined_in_one_plan() {
        let (picks, quiet) = ([pick("a", false), pick("b", false)], polling(&[]));
        let standings = [standing("adaptive@a", 1.2), standing("steal@a", 1.3), standing("adaptive@b", 1.1)];
        let (name, plan) = together(&picks, &quiet, &standings).unwrap();
        assert_eq!((name.as_str(), plan.locks.len()), ("steal@a + adaptive@b", 2));
        assert_eq!(together(&picks, &quiet, &standings[..2]), None, "one alone has been tried");
    }

    #[test]
    fn mutexes_and_waits_are_combined_in_one_plan() {
        let (picks, one) = ([pick("a", false)], polling(&["f"]));
        let standings = [standing("steal@a", 1.3), standing("poll", 2.0)];
        let (name, plan) = together(&picks, &one, &standings).unwrap();
        assert_eq!((name.as_str(), plan.locks.len(), plan.waits.len()), ("steal@a + poll", 1, 1));
        // A kind for all mutexes is combined only with waits.
        let standings = [standing("adaptive", 1.3), standing("poll", 2.0)];
        assert_eq!(together(&picks, &one, &standings).unwrap().0, "adaptive + poll");
        assert_eq!(together(&picks, &one, &standings[..1]), None);
        assert_eq!(together(&[], &one, &standings), None, "polling alone has been tried");
    }

    #[test]
    fn call_sites_better_than_polling_everywhere_are_combined() {
        let sites = polling(&["f", "g"]);
        let standings = [standing("poll", 1.5), standing("poll@f", 2.0), standing("poll@g", 1.2)];
        let (name, plan) = together(&[], &sites, &standings).unwrap();
        assert_eq!((name.as_str(), plan.waits.len()), ("poll@f + poll@g", 2));
        let standings = [standing("poll", 2.5), standing("poll@f", 2.0), standing("poll@g", 1.2)];
        assert_eq!(together(&[], &sites, &standings), None);
    }
}
