//! A simple model of the calls: one process, one map, no lock, no waiters.
//!
//! Order of checks: Linux 6.18, `ipc/sem.c` and `ipc/util.c`.

use super::program::{Call, Command, Patience, Vector};
use crate::families::names::{Name, Names};
use std::collections::BTreeMap;
use unspin_sys::Errno;
use unspin_sys::ipc::{SEMAEM, SEMVMX, Sembuf, flag};

/// A deliberate mistake of the model. The comparison must find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// No mistake.
    #[default]
    None,
    /// A vector that fails leaves behind what its first operations did.
    HalfVectors,
    /// Waiting for zero does not count as a last operation (`sempid`).
    ZeroLeavesNoPid,
    /// Values above 32767 are refused before it is known whether an earlier operation blocks.
    RangeFirst,
    /// A key is found after its set was removed.
    KeysOutliveSets,
    /// Operations without SEM_UNDO are undone, too. This one and the next ones show at the end of the process only.
    UndoesEverything,
    /// An overwritten value keeps its adjustment.
    AdjustmentsOutliveSetval,
    /// Values go below zero when they are undone.
    UndoesWithoutEnd,
}

/// A set of semaphores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    pub key: u8,
    pub mode: u32,
    /// Value and last pid of each semaphore.
    pub sems: Vec<(i32, i32)>,
    /// The process's adjustment for each.
    pub owed: Owed,
    /// Whether an operation has succeeded: `sem_otime` is not 0.
    pub operated: bool,
}

/// Adjustments (`semadj`). No call reports them, so they do not count when sets are compared.
#[derive(Clone, Default, Debug)]
pub struct Owed(pub Vec<i32>);

impl PartialEq for Owed {
    fn eq(&self, _: &Owed) -> bool {
        true
    }
}

impl Eq for Owed {}

/// What a call answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A number, or an error.
    Number(Result<i32, Errno>),
    /// `GETALL`: the values.
    Values(Vec<i32>),
    /// `IPC_STAT`, `SEM_STAT`: the set as it is, and what the call returned.
    Status(i32, Set),
    /// semget made a set: any id that is not in use.
    New(Set),
}

/// All sets.
pub struct Model {
    sets: BTreeMap<i32, Set>,
    names: Names,
    pid: i32,
    flaw: Flaw,
}

type Outcome<T> = Result<T, Errno>;

impl Model {
    pub fn new(flaw: Flaw) -> Model {
        Model { sets: BTreeMap::new(), names: Names::default(), pid: std::process::id() as i32, flaw }
    }

    /// The id behind a name.
    pub fn id(&self, name: Name) -> i32 {
        self.names.id(name)
    }

    /// Ids of all sets that are there.
    pub fn ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.sets.keys().copied()
    }

    /// The process ends: values of each set that is there, with what it did undone.
    pub fn end(&self) -> Vec<(i32, Vec<i32>)> {
        let clamp = |value: i32| match self.flaw {
            Flaw::UndoesWithoutEnd => value & SEMVMX,
            _ => value.clamp(0, SEMVMX),
        };
        let undone = |set: &Set| {
            let both = set.sems.iter().zip(&set.owed.0);
            both.map(|(&(value, _), &owed)| if owed == 0 { value } else { clamp(value + owed) }).collect()
        };
        self.sets.iter().map(|(&id, set)| (id, undone(set))).collect()
    }

    /// A set that is there.
    pub fn set(&self, id: i32) -> Option<&Set> {
        self.sets.get(&id)
    }

    /// Notes which id a new set got; `false` if it cannot have got that one.
    pub fn name(&mut self, id: i32, set: Set) -> bool {
        self.sets.insert(id, set);
        self.names.note(id)
    }

    /// Performs a call.
    pub fn call(&mut self, call: &Call) -> Answer {
        let answer = match call {
            Call::Get { key, nsems, flags } => self.get(*key, *nsems, *flags),
            Call::Operate { set, ops, patience, vector } => {
                self.operate(self.id(*set), ops, *patience, *vector).map(|()| Answer::Number(Ok(0)))
            }
            Call::Control { set, semnum, command } => self.control(self.id(*set), *semnum, *command),
        };
        answer.unwrap_or_else(|errno| Answer::Number(Err(errno)))
    }

    fn get(&mut self, key: u8, nsems: i32, flags: i32) -> Outcome<Answer> {
        if !(0..=32_000).contains(&nsems) {
            return Err(Errno::EINVAL);
        }
        if let Some((&id, set)) = self.sets.iter().find(|(_, set)| key != 0 && set.key == key) {
            if flags & flag::IPC_EXCL != 0 && flags & flag::IPC_CREAT != 0 {
                return Err(Errno::EEXIST);
            }
            if nsems as usize > set.sems.len() {
                return Err(Errno::EINVAL);
            }
            return Ok(Answer::Number(Ok(id)));
        }
        if key != 0 && flags & flag::IPC_CREAT == 0 {
            return Err(Errno::ENOENT);
        }
        if nsems == 0 {
            return Err(Errno::EINVAL);
        }
        let mode = flags as u32 & 0o777;
        let (sems, owed) = (vec![(0, 0); nsems as usize], Owed(vec![0; nsems as usize]));
        Ok(Answer::New(Set { key, mode, sems, owed, operated: false }))
    }

    fn operate(&mut self, id: i32, ops: &[Sembuf], patience: Patience, vector: Vector) -> Outcome<()> {
        if patience == Patience::BadAddress {
            return Err(Errno::EFAULT);
        }
        match vector {
            Vector::TooMany => return Err(Errno::E2BIG),
            _ if ops.is_empty() => return Err(Errno::EINVAL),
            Vector::BadAddress => return Err(Errno::EFAULT),
            Vector::Given => {}
        }
        if id < 0 || patience == Patience::Invalid {
            return Err(Errno::EINVAL);
        }
        let (pid, flaw) = (self.pid, self.flaw);
        let set = self.sets.get_mut(&id).ok_or(Errno::EINVAL)?;
        if ops.iter().any(|op| op.sem_num as usize >= set.sems.len()) {
            return Err(Errno::EFBIG);
        }
        let mut after = (set.sems.clone(), set.owed.clone());
        let result = ops.iter().try_for_each(|op| perform(&mut after, op, pid, flaw));
        if result.is_ok() || flaw == Flaw::HalfVectors {
            (set.sems, set.owed) = after;
        }
        result?;
        set.operated = true;
        Ok(())
    }

    fn control(&mut self, id: i32, semnum: i32, command: Command) -> Outcome<Answer> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        match command {
            Command::SetVal(value) if !(0..=SEMVMX).contains(&value) => return Err(Errno::ERANGE),
            Command::BadAddress(flag::IPC_SET) => return Err(Errno::EFAULT),
            Command::StatIndex => {
                let at = |id: i32| id & 0x7FFF;
                let (&id, set) = self.sets.iter().find(|(i, _)| at(**i) == at(id)).ok_or(Errno::EINVAL)?;
                return Ok(Answer::Status(id, set.clone()));
            }
            _ => {}
        }
        let pid = self.pid;
        let set = self.sets.get_mut(&id).ok_or(Errno::EINVAL)?;
        let sem = usize::try_from(semnum).ok().and_then(|n| set.sems.get_mut(n)).ok_or(Errno::EINVAL);
        match command {
            Command::Ask(flag::GETVAL) => return Ok(Answer::Number(Ok(sem?.0))),
            Command::Ask(flag::GETPID) => return Ok(Answer::Number(Ok(sem?.1))),
            Command::Ask(flag::GETNCNT | flag::GETZCNT) => return sem.map(|_| Answer::Number(Ok(0))),
            Command::Ask(_) => return Err(Errno::EINVAL),
            Command::SetVal(value) => {
                *sem? = (value, pid);
                if self.flaw != Flaw::AdjustmentsOutliveSetval {
                    set.owed.0[semnum as usize] = 0;
                }
            }
            Command::GetAll => return Ok(Answer::Values(set.sems.iter().map(|sem| sem.0).collect())),
            Command::SetAll(first) => {
                let values: Vec<i32> = Command::values(first, set.sems.len()).map(i32::from).collect();
                if values.iter().any(|value| *value > SEMVMX) {
                    return Err(Errno::ERANGE);
                }
                set.sems = values.into_iter().map(|value| (value, pid)).collect();
                set.owed.0.fill(0);
            }
            Command::Stat => return Ok(Answer::Status(0, set.clone())),
            Command::SetMode(extra) => set.mode = 0o600 | extra,
            Command::BadAddress(_) => return Err(Errno::EFAULT),
            Command::Remove if self.flaw == Flaw::KeysOutliveSets && set.key != 0 => {}
            Command::Remove => drop(self.sets.remove(&id)),
            Command::StatIndex => unreachable!("answered above"),
        }
        Ok(Answer::Number(Ok(0)))
    }
}

/// One operation; earlier ones of the same call have been performed on `sems` and `owed`.
fn perform((sems, owed): &mut (Vec<(i32, i32)>, Owed), op: &Sembuf, pid: i32, flaw: Flaw) -> Outcome<()> {
    let (value, last) = &mut sems[op.sem_num as usize];
    let result = *value + i32::from(op.sem_op);
    if flaw == Flaw::RangeFirst && i32::from(op.sem_op) > 32_000 {
        return Err(Errno::ERANGE);
    }
    if result < 0 || (op.sem_op == 0 && *value != 0) {
        // No timeout is longer than zero.
        return Err(Errno::EAGAIN);
    }
    if result > SEMVMX {
        return Err(Errno::ERANGE);
    }
    if i32::from(op.sem_flg) & flag::SEM_UNDO != 0 || flaw == Flaw::UndoesEverything {
        let owed = &mut owed.0[op.sem_num as usize];
        *owed -= i32::from(op.sem_op);
        if !(-SEMAEM - 1..=SEMAEM).contains(owed) {
            return Err(Errno::ERANGE);
        }
    }
    *value = result;
    if op.sem_op != 0 || flaw != Flaw::ZeroLeavesNoPid {
        *last = pid;
    }
    Ok(())
}

impl Command {
    /// The values that [`Command::SetAll`] means.
    pub fn values(first: u16, nsems: usize) -> impl Iterator<Item = u16> {
        (0..nsems as u16).map(move |n| first.saturating_add(n))
    }
}
