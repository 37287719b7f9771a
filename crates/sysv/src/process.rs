//! The processes with adjustments (`SEM_UNDO`): who they are, and whether they live.
//!
//! A process stays the same whatever program it executes, and ends with its last thread; in both it differs from the
//! participants, which are threads of one image. Its entry names it. Beside it there is a word in which the kernel leaves a
//! mark when the thread that holds it ends or executes another program ([`unspin_sys::robust`]), and wakes one who sleeps
//! on it. That is a hint: while somebody holds the word the process lives; when nobody does, `/proc` is asked.
//!
//! | word | means |
//! |---|---|
//! | a thread's id | held: the process lives |
//! | 0 | nobody has held it, or a thread has given it back when it ended |
//! | `OWNER_DIED` | its holder has ended, or the process executes another program |
//! | any of these and `WAITERS` | somebody sleeps on it, or was about to |

use crate::engine::Inner;
use crate::ipc::Class;
use crate::names::Call;
use crate::participant::MAX_PROCESSES;
use crate::thread::Thread;
use core::num::NonZeroU64;
use core::time::Duration;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sync::atomic::{AtomicU32, AtomicU64};
use unspin_sys::process::{self, Group, Life};
use unspin_sys::robust::{self, Sleepers};
use unspin_sys::{Errno, clock, futex};

/// A place in the table of processes. A process is found there by its generation, which is used once.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Entry {
    /// Which process of this place it is; 0: there was none yet.
    generation: AtomicU64,
    /// The last generation that is known to be dead: if it is the one above, the place is free.
    ended: AtomicU64,
    start_time: AtomicU64,
    namespace: AtomicU64,
    pid: AtomicU32,
}

/// A process by its place and generation: what a record of adjustments belongs to. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(NonZeroU64);

const INDEX_BITS: u32 = MAX_PROCESSES.trailing_zeros();
const _: () = assert!(MAX_PROCESSES.is_power_of_two());

impl Process {
    fn new(index: usize, generation: u64) -> Option<Process> {
        NonZeroU64::new(generation << INDEX_BITS | index as u64).map(Process)
    }

    /// The inverse of [`word`](Process::word).
    pub fn from_word(word: u64) -> Option<Process> {
        NonZeroU64::new(word).map(Process)
    }

    /// In one word.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.0.get()
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.word() as usize & (MAX_PROCESSES as usize - 1)
    }

    fn generation(self) -> u64 {
        self.word() >> INDEX_BITS
    }
}

/// Whether a thread of the process holds its word.
#[inline(always)]
pub(crate) fn is_held(word: u32) -> bool {
    word & robust::HOLDER != 0
}

/// What a sleeper finds who wants to be woken by the end of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prospect {
    /// The word will tell, and has this value now.
    Told(u32),
    /// Nobody holds its word: it has to be asked for.
    Untold,
    /// It is gone, and its place has another one.
    Gone,
}

/// Places that are looked at for a dead process before a new place is taken: a crowd of dead is found by the next crowd.
const GLANCES: usize = 4;

impl Entry {
    fn is_free(&self) -> bool {
        // Acquire: partner of the Release in `Inner::enter`.
        self.ended.load(Acquire) >= self.generation.load(Acquire)
    }

    fn group(&self) -> Group {
        // Relaxed: ordered by the Acquire load of the generation; that it was the same before and after tells whether
        // these belong together.
        Group {
            pid: self.pid.load(Relaxed),
            start_time: self.start_time.load(Relaxed),
            namespace: self.namespace.load(Relaxed),
        }
    }
}

impl Inner {
    /// The calling thread's process, entered into the table if need be, and its word held if that is possible. `ENOMEM` if
    /// there is no room.
    pub fn enlist(&'static self, thread: &'static Thread) -> Result<Process, Errno> {
        let process = match thread.process.get() {
            Some(process) => process,
            None => self.with_registry(thread, Class::Sem, Call::Semop, |_| self.enter(&Group::current()))?,
        };
        thread.process.set(Some(process));
        thread.life.set(Some(self.arena.life(process.index())));
        if !self.is_watched_over(process) && !thread.unlisted.get() {
            self.hold_life(thread, process);
        }
        Ok(process)
    }

    /// Takes over the word of a process that has executed this program. To be called early: until then it has to be asked
    /// for.
    pub fn adopt(&'static self) {
        if self.has_entered()
            && let Ok(thread) = Thread::of(self)
        {
            // Without room nobody was entered.
            let _ = self.enlist(thread);
        }
    }

    /// Whether the calling process is in the table, or a dead one of the same id.
    pub fn has_entered(&self) -> bool {
        let me = process::pid();
        // Relaxed: our own, or of no interest.
        self.entered().iter().any(|entry| entry.pid.load(Relaxed) == me && !entry.is_free())
    }

    /// The places that were ever used.
    fn entered(&self) -> &[Entry] {
        // Acquire: partner of the Release in `enter`.
        let high = self.arena.header().processes.load(Acquire) as usize;
        &self.arena.processes()[..high.min(MAX_PROCESSES as usize)]
    }

    /// Finds the process in the table, or gives it a place. Under the registry lock.
    fn enter(&self, me: &Group) -> Result<Process, Errno> {
        let entered = self.entered();
        let name = |index: usize| Process::new(index, entered[index].generation.load(Relaxed));
        if let Some(index) = entered.iter().position(|entry| !entry.is_free() && entry.group() == *me) {
            return name(index).ok_or(Errno::ENOMEM);
        }
        let index = self.vacant_place().ok_or(Errno::ENOMEM)?;
        self.arena.reserve_process(index).map_err(|_| Errno::ENOMEM)?;
        // Release: partner of the Acquire in `entered`.
        self.arena.header().processes.fetch_max(index as u32 + 1, Release);
        let entry = &self.arena.processes()[index];
        entry.pid.store(me.pid, Relaxed);
        entry.start_time.store(me.start_time, Relaxed);
        entry.namespace.store(me.namespace, Relaxed);
        // AcqRel: as in `robust`. Whoever still sleeps on the word of the one before has to look elsewhere.
        if self.arena.life(index).swap(0, AcqRel) & robust::WAITERS != 0 {
            futex::wake(self.arena.life(index), u32::MAX);
        }
        let generation = entry.generation.load(Relaxed) + 1;
        // Release: partner of the Acquires: from this store on the process is there, whoever dies.
        entry.generation.store(generation, Release);
        Process::new(index, generation).ok_or(Errno::ENOMEM)
    }

    fn vacant_place(&self) -> Option<usize> {
        let entered = self.entered();
        let free = || entered.iter().position(Entry::is_free);
        let dead = |index: &usize| {
            Process::new(*index, entered[*index].generation.load(Relaxed)).is_none_or(|it| self.is_gone(it))
        };
        // Any place to begin will do that differs from time to time.
        let start = clock::ticks() as usize / 64;
        let few = (start..).take(GLANCES.min(entered.len())).map(|i| i % entered.len().max(1));
        let next = Some(entered.len()).filter(|&index| index < MAX_PROCESSES as usize);
        free().or_else(|| few.into_iter().find(dead)).or(next).or_else(|| (0..entered.len()).find(dead))
    }

    /// Whether some thread of the process holds its word, so that its end will be told.
    #[inline(always)]
    pub fn is_watched_over(&self, process: Process) -> bool {
        // Acquire: partner of the kernel, which orders all, and of the exchange in `robust::Bond`.
        is_held(self.arena.life(process.index()).load(Acquire))
    }

    /// Puts the thread's id into the word of its process, unless another thread of it was faster.
    #[cold]
    fn hold_life(&'static self, thread: &'static Thread, process: Process) {
        let word = self.arena.life(process.index());
        // Under the registry lock, for the sake of the process's other threads: they have the bond in common.
        let answer = self.with_registry(thread, Class::Sem, Call::Semop, |_| {
            // Relaxed: taken by an exchange.
            let seen = word.load(Relaxed);
            if is_held(seen) {
                return Ok(());
            }
            // SAFETY: the word lies in the arena, and nobody holds it; the lock keeps others from trying.
            unsafe { self.bond.take(word, seen, thread.identity().tid) }
        });
        // Another time, if the thread is changing its list; never, if it has none. Its process has to be asked for then.
        thread.unlisted.set(answer.is_err_and(|errno| errno != Errno::EAGAIN));
    }

    /// The calling thread ends: another one of its process may hold the word from now on.
    pub fn let_go(&'static self, thread: &Thread) {
        let Some(process) = thread.process.get() else { return };
        let word = self.arena.life(process.index());
        // SAFETY: if this thread holds the word, then by this bond, and nobody else can have taken it since.
        if unsafe { self.bond.give_back(word, thread.identity().tid) } == Some(Sleepers::Some) {
            futex::wake(word, u32::MAX);
        }
    }

    /// Whether the process is dead: no thread of it can do anything any more. One load if it is not, as a rule; else a read
    /// of `/proc`.
    #[inline]
    pub fn is_gone(&self, process: Process) -> bool {
        let entry = &self.arena.processes()[process.index()];
        // Acquire: partner of the Releases in `enter` and `ask`.
        let other = entry.generation.load(Acquire) != process.generation();
        if other || entry.ended.load(Acquire) >= process.generation() {
            return true;
        }
        !self.is_watched_over(process) && self.ask(process) == Life::Dead
    }

    /// Asks `/proc` for a process, whatever its word says.
    #[cold]
    pub fn ask(&self, process: Process) -> Life {
        let entry = &self.arena.processes()[process.index()];
        let life = entry.group().life();
        // Acquire: as in `is_gone`. Another one's by now: so this one was found dead before.
        let same = entry.generation.load(Acquire) == process.generation();
        if life == Life::Dead && same {
            // Release: partner of the Acquire in `is_free`.
            entry.ended.fetch_max(process.generation(), Release);
        }
        if same { life } else { Life::Dead }
    }

    /// The word of a process.
    pub fn life_of(&self, process: Process) -> &AtomicU32 {
        self.arena.life(process.index())
    }

    /// Announces that the caller is going to sleep on the word of a process.
    pub fn announce(&self, process: Process) -> Prospect {
        let entry = &self.arena.processes()[process.index()];
        // Acquire: as in `is_gone`.
        if entry.generation.load(Acquire) != process.generation() {
            return Prospect::Gone;
        }
        let word = self.life_of(process);
        // Relaxed: announces a sleeper to the kernel, and to whoever gives the word back, by the word itself.
        let mut seen = word.load(Relaxed);
        while is_held(seen) {
            match word.compare_exchange_weak(seen, seen | robust::WAITERS, Relaxed, Relaxed) {
                Ok(_) => return Prospect::Told(seen | robust::WAITERS),
                Err(now) => seen = now,
            }
        }
        Prospect::Untold
    }

    /// What somebody does who finds that nobody holds the word of a process: the kernel wakes one of those who sleep on it, who
    /// wakes the others; and if a thread has just died, its fellows may be about to.
    pub fn pass_on(&self, process: Process) {
        let word = self.life_of(process);
        // Relaxed: the word itself is all there is to know.
        let seen = word.load(Relaxed);
        if is_held(seen) || seen & robust::WAITERS == 0 {
            return;
        }
        // Relaxed: as above. Who fails leaves it to whoever was faster.
        if word.compare_exchange(seen, seen & !robust::WAITERS, Relaxed, Relaxed).is_ok() {
            futex::wake(word, u32::MAX);
            if self.ask(process) == Life::Alive {
                let entry = &self.arena.processes()[process.index()];
                entry.group().await_end(FELLOWS);
            }
        }
    }
}

/// How long the threads of a killed process may take after the first until the last has ended. Afterwards the process is
/// taken for one that executes another program.
const FELLOWS: Duration = Duration::from_millis(2);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_unpacked() {
        assert_eq!(Process::new(0, 0), None);
        let last = Process::new(MAX_PROCESSES as usize - 1, 7).unwrap();
        assert_eq!((last.index(), last.generation()), (MAX_PROCESSES as usize - 1, 7));
        assert_eq!(Process::from_word(last.word()), Some(last));
    }
}
