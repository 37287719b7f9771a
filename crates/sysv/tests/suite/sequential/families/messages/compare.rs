//! A program, performed by an engine and by the model.

use super::model::{Answer, Flaw, Model, Queue};
use super::program::{Call, Command, Memory};
use crate::families::names::Name;
use crate::families::{self, BAD_ADDRESS};
use unspin_sys::Errno;
use unspin_sys::ipc::{MsqidDs, flag};
use unspin_sysv::Engine;

/// See [`families::Family::compare`].
pub fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
    let mut model = Model::new(flaw);
    let mut stray = vec![];
    let result = calls.iter().zip(0u8..).try_for_each(|(call, number)| {
        step(engine, first_key, &mut model, (number, call), &mut stray)
            .map_err(|difference| format!("call {number} of {calls:#?}\n{difference}"))
    });
    for id in model.ids().chain(stray) {
        let _ = control(engine, id, flag::IPC_RMID, 0);
    }
    result
}

fn step(
    engine: &Engine,
    first_key: i32,
    model: &mut Model,
    (number, call): (u8, &Call),
    stray: &mut Vec<i32>,
) -> Result<(), String> {
    let id = |name: Name| model.id(name);
    let got = match *call {
        Call::Get { key, flags } => {
            let key = families::key(first_key, key);
            Answer::Number(engine.msgget(key, flags).map(i64::from))
        }
        Call::Send { queue, kind, size, memory } => {
            Answer::Number(send(engine, id(queue), (kind, size, number), memory).map(i64::from))
        }
        Call::Receive { queue, kind, room, flags, memory } => {
            receive(engine, id(queue), kind, room, flags, memory)?
        }
        Call::Control { queue, command } => perform(engine, id(queue), command),
    };
    match (got, model.call(number, call)) {
        (Answer::Number(Ok(id)), Answer::New(queue)) => match model.name(id as i32, queue) {
            true => Ok(()),
            false => Err(format!("id {id} is not new")),
        },
        (got, meant) => {
            if let (Call::Get { .. }, Answer::Number(Ok(id))) = (call, &got) {
                stray.push(*id as i32);
            }
            match got == shown(meant.clone()) || both_empty(&got, &meant) {
                true => Ok(()),
                false => Err(format!("engine: {got:?}\nmodel:  {meant:?}")),
            }
        }
    }
}

/// An empty text does not identify the call that sent it.
fn both_empty(got: &Answer, meant: &Answer) -> bool {
    matches!((got, meant), (Answer::Message(a, 0, _), Answer::Message(b, 0, _)) if a == b)
}

/// What a status shows of the messages: how many, and how long in all.
fn shown(meant: Answer) -> Answer {
    match meant {
        Answer::Status(answer, queue) => {
            let (count, bytes) = (queue.messages.len(), queue.bytes());
            Answer::Status(answer, Queue { messages: vec![(0, bytes as usize, count as u8)], ..queue })
        }
        other => other,
    }
}

/// The text of a message: it begins with the number of the call that sent it.
fn text(number: u8, size: usize) -> impl Iterator<Item = u8> {
    (0..size).map(move |i| number.wrapping_add((i * 3) as u8))
}

fn send(
    engine: &Engine,
    id: i32,
    (kind, size, number): (i64, usize, u8),
    memory: Memory,
) -> Result<i32, Errno> {
    let mut message = kind.to_ne_bytes().to_vec();
    message.extend(text(number, size.min(10_000)));
    let at = if memory == Memory::Good { message.as_ptr() as usize } else { BAD_ADDRESS };
    // SAFETY: bad, or a live message of that size, or of a size that is refused.
    unsafe { engine.msgsnd(id, at, size, flag::IPC_NOWAIT) }
}

fn receive(
    engine: &Engine,
    id: i32,
    kind: i64,
    room: usize,
    flags: i32,
    memory: Memory,
) -> Result<Answer, String> {
    let mut message = vec![0xA5u8; 8 + 10_000];
    let at = if memory == Memory::Good { message.as_mut_ptr() as usize } else { BAD_ADDRESS };
    // SAFETY: bad, or live, with room for every message that there may be.
    match unsafe { engine.msgrcv(id, at, room, kind, flags | flag::IPC_NOWAIT) } {
        Err(errno) => Ok(Answer::Number(Err(errno))),
        Ok(length) => {
            let (kind, got) = message.split_at(8);
            let kind = i64::from_ne_bytes(kind.try_into().expect("eight bytes"));
            let number = got[0];
            if length > 0 && !got[..length].iter().copied().eq(text(number, length)) {
                return Err(format!("a text of {length} bytes that nobody sent"));
            }
            if got[length..].iter().any(|&byte| byte != 0xA5) {
                return Err(format!("something was written behind {length} bytes"));
            }
            Ok(Answer::Message(kind, length, number))
        }
    }
}

fn control(engine: &Engine, id: i32, command: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: callers pass no address, a bad one, or one with room for what the command writes.
    unsafe { engine.msgctl(id, command, arg) }
}

fn perform(engine: &Engine, id: i32, command: Command) -> Answer {
    let simple = |command, arg| Answer::Number(control(engine, id, command, arg).map(i64::from));
    match command {
        Command::Stat => status(engine, id, flag::IPC_STAT),
        Command::StatIndex => status(engine, if id < 0 { id } else { id & 0x7FFF }, flag::MSG_STAT),
        Command::Set(extra, most) => {
            let mut new = MsqidDs::default();
            let _ = control(engine, id, flag::IPC_STAT, new.as_bytes_mut().as_mut_ptr() as usize);
            new.msg_perm.mode = 0o600 | extra;
            new.msg_qbytes = most;
            simple(flag::IPC_SET, new.as_bytes().as_ptr() as usize)
        }
        Command::BadAddress(command) => simple(command, BAD_ADDRESS),
        Command::Unknown(command) => simple(command, BAD_ADDRESS),
        Command::Remove => simple(flag::IPC_RMID, 0),
    }
}

fn status(engine: &Engine, id: i32, command: i32) -> Answer {
    let mut status = MsqidDs::default();
    match control(engine, id, command, status.as_bytes_mut().as_mut_ptr() as usize) {
        Ok(answer) => {
            let by = |time: i64, pid| (time != 0).then_some(pid);
            let queue = Queue {
                // Keys are small numbers above a base whose low byte is zero; a private queue's is zero.
                key: status.msg_perm.key as u8,
                mode: status.msg_perm.mode,
                most: status.msg_qbytes,
                messages: vec![(0, status.msg_cbytes as usize, status.msg_qnum as u8)],
                sent: by(status.msg_stime, status.msg_lspid),
                received: by(status.msg_rtime, status.msg_lrpid),
            };
            Answer::Status(i64::from(answer), queue)
        }
        Err(errno) => Answer::Number(Err(errno)),
    }
}
