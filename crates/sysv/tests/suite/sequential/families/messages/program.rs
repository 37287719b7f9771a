//! Programs of one process: sequences of calls for message queues, read from any bytes.

use crate::families::bytes::Bytes;
use crate::families::names::Name;
use unspin_sys::ipc::flag;

/// One call. None of them blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// msgget(2). Key 0 is `IPC_PRIVATE`.
    Get { key: u8, flags: i32 },
    /// msgsnd(2) with `IPC_NOWAIT`.
    Send { queue: Name, kind: i64, size: usize, memory: Memory },
    /// msgrcv(2) with `IPC_NOWAIT` and more flags.
    Receive { queue: Name, kind: i64, room: usize, flags: i32, memory: Memory },
    /// msgctl(2).
    Control { queue: Name, command: Command },
}

/// Where a message lies, or goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Where there is room.
    Good,
    /// At a bad address.
    Bad,
}

/// A command of msgctl(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// `IPC_STAT`
    Stat,
    /// `MSG_STAT` with the index of the queue that is named
    StatIndex,
    /// `IPC_SET` with mode `0o600 | extra` and so many bytes
    Set(u32, u64),
    /// `IPC_STAT` or `IPC_SET` with a bad address
    BadAddress(i32),
    /// A number that is no command
    Unknown(i32),
    /// `IPC_RMID`
    Remove,
}

/// Calls of a program at most.
pub const LONGEST: usize = 96;

/// Reads a call from the next bytes.
pub fn call(bytes: &mut Bytes<'_>) -> Call {
    match bytes.below(16) {
        0 | 1 => {
            let flags = bytes.pick(&[flag::IPC_CREAT, flag::IPC_CREAT, 0, flag::IPC_CREAT | flag::IPC_EXCL]);
            Call::Get { key: bytes.below(4), flags: flags | 0o600 }
        }
        2..=7 => Call::Send {
            queue: bytes.name(),
            kind: bytes.pick(&[1, 2, 3, 1, 2, 3, 7, i64::MAX, 0, -1, i64::MIN]),
            size: size(bytes),
            memory: memory(bytes),
        },
        8..=12 => Call::Receive {
            queue: bytes.name(),
            kind: bytes.pick(&[0, 0, 1, 2, 3, -1, -2, -3, 7, i64::MAX, i64::MIN]),
            room: match bytes.next() {
                255 => usize::MAX,
                254 => i64::MAX as usize,
                n if n % 4 == 0 => size(bytes),
                _ => 9_000,
            },
            flags: bytes.pick(&[
                0,
                0,
                flag::MSG_NOERROR,
                flag::MSG_EXCEPT,
                flag::MSG_COPY,
                flag::MSG_COPY | flag::MSG_NOERROR,
                flag::MSG_COPY | flag::MSG_EXCEPT,
            ]),
            memory: memory(bytes),
        },
        _ => Call::Control { queue: bytes.name(), command: command(bytes) },
    }
}

fn size(bytes: &mut Bytes<'_>) -> usize {
    match bytes.next() {
        255 => 8_193,
        254 => usize::MAX,
        253 => 8_192,
        252 => 4_100,
        // A queue takes as many empty messages as it takes bytes.
        n if n % 8 == 0 => 0,
        n => usize::from(n),
    }
}

fn memory(bytes: &mut Bytes<'_>) -> Memory {
    if bytes.next().is_multiple_of(16) { Memory::Bad } else { Memory::Good }
}

fn command(bytes: &mut Bytes<'_>) -> Command {
    match bytes.below(12) {
        0..=2 => Command::Stat,
        3 => Command::StatIndex,
        4..=6 => Command::Set(
            u32::from(bytes.next() % 64),
            bytes.pick(&[0, 1, 2, 5, 100, 300, 9_000, 16_384, 16_384]),
        ),
        7 => Command::BadAddress(bytes.pick(&[flag::IPC_STAT, flag::IPC_SET])),
        8 => Command::Unknown(bytes.pick(&[99, -1, 14])),
        _ => Command::Remove,
    }
}
