//! Decides which lock replaces a lock of the program: a mutex, a read-write lock or a spin lock. Compares the rules of the
//! plan with the lock's address and with the stack of the thread that initialises the lock or uses it first. Each decision is
//! counted in the tally of the run.

use super::modules;
use super::plan::{self, By, KindOfFamily, Place, Plan, WaitPolicy};
use crate::watch::Hook;
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_wire::{TallyCount, TallyRow};

/// When the decision is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// pthread_mutex_init(3), pthread_rwlock_init(3), pthread_spin_init(3).
    Initialisation,
    /// The first use of a lock whose initialisation was not seen. Spin locks have none: their initialisation is mandatory.
    Use,
}

/// Maximum number of frames to compare, from the hook on.
const FRAMES: usize = 16;

/// The decision on a lock. `K` is the kind: `LockKind`, `RwLockKind` or `SpinKind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision<K> {
    /// The kind; libc's if no rule applies.
    pub kind: K,
    rule: Option<TallyRow>,
}

/// What a rule that applies to a lock does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It replaces the lock.
    Replaced,
    /// It cannot replace a lock with these properties.
    StaysLibcs,
}

impl<K: KindOfFamily> Decision<K> {
    const NONE: Decision<K> = Decision { kind: K::LIBCS, rule: None };

    /// Counts the decision.
    pub fn count(self, effect: Effect) {
        let Some(plan) = plan::get() else { return };
        plan.count(match (self.rule, effect) {
            (Some(rule), Effect::Replaced) => TallyCount::Replaced(K::FAMILY, rule),
            (Some(rule), Effect::StaysLibcs) => TallyCount::Kept(K::FAMILY, rule),
            (None, _) => TallyCount::Others(K::FAMILY),
        });
    }
}

/// Decides on the lock at this address. The family follows from the kind: `decide::<RwLockKind>` is for read-write locks.
#[cold]
pub fn decide<K: KindOfFamily>(lock: usize, occasion: Occasion, hook: Hook) -> Decision<K> {
    let Some(plan) = plan::get() else { return Decision::NONE };
    let mut stack = Stack { hook, frames: [0; FRAMES], known: 0 };
    if plan.is_particular() {
        modules::look(plan, lock, stack.innermost());
    }
    let rules = plan.rules().iter().enumerate();
    let mut rules = rules.filter_map(|(index, rule)| Some((index, rule, K::of(rule.kind)?)));
    let chosen = rules.find(|(_, rule, _)| match rule.by {
        By::Variable => rule.places(plan).iter().any(|place| holds(plan, place, lock)),
        By::Init => occasion == Occasion::Initialisation && stack.matches(plan, rule.places(plan)),
        By::Use => occasion == Occasion::Use && stack.matches(plan, rule.places(plan)),
        // Call sites of waits have a list of their own.
        By::Site => false,
    });
    match (chosen, plan.all()) {
        (Some((index, _, kind)), _) => Decision { kind, rule: Some(TallyRow::Rule(index)) },
        (None, Some(kind)) => Decision { kind, rule: Some(TallyRow::All) },
        (None, None) => Decision::NONE,
    }
}

/// The policy of the waits of a call site.
#[cold]
pub fn waits(hook: Hook) -> WaitPolicy {
    let Some(plan) = plan::get() else { return WaitPolicy::System };
    let mut stack = Stack { hook, frames: [0; FRAMES], known: 0 };
    if !plan.sites().is_empty() {
        modules::look(plan, 0, stack.innermost());
    }
    let mut sites = plan.sites().iter().enumerate();
    let (count, waits) = match sites.find(|(_, site)| stack.matches(plan, site.places(plan))) {
        Some((index, site)) => (TallyCount::Sites(TallyRow::Rule(index)), site.waits),
        None if plan.has_waits => (TallyCount::Sites(TallyRow::All), plan.waits),
        None => (TallyCount::OtherSites, plan.waits),
    };
    if COUNTED.is_first(hook.return_address()) {
        plan.count(count);
    }
    waits
}

/// The call sites that this process has counted: each thread decides on its own, and again if it has forgotten a site.
static COUNTED: CountedSites = CountedSites([const { AtomicU64::new(0) }; CountedSites::WORDS]);

/// A bit for each call site, at a hash of its return address. A child made by fork inherits the bits. Two sites with the
/// same hash count as one, which among a hundred sites happens in one process of six.
struct CountedSites([AtomicU64; CountedSites::WORDS]);

impl CountedSites {
    const WORDS: usize = 512;

    /// Whether the site had not been counted. Then it is now.
    fn is_first(&self, caller: usize) -> bool {
        let hash = (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49;
        let bit = 1 << (hash % 64);
        // Relaxed: the thread that sets the bit is the first; no other memory depends on the bit.
        self.0[hash as usize / 64].fetch_or(bit, Relaxed) & bit == 0
    }
}

/// Whether an address lies in this place, with the module where it is mapped now.
fn holds(plan: &Plan, place: &Place, address: usize) -> bool {
    let bias = modules::bias(plan, place.module);
    bias.is_some_and(|bias| place.range.contains(&address.wrapping_sub(bias)))
}

/// The calls that led to a hook, innermost first. They are found when they are needed.
struct Stack {
    hook: Hook,
    /// Addresses within the calls: one less than their return addresses.
    frames: [usize; FRAMES],
    known: usize,
}

impl Stack {
    fn innermost(&self) -> usize {
        self.hook.return_address() - 1
    }

    /// Whether the first place is that of the innermost call, and the others are those of outer calls in this order.
    /// Other calls may lie between them.
    fn matches(&mut self, plan: &Plan, places: &[Place]) -> bool {
        let Some((first, rest)) = places.split_first() else { return false };
        if !holds(plan, first, self.innermost()) {
            return false;
        }
        let mut frames = if rest.is_empty() { [].iter() } else { self.outer().iter() };
        rest.iter().all(|place| frames.any(|&frame| holds(plan, place, frame)))
    }

    /// The outer calls.
    fn outer(&mut self) -> &[usize] {
        if self.known == 0 {
            for (slot, address) in self.frames.iter_mut().zip(self.hook.callers()) {
                *slot = address - 1;
                self.known += 1;
            }
        }
        &self.frames[..self.known]
    }
}
