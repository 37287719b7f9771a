//! Mutexes and read-write locks that are named after their first use, together with all call sites that may be the first. "Mutex"
//! stands for both here.
//!
//! Chance decides which thread uses a mutex first: `Queue::pop` in one run, `Queue::push` in another. So such a mutex is
//! named after *every* function that locked it in the recording. Mutexes that share a call site cannot be told apart in
//! another run: they are one *group* with one name, which has the call sites of all of them.

use super::history::RecordedUse;
use super::lookup::{Chain, FileAddress};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A mutex: process, its start, address.
pub type Object = (u32, u64, u64);

/// The return addresses of the calls that led to a use, innermost first.
pub type Calls = Vec<FileAddress>;

/// Maximum number of functions in a name.
const NAMED_MAX: usize = 3;
/// Maximum number of call sites of a group: a plan has room for some groups of this size.
const CALLS_MAX: usize = 48;

/// One use of one mutex.
#[derive(Debug)]
pub struct FirstUse {
    /// The mutex.
    pub object: Object,
    /// When it was first used there.
    pub ticks: u64,
    /// The call site, with the callers of functions that have several.
    pub full: CallSite,
    /// The call site without these callers: the fewest calls that identify it.
    pub inner: CallSite,
}

/// A call site, and the function that gives its name to a mutex that is first used there.
#[derive(Debug)]
pub struct CallSite {
    /// `Queue::push`, or `Log::write ▸ with_lock` for a function with several callers.
    pub function: String,
    /// `queue.c:31`
    pub place: Option<String>,
    /// The calls up to the named function.
    pub calls: Calls,
}

/// Mutexes that cannot be told apart by their first use.
#[derive(Debug, Default)]
pub struct Group {
    /// `Queue::pop or Queue::push`
    pub functions: String,
    /// `queue.c:31`, or `queue.c:31 or 1 other place`
    pub place: Option<String>,
    /// All call sites that may be the first, those that were used earliest first.
    pub calls: Vec<Calls>,
    /// Number of its mutexes in the recording.
    pub mutexes: usize,
}

/// All groups of a recording.
#[derive(Debug, Default)]
pub struct FirstUses {
    groups: Vec<Group>,
    by_object: HashMap<Object, usize>,
}

impl FirstUses {
    /// Groups the mutexes of these uses. `others` has the call sites at which static mutexes are used.
    pub fn new(uses: &[FirstUse], others: &HashSet<Calls>) -> FirstUses {
        let of_use = numbers(uses);
        let mut members = BTreeMap::<usize, Vec<&FirstUse>>::new();
        for (one, group) in uses.iter().zip(&of_use) {
            members.entry(*group).or_default().push(one);
        }
        // Where only one group is used, the callers of the function do not matter.
        let mut users = HashMap::<&Calls, HashSet<usize>>::new();
        for (one, group) in uses.iter().zip(&of_use) {
            users.entry(&one.inner.calls).or_default().insert(*group);
        }
        let is_own = |calls: &Calls| users[calls].len() == 1 && !others.contains(calls);
        let by_object = uses.iter().zip(&of_use).map(|(one, group)| (one.object, *group)).collect();
        let groups = (0..members.len()).map(|number| Group::new(&members[&number], &is_own)).collect();
        FirstUses { groups, by_object }
    }

    /// The group of a mutex.
    pub fn group(&self, object: Object) -> Option<&Group> {
        Some(&self.groups[*self.by_object.get(&object)?])
    }
}

/// The number of the group of each use. Groups are numbered from 0, without gaps.
fn numbers(uses: &[FirstUse]) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..uses.len()).collect();
    let mut at_calls = HashMap::<&Calls, usize>::new();
    let mut of_object = HashMap::<Object, usize>::new();
    for (index, one) in uses.iter().enumerate() {
        let same = [
            *at_calls.entry(&one.full.calls).or_insert(index),
            *of_object.entry(one.object).or_insert(index),
        ];
        for other in same {
            let (a, b) = (root(&mut roots, index), root(&mut roots, other));
            roots[a.max(b)] = a.min(b);
        }
    }
    let mut known = HashMap::new();
    let mut number = |root| {
        let next = known.len();
        *known.entry(root).or_insert(next)
    };
    (0..uses.len()).map(|index| number(root(&mut roots, index))).collect()
}

/// The representative of a use's group, to which the path is shortened.
fn root(roots: &mut [usize], mut index: usize) -> usize {
    while roots[index] != index {
        roots[index] = roots[roots[index]];
        index = roots[index];
    }
    index
}

impl Group {
    fn new<'u>(uses: &[&'u FirstUse], is_own: &dyn Fn(&Calls) -> bool) -> Group {
        let site = |one: &'u FirstUse| if is_own(&one.inner.calls) { &one.inner } else { &one.full };
        let mut earliest = uses.to_vec();
        earliest.sort_by_key(|one| one.ticks);
        let sites: Vec<&CallSite> = earliest.into_iter().map(site).collect();
        let mut calls: Vec<Calls> = Vec::new();
        for site in &sites {
            if calls.len() < CALLS_MAX && !calls.contains(&site.calls) {
                calls.push(site.calls.clone());
            }
        }
        // In the order of the alphabet, so that the name is the same in each run.
        let functions: BTreeSet<&str> = sites.iter().map(|site| site.function.as_str()).collect();
        let places: BTreeSet<&str> = sites.iter().filter_map(|site| site.place.as_deref()).collect();
        let mutexes = uses.iter().map(|one| one.object).collect::<HashSet<_>>().len();
        Group { functions: some(&functions, NAMED_MAX), place: first(&places), calls, mutexes }
    }
}

/// `a or b or 2 other places`
fn some(names: &BTreeSet<&str>, at_most: usize) -> String {
    let mut text = names.iter().take(at_most).copied().collect::<Vec<_>>().join(" or ");
    let more = names.len().saturating_sub(at_most);
    if more > 0 {
        text += &format!(" or {more} other place{}", if more == 1 { "" } else { "s" });
    }
    text
}

fn first(places: &BTreeSet<&str>) -> Option<String> {
    (!places.is_empty()).then(|| some(places, 1))
}

/// The return addresses of the first frames of a chain.
pub fn returns(chain: &Rc<Chain>, depth: usize) -> Vec<u64> {
    let mut returns = chain.returns[..depth].to_vec();
    returns.dedup();
    returns
}

/// The mutex that a use is about.
pub fn object(site: &RecordedUse<'_>) -> Object {
    (site.image.pid, site.image.since, site.key.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(address: u64) -> FileAddress {
        FileAddress { module: "/bin/x".into(), address }
    }

    /// A use of mutex `object` at a call with this address, in `function`, on behalf of another call.
    fn one(object: u64, function: &str, inner: u64, outer: Option<(&str, u64)>) -> FirstUse {
        let site = |function: String, calls: &[u64]| CallSite {
            function,
            place: Some(format!("q.c:{}", calls.last().unwrap())),
            calls: calls.iter().copied().map(address).collect(),
        };
        let full = match outer {
            Some((caller, outer)) => site(format!("{caller} ▸ {function}"), &[inner, outer]),
            None => site(function.to_owned(), &[inner]),
        };
        FirstUse {
            object: (1, 0, object),
            ticks: 100 - inner,
            full,
            inner: site(function.to_owned(), &[inner]),
        }
    }

    fn sites(group: &Group) -> Vec<Vec<u64>> {
        group.calls.iter().map(|calls| calls.iter().map(|call| call.address).collect()).collect()
    }

    #[test]
    fn mutex_has_every_function_that_locks_it() {
        let uses = [one(64, "push", 7, None), one(64, "pop", 9, None), one(128, "log", 11, None)];
        let found = FirstUses::new(&uses, &HashSet::new());
        let queue = found.group((1, 0, 64)).unwrap();
        assert_eq!(
            (queue.functions.as_str(), queue.place.as_deref()),
            ("pop or push", Some("q.c:7 or 1 other place"))
        );
        assert_eq!((sites(queue), queue.mutexes), (vec![vec![9], vec![7]], 1), "earliest first");
        let log = found.group((1, 0, 128)).unwrap();
        assert_eq!((log.functions.as_str(), log.place.as_deref()), ("log", Some("q.c:11")));
        assert!(found.group((1, 0, 72)).is_none());
    }

    #[test]
    fn mutexes_that_share_a_call_site_are_one_group() {
        let uses = [
            one(64, "push", 7, None),
            one(64, "pop", 9, None),
            one(128, "pop", 9, None),
            one(128, "size", 11, None),
        ];
        let found = FirstUses::new(&uses, &HashSet::new());
        let group = found.group((1, 0, 64)).unwrap();
        assert_eq!((group.mutexes, group.functions.as_str()), (2, "pop or push or size"));
        assert!(std::ptr::eq(group, found.group((1, 0, 128)).unwrap()));
    }

    /// Two functions lock mutexes of their own through a third.
    #[test]
    fn callers_of_a_shared_function_separate_groups() {
        let uses = [
            one(64, "lock", 7, Some(("a", 20))),
            one(64, "b", 9, Some(("x", 30))),
            one(128, "lock", 7, Some(("c", 40))),
        ];
        let found = FirstUses::new(&uses, &HashSet::new());
        let group = found.group((1, 0, 64)).unwrap();
        assert_eq!(
            sites(group),
            [vec![9], vec![7, 20]],
            "the call in b belongs to one group, whoever calls b"
        );
        assert_eq!(group.functions, "a ▸ lock or b");
        assert_eq!(found.group((1, 0, 128)).unwrap().mutexes, 1);
        let others = HashSet::from([vec![address(9)]]);
        let found = FirstUses::new(&uses, &others);
        let group = found.group((1, 0, 64)).unwrap();
        assert_eq!(sites(group)[0], [9, 30], "a static mutex is used there too");
        assert_eq!(group.functions, "a ▸ lock or x ▸ b");
    }

    #[test]
    fn long_names_count_the_rest() {
        let names = BTreeSet::from(["a", "b", "c", "d", "e"]);
        assert_eq!(some(&names, 3), "a or b or c or 2 other places");
        assert_eq!(some(&names, 4), "a or b or c or d or 1 other place");
    }
}
