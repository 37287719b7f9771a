//! A program, performed by an engine and by the model.

use super::model::{Answer, Flaw, Model, Owed, Set};
use super::program::{Call, Command, Patience, Vector};
use crate::families::{self, BAD_ADDRESS};
use unspin_sys::Errno;
use unspin_sys::ipc::{SemidDs, flag};
use unspin_sysv::Engine;

/// See [`families::Family::compare`].
pub fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
    let (result, model, stray) = perform_all(engine, first_key, calls, flaw);
    remove(engine, model.ids().chain(stray));
    result
}

/// Performs `calls` with both. What came of it, the model, and sets that the model does not know.
pub fn perform_all(
    engine: &Engine,
    first_key: i32,
    calls: &[Call],
    flaw: Flaw,
) -> (Result<(), String>, Model, Vec<i32>) {
    let mut model = Model::new(flaw);
    let mut stray = vec![];
    let result = calls.iter().enumerate().try_for_each(|(i, call)| {
        step(engine, first_key, &mut model, call, &mut stray)
            .map_err(|difference| format!("call {i} of {calls:#?}\n{difference}"))
    });
    (result, model, stray)
}

/// Removes sets.
pub fn remove(engine: &Engine, ids: impl Iterator<Item = i32>) {
    for id in ids {
        let _ = control(engine, id, 0, flag::IPC_RMID, 0);
    }
}

/// The values of a set of up to 64 semaphores.
pub fn values(engine: &Engine, id: i32) -> Vec<i32> {
    (0..size(engine, id) as i32).map(|n| control(engine, id, n, flag::GETVAL, 0).unwrap_or(-1)).collect()
}

fn step(
    engine: &Engine,
    first_key: i32,
    model: &mut Model,
    call: &Call,
    stray: &mut Vec<i32>,
) -> Result<(), String> {
    let meant = model.call(call);
    let same = match call {
        Call::Get { key, nsems, flags } => {
            let key = families::key(first_key, *key);
            match (engine.semget(key, *nsems, *flags), meant) {
                (Ok(id), Answer::New(set)) => check(model.name(id, set), || format!("id {id} is not new")),
                (got, meant) => {
                    stray.extend(got.ok());
                    same(Answer::Number(got), meant)
                }
            }
        }
        Call::Operate { set, ops, patience, vector } => {
            let nsops = if *vector == Vector::TooMany { 1 << 20 } else { ops.len() };
            let ops = if *vector == Vector::BadAddress { BAD_ADDRESS } else { ops.as_ptr() as usize };
            let got = operate(engine, model.id(*set), ops, nsops, *patience);
            same(Answer::Number(got), meant)
        }
        Call::Control { set, semnum, command } => {
            let id = model.id(*set);
            same(perform(engine, id, *semnum, *command), meant)
        }
    };
    same?;
    let touched = match call {
        Call::Operate { set, .. } | Call::Control { set, .. } => model.id(*set),
        Call::Get { .. } => return Ok(()),
    };
    model.set(touched).map_or(Ok(()), |set| check_values(engine, touched, set))
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn same(got: Answer, meant: Answer) -> Result<(), String> {
    check(got == meant, || format!("engine: {got:?}\nmodel:  {meant:?}"))
}

fn check_values(engine: &Engine, id: i32, set: &Set) -> Result<(), String> {
    let ask = |n: usize, command| control(engine, id, n as i32, command, 0).unwrap_or(-1);
    let got: Vec<_> = (0..set.sems.len()).map(|n| (ask(n, flag::GETVAL), ask(n, flag::GETPID))).collect();
    check(got == set.sems, || format!("afterwards, values and pids\nengine: {got:?}\nmodel:  {:?}", set.sems))
}

fn operate(engine: &Engine, id: i32, ops: usize, nsops: usize, patience: Patience) -> Result<i32, Errno> {
    let (zero, invalid) = ([0i64; 2], [0i64, 1_000_000_000]);
    let timeout = match patience {
        // SAFETY: `ops` is bad, or names `nsops` operations that no thread writes, or `nsops` is too large for them to
        // be read.
        Patience::NoWait => return unsafe { engine.semop(id, ops, nsops) },
        Patience::Zero => zero.as_ptr() as usize,
        Patience::Invalid => invalid.as_ptr() as usize,
        Patience::BadAddress => BAD_ADDRESS,
    };
    // SAFETY: as above; the timeout is bad, or a pair of integers as `struct timespec` is.
    unsafe { engine.semtimedop(id, ops, nsops, timeout) }
}

fn control(engine: &Engine, id: i32, semnum: i32, command: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: callers pass no address, a bad one, or one with room for what the command writes.
    unsafe { engine.semctl(id, semnum, command, arg) }
}

fn perform(engine: &Engine, id: i32, semnum: i32, command: Command) -> Answer {
    let simple = |command, arg| Answer::Number(control(engine, id, semnum, command, arg));
    match command {
        Command::Ask(command) => simple(command, 0),
        Command::SetVal(value) => simple(flag::SETVAL, value as u32 as usize),
        Command::Remove => simple(flag::IPC_RMID, 0),
        Command::BadAddress(command) => simple(command, BAD_ADDRESS),
        Command::GetAll => {
            let mut values = [0u16; 64];
            match control(engine, id, semnum, flag::GETALL, values.as_mut_ptr() as usize) {
                Ok(0) => Answer::Values(values[..size(engine, id)].iter().map(|&v| i32::from(v)).collect()),
                other => Answer::Number(other),
            }
        }
        Command::SetAll(first) => {
            let values: Vec<u16> = Command::values(first, 64).collect();
            simple(flag::SETALL, values.as_ptr() as usize)
        }
        Command::Stat => status(engine, id, flag::IPC_STAT),
        Command::StatIndex => status(engine, if id < 0 { id } else { id & 0x7FFF }, flag::SEM_STAT),
        Command::SetMode(extra) => {
            let mut new = SemidDs::default();
            let _ = control(engine, id, 0, flag::IPC_STAT, new.as_bytes_mut().as_mut_ptr() as usize);
            new.sem_perm.mode = 0o600 | extra;
            simple(flag::IPC_SET, new.as_bytes().as_ptr() as usize)
        }
    }
}

fn size(engine: &Engine, id: i32) -> usize {
    let mut status = SemidDs::default();
    let _ = control(engine, id, 0, flag::IPC_STAT, status.as_bytes_mut().as_mut_ptr() as usize);
    status.sem_nsems as usize
}

/// Key, values and pids of the set are not part of a status as this answers it: the model's take their place.
fn status(engine: &Engine, id: i32, command: i32) -> Answer {
    let mut status = SemidDs::default();
    match control(engine, id, 0, command, status.as_bytes_mut().as_mut_ptr() as usize) {
        Ok(answer) => {
            let id = if command == flag::SEM_STAT { answer } else { id };
            let ask = |n, command| control(engine, id, n, command, 0).unwrap_or(-1);
            let sems =
                (0..status.sem_nsems as i32).map(|n| (ask(n, flag::GETVAL), ask(n, flag::GETPID))).collect();
            // Keys are small numbers above a base whose low byte is zero; a private set's is zero.
            let key = status.sem_perm.key as u8;
            Answer::Status(
                answer,
                Set {
                    key,
                    mode: status.sem_perm.mode,
                    sems,
                    owed: Owed::default(),
                    operated: status.sem_otime != 0,
                },
            )
        }
        Err(errno) => Answer::Number(Err(errno)),
    }
}
