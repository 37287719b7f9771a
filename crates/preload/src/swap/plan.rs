//! The compiled plan that `UNSPIN_PLAN` names. It is read at the first hook call: locks are used before any
//! constructor of this library, and inside allocators. So reading allocates nothing, and uses only system calls. With the
//! plan the tally is opened that `UNSPIN_TALLY` names. A deployed plan has to [fit], else nothing is replaced, as after any
//! other [failure].
//!
//! A thread that needs the plan while another thread reads it waits. Otherwise one thread could leave a lock to libc
//! while another thread replaced it, and the lock would have two implementations. The reading thread makes four system
//! calls and waits for no other thread.

mod failure;
mod fit;

use fit::Recognise;
pub use fit::{MappedFile, Module, copy};

use super::{modules, own_tally, wrapped};
use crate::claim::{self, Claim, Claimed};
use crate::{environment, errno};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ops::Range;
use failure::{Failure, Readers};
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use unspin_sys::file;
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_wire::environment::{PLAN as PLAN_VARIABLE, TALLY, WAKE_UP_NS};
use unspin_wire::plan::{AnyKind, Fields, Line, PLACES, RULES, SITES, TEXT, Wrong, parse};
use unspin_wire::{Tally, TallyCount, TallyRow};

pub use unspin_wire::plan::{By, LockFamily, MODULES, WaitPolicy};

/// No thread has read the plan.
const UNKNOWN: u32 = 0;
/// There is no plan: nothing is replaced.
const OFF: u32 = 1;
/// [`PLAN`] contains a plan.
const ON: u32 = 2;

/// UNKNOWN -> OFF or ON, by the thread that has the claim [`READING`].
static PHASE: AtomicU32 = AtomicU32::new(UNKNOWN);
static READING: Claim = Claim::free();

/// Whether [`PLAN`] has waits that poll. Written together with it.
static POLLING: AtomicBool = AtomicBool::new(false);
/// Whether there is no plan, or a plan without waits that poll: the same in one word, for the fast paths.
static NEVER_POLLS: AtomicBool = AtomicBool::new(false);

/// [`KNOWN`], and a bit for each family of locks for which the plan has lines. 0 while no thread has read the plan. In one
/// word, for the fast paths.
static FAMILIES: AtomicU8 = AtomicU8::new(0);
const KNOWN: u8 = 1;

const fn family_bit(family: LockFamily) -> u8 {
    KNOWN << (1 + family as u8)
}

static PLAN: Room<Plan> = Room(UnsafeCell::new(Plan::NOTHING));
static BYTES: Room<[u8; TEXT]> = Room(UnsafeCell::new([0; TEXT]));

struct Room<T>(UnsafeCell<T>);

// SAFETY: written by the one thread that has the claim READING, while PHASE is UNKNOWN; read by others only after PHASE
// is ON.
unsafe impl<T> Sync for Room<T> {}

/// A kind of lock, of any family.
pub type Kind = AnyKind<LockKind, RwLockKind, SpinKind>;

/// The kinds of one family.
pub trait KindOfFamily: Copy + 'static {
    /// The family.
    const FAMILY: LockFamily;
    /// libc's lock.
    const LIBCS: Self;

    /// The kind, if it is one of this family.
    fn of(kind: Kind) -> Option<Self>;
}

impl KindOfFamily for LockKind {
    const FAMILY: LockFamily = LockFamily::Mutex;
    const LIBCS: LockKind = LockKind::System;

    fn of(kind: Kind) -> Option<LockKind> {
        if let AnyKind::Mutex(kind) = kind { Some(kind) } else { None }
    }
}

impl KindOfFamily for RwLockKind {
    const FAMILY: LockFamily = LockFamily::RwLock;
    const LIBCS: RwLockKind = RwLockKind::System;

    fn of(kind: Kind) -> Option<RwLockKind> {
        if let AnyKind::RwLock(kind) = kind { Some(kind) } else { None }
    }
}

impl KindOfFamily for SpinKind {
    const FAMILY: LockFamily = LockFamily::Spin;
    const LIBCS: SpinKind = SpinKind::System;

    fn of(kind: Kind) -> Option<SpinKind> {
        if let AnyKind::Spin(kind) = kind { Some(kind) } else { None }
    }
}

/// Which locks replace which locks of the program, and which waits poll.
pub struct Plan {
    /// The kind for all locks of a family to which no rule applies, by the family.
    all: [Option<Kind>; LockFamily::ALL.len()],
    /// The cost of a wake-up, in nanoseconds.
    pub wake_up_ns: u64,
    /// The policy of the waits to which no site rule applies.
    pub waits: WaitPolicy,
    /// Whether the plan names that policy.
    pub has_waits: bool,
    /// Whether every wait polls, whatever was learnt.
    pub is_forced: bool,
    /// Whether every timed call has found its answer ready, however long it took.
    pub is_ready: bool,
    sites: Rows<Site, SITES>,
    conditions: Conditions,
    rules: Rows<Rule, RULES>,
    places: Rows<Place, PLACES>,
    modules: Rows<Module, MODULES>,
    /// The version of the library that a deployed plan is for; none of another plan.
    library: Option<&'static [u8]>,
    /// The number of entries so far.
    entries: u16,
    /// The entries of the kinds for all locks of a family, by the family, and that of the policy for all waits.
    entries_for_all: [u16; LockFamily::ALL.len() + 1],
    /// Counts what the rules replace, if `UNSPIN_TALLY` names a file.
    tally: Option<Tally>,
}

/// Which implementation condition variables have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conditions {
    /// libc's: then all mutexes are libc's too, and no wait polls.
    Libc,
    /// Ours, if they are private.
    Ours,
}

/// One rule for locks of a family.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The kind that replaces these locks. It says the family.
    pub kind: Kind,
    /// How these locks are recognised.
    pub by: By,
    first: u16,
    end: u16,
    entry: u16,
}

impl Rule {
    /// The rule's places, innermost first.
    pub fn places(self, plan: &Plan) -> &[Place] {
        plan.places_of(self.first, self.end)
    }
}

/// The rule for the waits of one call site.
#[derive(Clone, Copy)]
pub struct Site {
    /// The policy.
    pub waits: WaitPolicy,
    first: u16,
    end: u16,
    entry: u16,
}

impl Site {
    /// The rule's places, innermost first.
    pub fn places(self, plan: &Plan) -> &[Place] {
        plan.places_of(self.first, self.end)
    }
}

/// A range of addresses in a module.
#[derive(Clone)]
pub struct Place {
    /// Link-time addresses.
    pub range: Range<usize>,
    /// Index of the module in the plan.
    pub module: usize,
}

/// Maximum number of entries: one for each rule and each call site, and one for everything of each family and for all waits.
pub const ENTRIES: usize = RULES + SITES + LockFamily::ALL.len() + 1;

fn is_libcs(kind: Kind) -> bool {
    matches!(
        kind,
        AnyKind::Mutex(LockKind::System)
            | AnyKind::RwLock(RwLockKind::System)
            | AnyKind::Spin(SpinKind::System)
    )
}

/// A vector of fixed capacity, which needs no allocator.
struct Rows<T, const N: usize> {
    rows: [T; N],
    count: usize,
}

impl<T, const N: usize> Rows<T, N> {
    fn get(&self) -> &[T] {
        &self.rows[..self.count]
    }

    /// Adds a row. Returns whether there was room.
    fn push(&mut self, row: T) -> bool {
        let Some(slot) = self.rows.get_mut(self.count) else { return false };
        *slot = row;
        self.count += 1;
        true
    }
}

impl Plan {
    const NOTHING: Plan = Plan {
        all: [None; LockFamily::ALL.len()],
        wake_up_ns: unspin_waiting::wakeup::ASSUMED_NS,
        waits: WaitPolicy::System,
        has_waits: false,
        is_forced: false,
        is_ready: false,
        sites: Rows {
            rows: [Site { waits: WaitPolicy::System, first: 0, end: 0, entry: 0 }; SITES],
            count: 0,
        },
        conditions: Conditions::Libc,
        rules: Rows {
            rows: [Rule {
                kind: AnyKind::Mutex(LockKind::System),
                by: By::Variable,
                first: 0,
                end: 0,
                entry: 0,
            }; RULES],
            count: 0,
        },
        places: Rows { rows: [const { Place { range: 0..0, module: 0 } }; PLACES], count: 0 },
        modules: Rows { rows: [Module::NONE; MODULES], count: 0 },
        library: None,
        entries: 0,
        entries_for_all: [0; LockFamily::ALL.len() + 1],
        tally: None,
    };

    /// The kind for all locks of its family to which no rule applies.
    pub fn all<K: KindOfFamily>(&self) -> Option<K> {
        self.all[K::FAMILY as usize].and_then(K::of)
    }

    /// The rules for locks of all families, in the order of the plan.
    pub fn rules(&self) -> &[Rule] {
        self.rules.get()
    }

    /// The modules that the plan names.
    pub fn modules(&self) -> &[Module] {
        self.modules.get()
    }

    /// The file that a line of `/proc/self/maps` maps from its beginning.
    pub fn mapped_file<'line>(&self, line: &'line [u8]) -> Option<MappedFile<'line>> {
        MappedFile::of(line, if self.is_deployed() { Recognise::ByBuild } else { Recognise::ByPath })
    }

    /// Whether decisions are counted.
    pub fn is_counted(&self) -> bool {
        self.tally.is_some() || own_tally::get().is_some()
    }

    /// Whether the plan is a deployed one.
    pub fn is_deployed(&self) -> bool {
        self.library.is_some()
    }

    /// Counts a decision, if decisions are counted.
    pub fn count(&self, what: TallyCount) {
        if let Some(tally) = &self.tally {
            tally.add(what);
        }
        if let Some(own) = own_tally::get() {
            own.add(what);
        }
    }

    /// The rules that change something, for locks and for waits: the number of the entry, and what counts what it replaces.
    pub fn effects(&self) -> impl Iterator<Item = (u16, TallyCount)> {
        let of_kind = |kind: Kind, row| (!is_libcs(kind)).then(|| TallyCount::Replaced(kind.family(), row));
        let rules = self.rules().iter().enumerate();
        let rules = rules
            .filter_map(move |(index, rule)| Some((rule.entry, of_kind(rule.kind, TallyRow::Rule(index))?)));
        let for_all = self.all.into_iter().flatten().filter_map(move |kind| {
            Some((self.entries_for_all[kind.family() as usize], of_kind(kind, TallyRow::All)?))
        });
        let sites = self.sites().iter().enumerate().filter(|(_, site)| site.waits == WaitPolicy::Poll);
        let sites = sites.map(|(index, site)| (site.entry, TallyCount::Sites(TallyRow::Rule(index))));
        let waits = (self.waits == WaitPolicy::Poll)
            .then(|| (self.entries_for_all[LockFamily::ALL.len()], TallyCount::Sites(TallyRow::All)));
        rules.chain(for_all).chain(sites).chain(waits)
    }

    /// Whether the plan has rules for particular locks of any family, or for particular call sites.
    pub fn is_particular(&self) -> bool {
        self.rules.count > 0 || self.sites.count > 0
    }

    /// Adds a line. Returns whether there was room.
    fn add(&mut self, line: Line<'static, Kind>) -> bool {
        match line {
            Line::WakeUp(ns) => self.wake_up_ns = ns,
            Line::Waits(waits) => {
                (self.waits, self.has_waits) = (waits, true);
                self.entries_for_all[LockFamily::ALL.len()] = self.entry();
            }
            Line::ForcePolls => self.is_forced = true,
            Line::ForceReady => self.is_ready = true,
            Line::All(kind) => {
                let entry = self.entry();
                if self.all[kind.family() as usize].is_none() {
                    self.all[kind.family() as usize] = Some(kind);
                    self.entries_for_all[kind.family() as usize] = entry;
                }
            }
            Line::Locks(kind, by, fields) => {
                let Some((first, end)) = self.add_places(fields) else { return false };
                let entry = self.entry();
                return self.rules.push(Rule { kind, by, first, end, entry });
            }
            Line::Site(waits, fields) => {
                let Some((first, end)) = self.add_places(fields) else { return false };
                let entry = self.entry();
                return self.sites.push(Site { waits, first, end, entry });
            }
            Line::Library(version) => self.library = Some(version),
            Line::Program(file) => return self.modules.push(Module::program(file)),
            Line::Module(file) => return self.modules.push(Module::built(file)),
            Line::Entry(_) => {
                self.entries += 1;
                return usize::from(self.entries) <= ENTRIES;
            }
        }
        true
    }

    /// The number of the entry to which the present line belongs. In plans that are not deployed each line is one.
    fn entry(&mut self) -> u16 {
        if !self.is_deployed() {
            self.entries = self.entries.saturating_add(1);
        }
        self.entries.saturating_sub(1)
    }

    /// Adds places and returns their first index and the index after the last; `None` if there is no room.
    fn add_places(&mut self, fields: Fields<'static>) -> Option<(u16, u16)> {
        let first = self.places.count as u16;
        for field in fields.flatten() {
            let module = self.module(field.module)?;
            self.places.push(Place { range: field.range, module }).then_some(())?;
        }
        Some((first, self.places.count as u16))
    }

    fn places_of(&self, first: u16, end: u16) -> &[Place] {
        &self.places.get()[usize::from(first)..usize::from(end)]
    }

    /// The rules for call sites of waits, in the order of the plan.
    pub fn sites(&self) -> &[Site] {
        self.sites.get()
    }

    /// Whether any wait polls.
    pub fn polls(&self) -> bool {
        self.waits == WaitPolicy::Poll || self.sites().iter().any(|site| site.waits == WaitPolicy::Poll)
    }

    /// Index of a module; `None` if there is no room.
    fn module(&mut self, path: &'static [u8]) -> Option<usize> {
        let known = self.modules.get().iter().position(|module| module.path == path);
        known.or_else(|| self.modules.push(Module::named(path)).then_some(self.modules.count - 1))
    }

    /// Replaces nothing, and lets no wait poll.
    fn pass_on(&mut self) {
        (self.all, self.rules.count) = ([None; LockFamily::ALL.len()], 0);
        (self.waits, self.sites.count) = (WaitPolicy::System, 0);
    }

    /// Conditions go with mutexes: the wait of libc's condition releases a mutex of libc. Where waits poll, conditions
    /// are ours too.
    fn choose_conditions(&mut self) {
        let replaces = |kind| match kind {
            AnyKind::Mutex(kind) => !matches!(kind, LockKind::System | LockKind::Pi),
            // They have no conditions.
            AnyKind::RwLock(_) | AnyKind::Spin(_) => false,
        };
        if self.kinds().any(replaces) || self.polls() {
            self.conditions = Conditions::Ours;
        }
    }

    /// The kinds of all lines.
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.all.into_iter().flatten().chain(self.rules().iter().map(|rule| rule.kind))
    }

    /// Whether a line has this kind.
    pub fn has_kind(&self, kind: Kind) -> bool {
        self.kinds().any(|other| other == kind)
    }

    /// Whether the plan has a line for locks of this family.
    fn has(&self, family: LockFamily) -> bool {
        self.kinds().any(|kind| kind.family() == family)
    }
}

/// Whether it is certain that there is no plan.
#[inline(always)]
pub fn is_off() -> bool {
    // Relaxed: no other data is read because of it.
    PHASE.load(Ordering::Relaxed) == OFF
}

/// Whether there is a plan.
#[inline]
pub fn is_on() -> bool {
    get().is_some()
}

/// The plan, if there is one. It is read now if necessary.
#[inline]
pub fn get() -> Option<&'static Plan> {
    // Acquire: pairs with the Release store in `read_once`, so that the plan is seen as it was written.
    match PHASE.load(Ordering::Acquire) {
        OFF => None,
        // SAFETY: PHASE is ON: the plan is written, and no thread writes it any more.
        ON => Some(unsafe { &*PLAN.0.get() }),
        _ => read_once(),
    }
}

/// Whether any wait polls.
#[inline(always)]
pub fn is_polling() -> bool {
    // Relaxed: no other data is read because of it.
    match PHASE.load(Ordering::Relaxed) {
        OFF => false,
        // Relaxed: as above; written before PHASE became ON.
        ON => POLLING.load(Ordering::Relaxed),
        _ => get().is_some_and(Plan::polls),
    }
}

/// Whether it is certain that no wait polls.
#[inline(always)]
pub fn never_polls() -> bool {
    // Relaxed: no other data is read because of it.
    NEVER_POLLS.load(Ordering::Relaxed)
}

/// Whether the plan has lines for read-write locks, the control included.
#[inline(always)]
pub fn replaces_rwlocks() -> bool {
    has(LockFamily::RwLock)
}

/// Whether it is certain that there is no plan with lines for read-write locks.
#[inline(always)]
pub fn never_replaces_rwlocks() -> bool {
    // Relaxed: no other data is read because of it.
    FAMILIES.load(Ordering::Relaxed) & (KNOWN | family_bit(LockFamily::RwLock)) == KNOWN
}

/// Whether spin locks may be replaced: unless it is certain that the plan has no lines for them.
#[inline(always)]
pub fn may_replace_spin_locks() -> bool {
    // Relaxed: as in `has`.
    FAMILIES.load(Ordering::Relaxed) & (KNOWN | family_bit(LockFamily::Spin)) != KNOWN
}

/// Whether the plan has lines for spin locks, the control included.
#[inline(always)]
pub fn replaces_spin_locks() -> bool {
    has(LockFamily::Spin)
}

#[inline(always)]
fn has(family: LockFamily) -> bool {
    // Relaxed: no other data is read because of it. A thread that goes on to read the plan acquires PHASE.
    match FAMILIES.load(Ordering::Relaxed) {
        0 => has_after_all(family),
        known => known & family_bit(family) != 0,
    }
}

/// [`has`], in a thread that comes first, or while another thread reads the plan. A function of its own, so that the fast paths need
/// no stack.
#[cold]
#[inline(never)]
fn has_after_all(family: LockFamily) -> bool {
    get().is_some_and(|plan| plan.has(family))
}

/// Whether every wait polls, whatever was learnt.
pub fn is_forced() -> bool {
    get().is_some_and(|plan| plan.is_forced)
}

/// Which implementation condition variables have.
#[inline]
pub fn conditions() -> Conditions {
    get().map_or(Conditions::Libc, |plan| plan.conditions)
}

/// Reads the plan, unless it was read.
#[cold]
fn read_once() -> Option<&'static Plan> {
    // Signals are blocked: a handler of this thread that used a mutex half-way through would wait for its own thread.
    // All but the signal of a tally that has shrunk.
    let mask = block(Mask::ALL_BUT_SIGBUS);
    let before = errno::get();
    let phase = loop {
        // Acquire: as in `get`.
        match PHASE.load(Ordering::Acquire) {
            UNKNOWN => {}
            done => break done,
        }
        match READING.take() {
            Claimed::Now => {
                // Relaxed: the claim orders it. Another thread may have read the plan in the meantime.
                if PHASE.load(Ordering::Relaxed) == UNKNOWN {
                    // Release: pairs with the Acquire loads in `get` and above; publishes PLAN and BYTES.
                    PHASE.store(if read() { ON } else { OFF }, Ordering::Release);
                    // Relaxed: as in `never_polls`; POLLING was written by this thread.
                    NEVER_POLLS.store(!POLLING.load(Ordering::Relaxed), Ordering::Relaxed);
                    // Relaxed: as in `has`.
                    FAMILIES.store(families(), Ordering::Relaxed);
                }
                READING.give_up();
            }
            // Signals are blocked and `read` calls no hook, so this thread does not read further up its stack.
            Claimed::Before => break OFF,
            Claimed::ByAnother => claim::wait_for_owner(),
        }
    };
    errno::set(before);
    set_mask(mask);
    // SAFETY: as in `get`.
    (phase == ON).then(|| unsafe { &*PLAN.0.get() })
}

/// The value of [`FAMILIES`], once PHASE is known.
fn families() -> u8 {
    let has = |family: &LockFamily| get().is_some_and(|plan| plan.has(*family));
    LockFamily::ALL.into_iter().filter(has).fold(KNOWN, |bits, family| bits | family_bit(family))
}

/// Reads the plan. Returns whether there is one.
fn read() -> bool {
    let tally = || environment::value_as_c_string(TALLY).and_then(|path| Tally::open(path).ok());
    let Some(path) = environment::value_as_c_string(PLAN_VARIABLE) else {
        // Shows a launcher's observer that the library was loaded.
        if let Some(tally) = tally() {
            tally.add(TallyCount::Programs);
        }
        return false;
    };
    // SAFETY: this thread has the claim READING and PHASE is UNKNOWN: no other thread writes, and none reads yet.
    let (plan, room) = unsafe { (&mut *PLAN.0.get(), &mut *BYTES.0.get()) };
    *plan = Plan::NOTHING;
    if let Err(failure) = take_in(plan, room, path) {
        failure.report(path, if plan.is_deployed() { Readers::ItsProgram } else { Readers::Any });
        return false;
    }
    let is_wrapped = wrapped::is_wrapped(|family| plan.has(family));
    if is_wrapped {
        plan.pass_on();
    }
    plan.choose_conditions();
    modules::find(plan);
    // Without it, or if it cannot be opened, nothing is counted: the program does not depend on it.
    plan.tally = tally();
    own_tally::begin(path);
    plan.count(TallyCount::Programs);
    if is_wrapped {
        plan.count(TallyCount::Wrapped);
    }
    // Relaxed: published with PHASE.
    POLLING.store(plan.polls(), Ordering::Relaxed);
    true
}

fn take_in(plan: &mut Plan, room: &'static mut [u8; TEXT], path: &CStr) -> Result<(), Failure> {
    let text: &'static [u8] = match file::read_small(path, room) {
        Ok(text) if text.len() < TEXT => text,
        Ok(_) => return Err(Failure::Wrong(Wrong::TooLong)),
        Err(error) => return Err(Failure::unreadable(path, error)),
    };
    let parsed = parse(text, |line| plan.add(line)).map_err(Failure::Wrong);
    if let Some(version) = plan.library {
        fit::check(version, plan.modules(), parsed)?;
        if let Some(ns) = environment::number(WAKE_UP_NS) {
            plan.wake_up_ns = ns;
        }
        return Ok(());
    }
    parsed
}

#[cfg(test)]
mod tests;
