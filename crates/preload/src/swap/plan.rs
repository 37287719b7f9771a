//! The compiled plan that `UNSPIN_PLAN` names. It is read at the first hook call: locks are used before any
//! constructor of this library, and inside allocators. So reading allocates nothing, and uses only system calls. With the
//! plan the tally is opened that `UNSPIN_TALLY` names.
//!
//! A thread that needs the plan while another thread reads it waits. Otherwise one thread could leave a lock to libc
//! while another thread replaced it, and the lock would have two implementations. The reading thread makes four system
//! calls and waits for no other thread.

use super::modules;
use crate::claim::{self, Claim, Claimed};
use crate::{environment, errno, notice};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ops::Range;
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_sys::{file, private};
use unspin_wire::environment::{PLAN as PLAN_VARIABLE, TALLY};
use unspin_wire::plan::{AnyKind, Fields, Line, PLACES, RULES, SITES, TEXT, Wrong, parse};
use unspin_wire::{Tally, TallyCount};

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
    modules: Rows<&'static [u8], MODULES>,
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
        sites: Rows { rows: [Site { waits: WaitPolicy::System, first: 0, end: 0 }; SITES], count: 0 },
        conditions: Conditions::Libc,
        rules: Rows {
            rows: [Rule { kind: AnyKind::Mutex(LockKind::System), by: By::Variable, first: 0, end: 0 };
                RULES],
            count: 0,
        },
        places: Rows { rows: [const { Place { range: 0..0, module: 0 } }; PLACES], count: 0 },
        modules: Rows { rows: [b""; MODULES], count: 0 },
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

    /// Paths of the modules that the plan names.
    pub fn modules(&self) -> &[&'static [u8]] {
        self.modules.get()
    }

    /// Whether decisions are counted.
    pub fn is_counted(&self) -> bool {
        self.tally.is_some()
    }

    /// Counts a decision, if decisions are counted.
    pub fn count(&self, what: TallyCount) {
        if let Some(tally) = &self.tally {
            tally.add(what);
        }
    }

    /// Whether the plan has rules for particular locks of any family, or for particular call sites.
    pub fn is_particular(&self) -> bool {
        self.rules.count > 0 || self.sites.count > 0
    }

    /// Adds a line. Returns whether there was room.
    fn add(&mut self, line: Line<'static, Kind>) -> bool {
        match line {
            Line::WakeUp(ns) => self.wake_up_ns = ns,
            Line::Waits(waits) => (self.waits, self.has_waits) = (waits, true),
            Line::ForcePolls => self.is_forced = true,
            Line::ForceReady => self.is_ready = true,
            Line::All(kind) => {
                self.all[kind.family() as usize].get_or_insert(kind);
            }
            Line::Locks(kind, by, fields) => {
                let Some((first, end)) = self.add_places(fields) else { return false };
                return self.rules.push(Rule { kind, by, first, end });
            }
            Line::Site(waits, fields) => {
                let Some((first, end)) = self.add_places(fields) else { return false };
                return self.sites.push(Site { waits, first, end });
            }
        }
        true
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
        let known = self.modules.get().iter().position(|module| *module == path);
        known.or_else(|| self.modules.push(path).then_some(self.modules.count - 1))
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
    let shown = core::str::from_utf8(path.to_bytes()).unwrap_or("(not UTF-8)");
    // SAFETY: this thread has the claim READING and PHASE is UNKNOWN: no other thread writes, and none reads yet.
    let (plan, room) = unsafe { (&mut *PLAN.0.get(), &mut *BYTES.0.get()) };
    *plan = Plan::NOTHING;
    let wrong = match take_in(plan, room, path) {
        Ok(()) => {
            let is_wrapped = is_wrapped(plan);
            if is_wrapped {
                plan.pass_on();
            }
            plan.choose_conditions();
            modules::find(plan);
            // Without it, or if it cannot be opened, nothing is counted: the program does not depend on it.
            plan.tally = tally();
            plan.count(TallyCount::Programs);
            if is_wrapped {
                plan.count(TallyCount::Wrapped);
            }
            // Relaxed: published with PHASE.
            POLLING.store(plan.polls(), Ordering::Relaxed);
            return true;
        }
        Err(Failure::Dropped) => return false,
        Err(Failure::Unreadable(error)) => {
            notice::print(format_args!("no lock is replaced: {shown} cannot be read: {error}"));
            return false;
        }
        Err(Failure::Wrong(wrong)) => wrong,
    };
    match wrong {
        Wrong::Title => notice::print(format_args!(
            "no lock is replaced: {shown} is no plan of this version; let `unspin run` write it"
        )),
        Wrong::Line(number) => notice::print(format_args!(
            "no lock is replaced: line {number} of {shown} is no rule; let `unspin run` write it"
        )),
        Wrong::TooLong => notice::print(format_args!(
            "no lock is replaced: {shown} holds more than {RULES} rules, {SITES} call sites, {PLACES} places, {MODULES} modules or {TEXT} \
             bytes; name fewer locks"
        )),
    }
    false
}

/// The functions that no longer reach the next definition where a plan is in effect, whatever it replaces.
const LOCK_FUNCTIONS: [&CStr; 15] = [
    c"pthread_mutex_lock",
    c"pthread_mutex_trylock",
    c"pthread_mutex_timedlock",
    c"pthread_mutex_clocklock",
    c"pthread_mutex_unlock",
    c"pthread_cond_wait",
    c"pthread_cond_timedwait",
    c"pthread_cond_clockwait",
    c"pthread_cond_signal",
    c"pthread_cond_broadcast",
    c"pthread_barrier_wait",
    c"mtx_lock",
    c"mtx_unlock",
    c"cnd_wait",
    c"cnd_signal",
];

/// Those that do not where read-write locks are replaced.
const RWLOCK_FUNCTIONS: [&CStr; 9] = [
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_tryrdlock",
    c"pthread_rwlock_timedrdlock",
    c"pthread_rwlock_clockrdlock",
    c"pthread_rwlock_wrlock",
    c"pthread_rwlock_trywrlock",
    c"pthread_rwlock_timedwrlock",
    c"pthread_rwlock_clockwrlock",
    c"pthread_rwlock_unlock",
];

/// Those that do not where spin locks are replaced.
const SPIN_FUNCTIONS: [&CStr; 3] = [c"pthread_spin_lock", c"pthread_spin_trylock", c"pthread_spin_unlock"];

/// Functions of the run-time libraries of sanitizers. One that is linked into the program lies in front of this library, and
/// still knows what locks do only if libc's own functions do it.
const SANITIZERS: [&CStr; 3] = [c"__tsan_init", c"__asan_init", c"__msan_init"];

/// Whether another library has to see the calls of lock functions.
fn is_wrapped(plan: &Plan) -> bool {
    let wraps = private::is_defined_behind_this;
    wraps(&LOCK_FUNCTIONS)
        || plan.has(LockFamily::RwLock) && wraps(&RWLOCK_FUNCTIONS)
        || plan.has(LockFamily::Spin) && wraps(&SPIN_FUNCTIONS)
        || private::is_defined(&SANITIZERS)
}

/// Why there is no plan.
enum Failure {
    /// The plan's folder is gone: its creator has finished.
    Dropped,
    Unreadable(unspin_sys::Errno),
    Wrong(Wrong),
}

fn take_in(plan: &mut Plan, room: &'static mut [u8; TEXT], path: &CStr) -> Result<(), Failure> {
    let text: &'static [u8] = match file::read_small(path, room) {
        Ok(text) if text.len() < TEXT => text,
        Ok(_) => return Err(Failure::Wrong(Wrong::TooLong)),
        Err(_) if is_dropped(path) => return Err(Failure::Dropped),
        Err(error) => return Err(Failure::Unreadable(error)),
    };
    parse(text, |line| plan.add(line)).map_err(Failure::Wrong)
}

/// Whether the plan's folder is gone. A process that outlives the plan's creator and starts another program should not
/// get an error message because of that.
// Not part of its caller's frame: a program may have little stack.
#[cold]
#[inline(never)]
fn is_dropped(path: &CStr) -> bool {
    let mut folder = [0; 4096];
    let length = path.to_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let Some(begin) = folder.get_mut(..length) else { return false };
    begin.copy_from_slice(&path.to_bytes()[..length]);
    let folder = CStr::from_bytes_until_nul(&folder).unwrap_or(c"");
    !folder.is_empty() && file::inode(folder).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &'static str) -> Box<Plan> {
        let mut plan = Box::new(Plan::NOTHING);
        parse(text.as_bytes(), |line| plan.add(line)).unwrap();
        plan.choose_conditions();
        plan
    }

    #[test]
    fn rules_keep_their_places() {
        let plan = plan("unspin plan 2\nfair\tinit\t1-2@/x\t3-4@/y\nsteal\tvariable\t5-6@/x\nsystem\tall\n");
        let rules: Vec<_> = plan.rules().iter().map(|rule| rule.places(&plan).len()).collect();
        assert_eq!((rules, plan.modules()), (vec![2, 1], &[&b"/x"[..], b"/y"][..]));
        assert_eq!(plan.rules()[1].places(&plan)[0].module, 0);
        assert_eq!((plan.all::<LockKind>(), plan.conditions), (Some(LockKind::System), Conditions::Ours));
    }

    #[test]
    fn families_have_kinds_of_their_own() {
        let of = |family| LockFamily::ALL.map(|other| other == family);
        for (text, family) in [
            ("unspin plan 2\nfair\tall\n", LockFamily::Mutex),
            ("unspin plan 2\nrwlock\trw-biased\tall\nrwlock\trw-fair\tall\n", LockFamily::RwLock),
            ("unspin plan 2\nrwlock\tsystem\tuse\t1-2@/x\n", LockFamily::RwLock),
            ("unspin plan 2\nspin\tadaptive\tinit\t1-2@/x\n", LockFamily::Spin),
        ] {
            let plan = plan(text);
            assert_eq!(LockFamily::ALL.map(|family| plan.has(family)), of(family), "{text}");
        }
        let plan = plan("unspin plan 2\nrwlock\trw-biased\tall\nrwlock\trw-fair\tall\nspin\tadaptive\tall\n");
        assert_eq!(plan.all(), Some(RwLockKind::Biased), "the first counts");
        assert_eq!(plan.all(), Some(SpinKind::Adaptive));
        assert_eq!(plan.all::<LockKind>(), None);
    }

    /// The control uses libc for everything.
    #[test]
    fn conditions_are_ours_where_a_mutex_is() {
        for (text, expected) in [
            ("unspin plan 2\nsystem\tall\n", Conditions::Libc),
            ("unspin plan 2\npi\tall\n", Conditions::Libc),
            ("unspin plan 2\nsystem\tall\nwaits\tpoll\n", Conditions::Ours),
            ("unspin plan 2\nwaits\tsystem\n", Conditions::Libc),
            ("unspin plan 2\nwaits\tsystem\npoll\tsite\t1-2@/x\n", Conditions::Ours),
            ("unspin plan 2\nadaptive\tall\n", Conditions::Ours),
            ("unspin plan 2\nrwlock\trw-fair\tall\nspin\tadaptive\tvariable\t1-2@/x\n", Conditions::Libc),
        ] {
            assert_eq!(plan(text).conditions, expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let text: String = (0..RULES as u32 + 1)
            .map(|n| format!("{}\tvariable\t{n:x}-ffff@/x\n", ["fair", "rwlock\trw-fair"][n as usize % 2]))
            .collect();
        let text: &'static str = format!("unspin plan 2\n{text}").leak();
        let mut plan = Box::new(Plan::NOTHING);
        assert_eq!(parse(text.as_bytes(), |line| plan.add(line)), Err(Wrong::TooLong));
    }
}
