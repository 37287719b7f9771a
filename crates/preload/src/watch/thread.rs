//! The calling thread's table, and the operations on it at every use of a lock.
//!
//! It lies in a page that is wiped on fork. So a child finds no table, and claims its own. A child that shares its
//! parent's memory (vfork) records as its parent.

mod attempts;
mod holds;
mod not_recorded;
mod woken;

pub use woken::WokenFrom;

use super::recording;
use super::sample_rng::SampleRng;
use super::table_pages;
use super::timing_cost;
use super::wrappers::WrapperCandidates;
use crate::swap::plan;
use crate::{departure, sandbox};
use core::cell::Cell;
use core::ptr::NonNull;
use not_recorded::{NOT_RECORDED, NOTHING_TO_DO, NotRecorded};
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_sys::tls::{self, Word};
use unspin_sys::{clock, page, process};
use unspin_wire::{Level, Recording, Table};

/// A thread that records. Valid when zeroed: not known yet.
pub struct Thread {
    phase: Cell<u32>,
    /// Acquisitions until [`turn`](Thread::turn).
    countdown: Cell<u32>,
    /// One hold in this many is timed; 0 at level `counts`, which tracks no holds.
    every: Cell<u32>,
    /// Start of the [stretch](timing_cost) of holds that are timed, in ticks; 0 except at level `auto`.
    stretch: Cell<u64>,
    /// Holds of frequent rows until one is timed that stands for [`Level::AUTO_EVERY`], in a thread that level `auto` samples;
    /// else 0. The countdown is then 1: what is timed depends on the row.
    until_sample: Cell<u32>,
    random: SampleRng,
    /// The mutex that a wait for a condition has released and will lock again.
    waiting: Cell<u64>,
    /// The kind of wake-up and the condition of the thread's latest wait, until the thread wakes another one, or waits
    /// again; 0 if there is none. [`Object::held`](super::Object::held) of a row that counts woken threads.
    woken: Cell<u64>,
    /// The latest wait that a signal ended; its condition is 0 if the thread has signalled that condition since.
    woken_from: Cell<WokenFrom>,
    candidates: WrapperCandidates,
    recording: Cell<Option<&'static Recording>>,
}

const _: () = assert!(size_of::<Thread>() <= page::BYTES && size_of::<Table<'static>>() <= page::BYTES);

/// The table exists, no times are recorded, and libc serves all mutexes.
const COUNTED: u32 = 1;
/// The table exists, times are recorded, and libc serves all mutexes.
const TIMED: u32 = 2;
/// The table exists, and some mutexes may be replaced.
const PLANNED: u32 = 3;
/// The thread is not recorded: nothing is, or it is being set up, or there was no room.
const ABSENT: u32 = 4;
/// The thread is not recorded, as nothing is, and libc serves all mutexes.
const IDLE: u32 = 5;

/// How often a thread may set up a table again after its destructors have begun to run: PTHREAD_DESTRUCTOR_ITERATIONS
/// (limits.h). After that no destructor would release the table.
const MAX_DEPARTURES: usize = 4;

/// How a thread is recorded.
pub enum Known {
    /// No times are recorded, and libc serves all mutexes.
    Counted(&'static Thread),
    /// Times are recorded, and libc serves all mutexes.
    Timed(&'static Thread),
    /// Some mutexes may be replaced.
    Planned(&'static Thread),
    /// Not at all.
    Absent,
    /// Not at all, and libc serves all mutexes.
    Idle,
    /// Not decided yet: [`Thread::current`] decides.
    Unknown,
}

impl Thread {
    /// The calling thread, if it is recorded.
    #[inline(always)]
    pub fn current() -> Option<&'static Thread> {
        match Thread::known() {
            Known::Counted(thread) | Known::Timed(thread) | Known::Planned(thread) => Some(thread),
            Known::Absent | Known::Idle => None,
            Known::Unknown => Thread::unknown(),
        }
    }

    /// The calling thread, as far as that is known in a few instructions.
    #[inline(always)]
    pub fn known() -> Known {
        let address = tls::value::<{ Word::Meter as usize }>() as *const Thread;
        // SAFETY: the word is zero or the address of a `Thread`: a static one, or a page that only `leave` gives back,
        // after it has zeroed the word.
        let Some(thread) = (unsafe { address.as_ref() }) else { return Known::Unknown };
        // Two comparisons find each phase; one `match` of all would be a jump through a table.
        let phase = thread.phase.get();
        if phase <= TIMED {
            return match phase {
                TIMED => Known::Timed(thread),
                COUNTED => Known::Counted(thread),
                _ => Known::Unknown,
            };
        }
        match phase {
            IDLE => Known::Idle,
            ABSENT => Known::Absent,
            PLANNED => Known::Planned(thread),
            _ => Known::Unknown,
        }
    }

    /// Whether it is known that the calling thread is not recorded, as nothing is, and that there is a plan. In one comparison:
    /// a call for which this is false goes on with [`known`](Thread::known).
    #[inline(always)]
    pub fn is_in_plan_only() -> bool {
        tls::value::<{ Word::Meter as usize }>() == (&raw const NOT_RECORDED).addr()
    }

    #[cold]
    #[inline(never)]
    fn unknown() -> Option<&'static Thread> {
        if recording::is_off() {
            let all = if plan::is_on() { &NOT_RECORDED } else { &NOTHING_TO_DO };
            tls::word(Word::Meter).set(&raw const *all as usize);
            return None;
        }
        Thread::arrive(recording::get()?)
    }

    fn arrive(recording: &'static Recording) -> Option<&'static Thread> {
        let word = tls::word(Word::Meter);
        // SAFETY: as in `current`.
        let known = unsafe { (word.get() as *const Thread).as_ref() };
        let is_absent = known.is_some_and(|thread| matches!(thread.phase.get(), ABSENT | IDLE));
        if is_absent || departures().get() >= MAX_DEPARTURES || sandbox::is_closed() {
            return None;
        }
        let mask = block(Mask::ALL_BUT_SIGBUS);
        let thread = known.or_else(|| {
            // SAFETY: a zeroed page is a valid `Thread`: cells of integers and of an option of a reference, and a table
            // that the phase marks as absent.
            page::take().ok().map(|page| unsafe { page.cast::<Thread>().as_ref() })
        });
        let ready = thread.filter(|thread| {
            word.set(*thread as *const Thread as usize);
            // Functions called from here on may use locks.
            thread.phase.set(ABSENT);
            thread.begin(recording)
        });
        set_mask(mask);
        ready
    }

    /// Claims a table. Returns whether there was one.
    fn begin(&'static self, recording: &'static Recording) -> bool {
        let Some(table) = recording.claim() else { return false };
        self.every.set(match recording.level() {
            Level::Counts => 0,
            Level::Sampled { every } => every,
            Level::Full | Level::Auto => 1,
        });
        self.stretch.set(if recording.level() == Level::Auto { clock::ticks() } else { 0 });
        self.until_sample.set(0);
        self.countdown.set(if self.every.get() == 1 { timing_cost::STRETCH } else { self.every.get() });
        self.random.begin(clock::ticks());
        table_pages::set(process::tid(), table.page());
        self.recording.set(Some(recording));
        // SAFETY: the thread lies in a page of its own, and its phase is ABSENT: no hook uses the table.
        unsafe { page::behind(self).cast::<Table<'static>>().write(table) };
        self.phase.set(match self.every.get() {
            _ if plan::is_on() => PLANNED,
            0 => COUNTED,
            _ => TIMED,
        });
        departure::expect();
        true
    }

    /// The thread's table. It lies behind the thread's page, where a fork does not wipe it: a signal handler that forks
    /// returns in the child to a hook that goes on with the parent's table. What that hook records may be lost, and
    /// the child's next hook finds that the thread has no table yet.
    #[inline(always)]
    pub fn table(&self) -> &Table<'static> {
        // SAFETY: 1. `known` has returned this thread, so it lies in a page of its own, and `begin` has written the
        // table behind that page; 2. a child inherits it.
        unsafe { &*page::behind(self).cast() }
    }

    /// Whether times are recorded at all.
    #[inline(always)]
    pub fn has_clock(&self) -> bool {
        self.every.get() != 0
    }

    /// The current time in ticks; 0 if no times are recorded.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        if self.has_clock() { clock::ticks() } else { 0 }
    }

    fn leave(&'static self) {
        if !matches!(self.phase.replace(ABSENT), COUNTED | TIMED | PLANNED) {
            return;
        }
        // SAFETY: the table was written, and the phase is ABSENT now, so it is taken once only.
        let table = unsafe { page::behind(self).cast::<Table<'static>>().read() };
        if let Some(recording) = self.recording.get() {
            recording.release(table, process::thread_times());
        }
    }
}

/// How often this thread has given up its table.
fn departures() -> &'static Cell<usize> {
    tls::word(Word::Preload)
}

/// Gives back the table and the page of the calling thread, at its end.
pub fn leave() {
    let word = tls::word(Word::Meter);
    // SAFETY: as in `Thread::current`.
    if let Some(thread) = unsafe { (word.get() as *const Thread).as_ref() } {
        if NotRecorded::is(thread) {
            return;
        }
        word.set(0);
        departures().set(departures().get() + 1);
        thread.leave();
        // SAFETY: the page belonged to this thread alone. Only the word pointed to it, and the word is zeroed.
        unsafe { page::give_back(NonNull::from(thread).cast()) };
    }
}
