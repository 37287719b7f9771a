//! The table of processes with adjustments (`SEM_UNDO`), and whether each is alive.
//!
//! A process survives `exec`, and ends with its last thread. A participant is one thread of one program image, and ends
//! with either. So processes have a table of their own, in which an entry identifies the process. Beside each entry is
//! a robust word, which one thread of the process holds ([`unspin_sys::robust`]). When that thread ends or executes
//! another program, the kernel marks the word and wakes one thread that sleeps on it. The word is a hint: while a
//! thread holds it, the process is alive; when no thread does, `/proc` is asked.
//!
//! Only a thread's own robust list can contain the word. So a thread that ends before its process gives the word back,
//! and the next thread that uses `SEM_UNDO` takes it. After `exec` the new image takes it when it opens the engine.
//!
//! | word | meaning |
//! |---|---|
//! | a thread's id | held: the process is alive |
//! | 0 | no thread has held it yet, or its holder gave it back when it ended |
//! | `OWNER_DIED` | its holder has ended, or the process executes another program |
//! | any of these and `WAITERS` | a thread sleeps on it, or was about to |

use super::process::{Process, ProcessEntry, is_held};
use crate::class::Class;
use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::MAX_PROCESSES;
use crate::thread::Thread;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sys::process::{self, Liveness, ThreadGroup};
use unspin_sys::robust::{self, Sleepers};
use unspin_sys::{Errno, clock, futex};

/// Whether a thread can sleep until the end of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExitNotice {
    /// The robust word changes when its holder ends, and has this value now.
    Armed(u32),
    /// No thread holds the word, so no wake-up will come: `/proc` has to be polled.
    Unarmed,
    /// Another process has the entry, so the process is gone.
    Gone,
}

/// Number of entries that are checked for a dead process before a new entry is taken. So entries of many dead processes
/// are reused when many new processes enter.
const SPOT_CHECKS: usize = 4;

impl Inner {
    /// Enters the calling thread's process into the table if it is not there, and takes its robust word if possible.
    /// `ENOMEM` if there is no room.
    pub fn process_entry(&'static self, thread: &'static Thread) -> Result<Process, Errno> {
        let process = loop {
            if let Some(process) = thread.process.get() {
                break process;
            }
            // Noted within the critical section, where no signal handler runs: one that forks right after it returns in
            // the child, whose thread has no entry. Then the loop makes one.
            self.with_registry(thread, Class::Sem, Call::Semop, |_| {
                let process = self.enter(&ThreadGroup::current())?;
                thread.process.set(Some(process));
                thread.robust_word.set(Some(self.arena.process_word(process.index())));
                Ok(process)
            })?;
        };
        if !self.is_robust_word_held(process) && !thread.has_no_robust_list.get() {
            self.take_robust_word(thread, process);
        }
        Ok(process)
    }

    /// Takes the robust word of a process that was in the table before it executed this program. Call it early: until
    /// then other processes must ask `/proc` about this one.
    ///
    /// If a thread other than the process's first one executed the program, the kernel has left that thread's id in the word.
    pub fn retake_robust_word(&'static self) {
        if self.has_process_entry()
            && let Ok(thread) = Thread::of(self)
            // An error means that there is no room; then the process was not entered.
            && let Ok(process) = self.process_entry(thread)
            && thread.robust_word.get().is_some_and(|word| !is_held_by_this_process(word.load(Relaxed)))
        {
            self.take_robust_word(thread, process);
        }
    }

    /// Whether the table has an entry for the calling process, or for a process with the same pid that is not known to
    /// be dead.
    pub fn has_process_entry(&self) -> bool {
        let me = process::pid();
        // Relaxed: the entry is our own, or its value does not matter.
        self.used_entries().iter().any(|entry| entry.pid.load(Relaxed) == me && !entry.is_free())
    }

    /// The entries that were ever used.
    fn used_entries(&self) -> &[ProcessEntry] {
        // Acquire: partner of the Release in `enter`.
        let high = self.arena.header().processes.load(Acquire) as usize;
        &self.arena.processes()[..high.min(MAX_PROCESSES as usize)]
    }

    /// Finds the process in the table, or gives it an entry. The caller holds the registry lock.
    fn enter(&self, me: &ThreadGroup) -> Result<Process, Errno> {
        let entered = self.used_entries();
        let name = |index: usize| Process::new(index, entered[index].generation.load(Relaxed));
        if let Some(index) = entered.iter().position(|entry| !entry.is_free() && entry.group() == *me) {
            return name(index).ok_or(Errno::ENOMEM);
        }
        let index = self.free_entry().ok_or(Errno::ENOMEM)?;
        self.arena.reserve_process(index).map_err(|_| Errno::ENOMEM)?;
        // Release: partner of the Acquire in `used_entries`.
        self.arena.header().processes.fetch_max(index as u32 + 1, Release);
        let entry = &self.arena.processes()[index];
        entry.pid.store(me.pid, Relaxed);
        entry.start_time.store(me.start_time, Relaxed);
        entry.namespace.store(me.namespace, Relaxed);
        // AcqRel: as in `robust`. Threads that still sleep on the previous process's word must look again.
        if self.arena.process_word(index).swap(0, AcqRel) & robust::WAITERS != 0 {
            futex::wake(self.arena.process_word(index), u32::MAX);
        }
        let generation = entry.generation.load(Relaxed) + 1;
        // Release: partner of the Acquire loads of the generation. From this store on the process is in the table,
        // whichever thread dies.
        entry.generation.store(generation, Release);
        Process::new(index, generation).ok_or(Errno::ENOMEM)
    }

    fn free_entry(&self) -> Option<usize> {
        let entered = self.used_entries();
        let free = || entered.iter().position(ProcessEntry::is_free);
        let dead = |index: &usize| {
            Process::new(*index, entered[*index].generation.load(Relaxed)).is_none_or(|it| self.is_gone(it))
        };
        // Any start index will do if it varies from call to call.
        let start = clock::ticks() as usize / 64;
        let few = (start..).take(SPOT_CHECKS.min(entered.len())).map(|i| i % entered.len().max(1));
        let next = Some(entered.len()).filter(|&index| index < MAX_PROCESSES as usize);
        free().or_else(|| few.into_iter().find(dead)).or(next).or_else(|| (0..entered.len()).find(dead))
    }

    /// Whether a thread of the process holds its robust word, so that the kernel announces its end.
    #[inline(always)]
    pub fn is_robust_word_held(&self, process: Process) -> bool {
        // Acquire: partner of the kernel's change of the word, which orders everything, and of the exchange in
        // `robust::RobustFutex`.
        is_held(self.arena.process_word(process.index()).load(Acquire))
    }

    /// Puts the thread's id into the robust word of its process, unless another thread of the process has done so.
    #[cold]
    fn take_robust_word(&'static self, thread: &'static Thread, process: Process) {
        let word = self.arena.process_word(process.index());
        // Under the registry lock because of the process's other threads: they share the robust_futex.
        let answer = self.with_registry(thread, Class::Sem, Call::Semop, |_| {
            // Relaxed: the exchange that takes the word orders.
            let seen = word.load(Relaxed);
            if is_held_by_this_process(seen) {
                return Ok(());
            }
            // SAFETY: the word lies in the arena, and no thread holds it. The registry lock keeps other threads from
            // taking it.
            unsafe { self.robust_futex.acquire(word, seen, thread.identity().tid) }
        });
        // EAGAIN: the thread is changing its robust list, and a later call tries again. Any other error: the thread has
        // no such list and never tries again. Other processes must then ask `/proc` about its process.
        thread.has_no_robust_list.set(answer.is_err_and(|errno| errno != Errno::EAGAIN));
    }

    /// Gives the robust word back because the calling thread ends. Another thread of its process may take it from now
    /// on.
    pub fn give_back_robust_word(&'static self, thread: &Thread) {
        let Some(process) = thread.process.get() else { return };
        let word = self.arena.process_word(process.index());
        // SAFETY: if this thread holds the word, it holds it by this robust_futex, and no other thread can have taken it since.
        if unsafe { self.robust_futex.release(word, thread.identity().tid) } == Some(Sleepers::Some) {
            futex::wake(word, u32::MAX);
        }
    }

    /// Whether the process is dead: no thread of it can execute any more. Usually one load if it is alive, else a read
    /// of `/proc`.
    #[inline]
    pub fn is_gone(&self, process: Process) -> bool {
        let entry = &self.arena.processes()[process.index()];
        // Acquire: partner of the Releases in `enter` and `ask`.
        let other = entry.generation.load(Acquire) != process.generation();
        if other || entry.ended.load(Acquire) >= process.generation() {
            return true;
        }
        !self.is_robust_word_held(process) && self.ask(process) == Liveness::Dead
    }

    /// Asks `/proc` about a process, whatever its robust word says.
    #[cold]
    pub fn ask(&self, process: Process) -> Liveness {
        let entry = &self.arena.processes()[process.index()];
        let life = entry.group().liveness();
        // Acquire: as in `is_gone`. If the entry has another process now, this one was found dead before.
        let same = entry.generation.load(Acquire) == process.generation();
        if life == Liveness::Dead && same {
            // Release: partner of the Acquire in `is_free`.
            entry.ended.fetch_max(process.generation(), Release);
        }
        if same { life } else { Liveness::Dead }
    }

    /// The robust word of a process.
    pub fn robust_word_of(&self, process: Process) -> &AtomicU32 {
        self.arena.process_word(process.index())
    }

    /// Announces that the caller is about to sleep on the robust word of a process.
    pub fn arm_exit_notice(&self, process: Process) -> ExitNotice {
        let entry = &self.arena.processes()[process.index()];
        // Acquire: as in `is_gone`.
        if entry.generation.load(Acquire) != process.generation() {
            return ExitNotice::Gone;
        }
        let word = self.robust_word_of(process);
        // Relaxed: the word itself announces the sleeper, to the kernel and to a thread that gives the word back. The futex call
        // compares it again.
        let mut seen = word.load(Relaxed);
        while is_held(seen) {
            if seen & robust::WAITERS != 0 {
                return ExitNotice::Armed(seen);
            }
            match word.compare_exchange_weak(seen, seen | robust::WAITERS, Relaxed, Relaxed) {
                Ok(_) => return ExitNotice::Armed(seen | robust::WAITERS),
                Err(now) => seen = now,
            }
        }
        ExitNotice::Unarmed
    }

    /// To be called by a thread that finds that no thread holds the robust word of a process. The kernel wakes one
    /// sleeper of a marked word; this wakes the others. If the process is still alive, its other threads may be about
    /// to die with the one that held the word; then this waits up to [`GROUP_EXIT_LIMIT`] for its end.
    pub fn wake_other_sleepers(&self, process: Process) {
        let word = self.robust_word_of(process);
        // Relaxed: nothing but the word itself is needed.
        let seen = word.load(Relaxed);
        if is_held(seen) || seen & robust::WAITERS == 0 {
            return;
        }
        // Relaxed: as above. If the exchange fails, another thread was faster and does the rest.
        if word.compare_exchange(seen, seen & !robust::WAITERS, Relaxed, Relaxed).is_ok() {
            futex::wake(word, u32::MAX);
            if self.ask(process) == Liveness::Alive {
                let entry = &self.arena.processes()[process.index()];
                entry.group().await_end(GROUP_EXIT_LIMIT);
            }
        }
    }
}

/// How long the other threads of a killed process may take to end after the first. If the process is alive after that,
/// it is taken for one that executes another program.
const GROUP_EXIT_LIMIT: Duration = Duration::from_millis(2);

/// Whether a thread of the calling process holds the word of this value.
fn is_held_by_this_process(word: u32) -> bool {
    is_held(word) && process::has_thread(word & robust::OWNER_TID)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Kind, Options};
    use unspin_sys::ipc::{Sembuf, flag};

    /// As after an execve by a thread that was not the first one of its process.
    #[test]
    fn word_with_the_id_of_a_thread_that_is_gone_is_retaken() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let post = Sembuf { sem_num: 0, sem_op: 1, sem_flg: flag::SEM_UNDO as i16 };
        engine.semop_ops(id, &[post]).unwrap();
        let word = Thread::of(inner).unwrap().robust_word.get().unwrap();
        let own = process::tid();
        assert_eq!(word.load(Relaxed), own);
        // The last id of a process that was reaped: no thread of this process has it.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        for seen in [gone, gone | robust::WAITERS] {
            word.store(seen, Relaxed);
            inner.retake_robust_word();
            assert_eq!(word.load(Relaxed), own | seen & robust::WAITERS);
        }
    }
}
