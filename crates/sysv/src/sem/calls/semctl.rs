//! semctl(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/sem.c`: `ksys_semctl` and what it calls). The functions name their
//! kernel counterparts.

use super::object::{find_set, is_gone};
use crate::class::Class;
use crate::engine::guard::Guard;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::participant::WaitList;
use crate::registry::{self, Access, Id};
use crate::rules::SingleOp;
use crate::sem::{Set, SetSection, word::Word};
use crate::thread::Thread;
use crate::time;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use unspin_sys::ipc::{IpcPerm, SEMVMX, SemidDs, Seminfo, flag};
use unspin_sys::limits::SemLimits;
use unspin_sys::{Errno, fault};

impl Engine {
    /// semctl(2). `arg` has the eight bytes of the fourth argument, whichever member of `union semun` they are.
    ///
    /// # Safety
    /// If `arg` is a valid address, the program must mean it to be read or written by the command. For an invalid
    /// address the call fails with `EFAULT`.
    pub unsafe fn semctl(&self, id: i32, semnum: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
        let Some(inner) = self.inner else {
            // SAFETY: the caller's promise is the kernel's.
            return unsafe { unspin_sys::ipc::semctl(id, semnum, cmd, arg) };
        };
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        if inner.rules.single_op == SingleOp::CompareAndSwap
            && let Some(thread) = Thread::current(inner.number)
            && let Some(value) = fast_path(inner, thread, id, semnum, cmd, arg)
        {
            return Ok(value);
        }
        let thread = Thread::of(inner)?;
        let call = SemctlCall { inner, thread, id };
        match cmd {
            flag::IPC_INFO | flag::SEM_INFO => call.info(cmd, arg),
            flag::IPC_STAT => call.stat(arg),
            flag::SEM_STAT => call.stat_index(Some(Access::Read), arg),
            flag::SEM_STAT_ANY => call.stat_index(None, arg),
            flag::GETVAL | flag::GETPID | flag::GETNCNT | flag::GETZCNT => call.get(semnum, cmd),
            flag::GETALL => call.get_all(arg),
            flag::SETVAL => call.set_value(semnum, arg as i32),
            flag::SETALL => call.set_all(arg),
            flag::IPC_SET => call.set_perm(arg),
            flag::IPC_RMID => call.remove(),
            _ => Err(Errno::EINVAL),
        }
    }

    /// `GETALL`, for a caller that passes no address.
    pub(crate) fn sem_values(&self, id: i32) -> Result<Vec<u16>, Errno> {
        let Some(inner) = self.inner else { return unspin_sys::ipc::sem_values(id) };
        SemctlCall { inner, thread: Thread::of(inner)?, id }.values()
    }

    /// `SETALL`, likewise. `EINVAL` unless there is a value for each semaphore.
    pub(crate) fn set_sem_values(&self, id: i32, values: &[u16]) -> Result<(), Errno> {
        let Some(inner) = self.inner else { return unspin_sys::ipc::set_sem_values(id, values) };
        let ctl = SemctlCall { inner, thread: Thread::of(inner)?, id };
        ctl.set_values(values, |set| {
            ctl.permit(set, Access::Alter)?;
            one_for_each(set, values)?;
            in_range(values)
        })
    }
}

/// GETVAL, GETPID and SETVAL of a semaphore without waiters, without a lock. `None` if the slow path must be taken.
#[inline]
fn fast_path(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    semnum: i32,
    cmd: i32,
    arg: usize,
) -> Option<i32> {
    let want = match cmd {
        flag::GETVAL | flag::GETPID => Access::Read,
        flag::SETVAL if (0..=SEMVMX).contains(&(arg as i32)) => Access::Alter,
        _ => return None,
    };
    let _read = thread.read();
    let cached = inner.cached_set_for(thread, id, want)?;
    let sem = cached.sems().get(usize::try_from(semnum).ok()?)?;
    // Acquire: partner of the Releases that write values.
    let mut seen = Word(sem.word.load(Acquire));
    loop {
        match cmd {
            _ if seen.is_slow() => return None,
            flag::GETVAL => return Some(seen.value()),
            flag::GETPID => return Some(seen.pid() as i32),
            _ => {}
        }
        let new = Word::new(arg as i32, thread.pid());
        // AcqRel: as in the fast path of semop.
        match sem.word.compare_exchange_weak(seen.0, new.0, AcqRel, Acquire) {
            Ok(_) => break,
            Err(now) => seen = Word(now),
        }
    }
    cached.set().set_ctime(time::seconds());
    Some(0)
}

struct SemctlCall {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
}

impl SemctlCall {
    fn guard(
        &self,
        call: Call,
        check: impl FnOnce(&Set) -> Result<(), Errno>,
    ) -> Result<Guard<'static, SetSection<'static>>, Errno> {
        self.inner.guard_by_id(self.thread, call, self.id, check)
    }

    fn permit(&self, set: &Set, want: Access) -> Result<(), Errno> {
        self.inner.permit(self.thread, &set.perm, want)
    }

    /// `semctl_info`. Needs no permission; the id must not be negative, but is not used.
    fn info(&self, cmd: i32, arg: usize) -> Result<i32, Errno> {
        let limits = SemLimits::read();
        let root = self.inner.arena.header().root(Class::Sem);
        // Relaxed: counts that may change at any time.
        let (sets, sems) = match cmd {
            flag::SEM_INFO => (root.in_use.load(Relaxed) as i32, root.units.load(Relaxed) as i32),
            _ => (SEMUSZ, SEMVMX),
        };
        let info = Seminfo {
            semmap: SemLimits::DEFAULT.total as i32,
            semmni: limits.sets as i32,
            semmns: limits.total as i32,
            semmnu: SemLimits::DEFAULT.total as i32,
            semmsl: limits.per_set as i32,
            semopm: limits.ops as i32,
            semume: SemLimits::DEFAULT.ops as i32,
            semusz: sets,
            semvmx: SEMVMX,
            semaem: sems,
        };
        let highest = {
            let _read = self.thread.read();
            let arena = &self.inner.arena;
            (0..registry::capacity(arena, Class::Sem) as usize)
                .rev()
                .find(|&i| registry::find_index(arena, Class::Sem, i) != 0)
                .unwrap_or(0)
        };
        // SAFETY: `semctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(info.as_bytes(), arg) }?;
        Ok(highest as i32)
    }

    /// The set's state. Its `sem_otime` includes the last end of a process that used SEM_UNDO.
    fn status(&self, section: &mut SetSection<'static>) -> SemidDs {
        section.note_dead_processes(|process| is_gone(self.inner, process));
        let set = section.space.set;
        // Relaxed: times of day.
        SemidDs {
            sem_perm: IpcPerm { ..set.perm.to_c() },
            sem_otime: set.otime.load(Relaxed),
            sem_ctime: set.ctime.load(Relaxed),
            sem_nsems: set.count() as u64,
            ..SemidDs::default()
        }
    }

    /// `semctl_stat` with IPC_STAT.
    fn stat(&self, arg: usize) -> Result<i32, Errno> {
        let mut guard = self.guard(Call::Stat, |set| self.permit(set, Access::Read))?;
        let status = self.status(guard.section());
        drop(guard);
        // SAFETY: `semctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(status.as_bytes(), arg) }?;
        Ok(0)
    }

    /// `semctl_stat` with SEM_STAT and SEM_STAT_ANY: the argument is used as an index into the table, and the result is
    /// the id.
    fn stat_index(&self, want: Option<Access>, arg: usize) -> Result<i32, Errno> {
        let id = {
            let _read = self.thread.read();
            let arena = &self.inner.arena;
            let set = find_set(arena, registry::find_index(arena, Class::Sem, Id(self.id).index()))
                .ok_or(Errno::EINVAL)?;
            // Relaxed: immutable once published.
            set.perm.id.load(Relaxed)
        };
        let mut guard = self.inner.guard_by_id(self.thread, Call::Stat, id, |set| {
            want.map_or(Ok(()), |want| self.permit(set, want))
        })?;
        let status = self.status(guard.section());
        drop(guard);
        // SAFETY: `semctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(status.as_bytes(), arg) }?;
        Ok(id)
    }

    /// `semctl_main` with GETVAL, GETPID, GETNCNT, GETZCNT: checks the permission before the index.
    fn get(&self, semnum: i32, cmd: i32) -> Result<i32, Errno> {
        let call = if matches!(cmd, flag::GETVAL | flag::GETPID) { Call::Get } else { Call::Count };
        let mut guard = self.guard(call, |set| {
            self.permit(set, Access::Read)?;
            index(set, semnum).map(drop)
        })?;
        let section = guard.section();
        let sem = semnum as usize;
        let dead = |index| self.inner.is_dead(index);
        let value = match cmd {
            flag::GETVAL => section.space.word(sem).value(),
            flag::GETPID => section.space.word(sem).pid() as i32,
            flag::GETNCNT => section.count_waiters(sem, WaitList::Alter, dead) as i32,
            _ => section.count_waiters(sem, WaitList::Zero, dead) as i32,
        };
        Ok(value)
    }

    /// A consistent snapshot of all values.
    fn values(&self) -> Result<Vec<u16>, Errno> {
        let mut guard = self.guard(Call::GetAll, |set| self.permit(set, Access::Read))?;
        let section = guard.section();
        section.mark_all_slow();
        Ok((0..section.space.sems.len()).map(|sem| section.space.word(sem).value() as u16).collect())
    }

    /// `semctl_main` with GETALL.
    fn get_all(&self, arg: usize) -> Result<i32, Errno> {
        let bytes: Vec<u8> = self.values()?.into_iter().flat_map(u16::to_ne_bytes).collect();
        // SAFETY: `semctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(&bytes, arg) }?;
        Ok(0)
    }

    /// `semctl_setval`: checks the value before the id, and the index before the permission.
    fn set_value(&self, semnum: i32, value: i32) -> Result<i32, Errno> {
        if !(0..=SEMVMX).contains(&value) {
            return Err(Errno::ERANGE);
        }
        let mut guard = self.guard(Call::SetVal, |set| {
            index(set, semnum)?;
            self.permit(set, Access::Alter)
        })?;
        let section = guard.section();
        section.set_value(semnum as usize, value, self.thread.pid());
        section.space.set.set_ctime(time::seconds());
        guard.serve();
        Ok(0)
    }

    /// `semctl_main` with SETALL: checks the permission, then the array (EFAULT), then its values (ERANGE).
    fn set_all(&self, arg: usize) -> Result<i32, Errno> {
        let count = {
            let _read = self.thread.read();
            let (_, set) = self.inner.find::<Set>(self.id)?;
            self.permit(set, Access::Alter)?;
            set.count()
        };
        let mut bytes = vec![0u8; count * 2];
        fault::copy_in(arg, &mut bytes)?;
        let values: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
        in_range(&values)?;
        // If the set was removed while the array was copied: EIDRM (`sem_lock_and_putref`, `ipc_valid_object`), even if
        // the id refers to another set now.
        self.set_values(&values, |set| one_for_each(set, &values)).map_err(|_| Errno::EIDRM)?;
        Ok(0)
    }

    fn set_values(&self, values: &[u16], check: impl FnOnce(&Set) -> Result<(), Errno>) -> Result<(), Errno> {
        let mut guard = self.guard(Call::SetAll, check)?;
        let section = guard.section();
        section.set_all(values, self.thread.pid());
        section.space.set.set_ctime(time::seconds());
        guard.serve();
        Ok(())
    }

    /// `semctl_down` with IPC_SET: reads the structure before it checks the id.
    fn set_perm(&self, arg: usize) -> Result<i32, Errno> {
        let mut status = SemidDs::default();
        fault::copy_in(arg, status.as_bytes_mut())?;
        let mut guard = self.guard(Call::IpcSet, |set| self.own(set))?;
        let section = guard.section();
        section.space.set.perm.update(&status.sem_perm).ok_or(Errno::EINVAL)?;
        self.inner.arena.note_change();
        section.space.set.set_ctime(time::seconds());
        Ok(0)
    }

    fn own(&self, set: &Set) -> Result<(), Errno> {
        if set.perm.is_owned_by(&self.thread.creds.read()) { Ok(()) } else { Err(Errno::EPERM) }
    }

    /// `semctl_down` with IPC_RMID.
    fn remove(&self) -> Result<i32, Errno> {
        self.inner.with_registry(self.thread, Class::Sem, Call::Rmid, |registry| {
            let (at, set) = self.inner.find::<Set>(self.id)?;
            self.own(set)?;
            let bytes = self.inner.evict(self.thread, registry, at);
            registry.remove(at, bytes);
            Ok(0)
        })
    }
}

/// SEMUSZ of `include/uapi/linux/sem.h`: "sizeof struct sem_undo".
const SEMUSZ: i32 = 20;

fn one_for_each(set: &Set, values: &[u16]) -> Result<(), Errno> {
    if values.len() == set.count() { Ok(()) } else { Err(Errno::EINVAL) }
}

fn in_range(values: &[u16]) -> Result<(), Errno> {
    if values.iter().all(|&value| i32::from(value) <= SEMVMX) { Ok(()) } else { Err(Errno::ERANGE) }
}

fn index(set: &Set, semnum: i32) -> Result<usize, Errno> {
    usize::try_from(semnum).ok().filter(|&i| i < set.count()).ok_or(Errno::EINVAL)
}
