//! Programs of one process: sequences of semaphore calls, read from any bytes.

use crate::families::bytes::Bytes;
use crate::families::names::Name;
use unspin_sys::ipc::{Sembuf, flag};

/// One call. None of them blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// semget(2). Key 0 is `IPC_PRIVATE`.
    Get { key: u8, nsems: i32, flags: i32 },
    /// semop(2) or semtimedop(2).
    Operate { set: Name, ops: Vec<Sembuf>, patience: Patience, vector: Vector },
    /// semctl(2).
    Control { set: Name, semnum: i32, command: Command },
}

/// Why a call returns at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Every operation has `IPC_NOWAIT`.
    NoWait,
    /// The timeout is zero.
    Zero,
    /// The timeout is no time: `EINVAL`.
    Invalid,
    /// The timeout's address is bad: `EFAULT`.
    BadAddress,
}

/// The operations that the call is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vector {
    /// Where they are and how many.
    Given,
    /// A bad address.
    BadAddress,
    /// More than any limit.
    TooMany,
}

/// A command of semctl(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// `GETVAL`, `GETPID`, `GETNCNT`, `GETZCNT`, or a number that is no command.
    Ask(i32),
    /// `SETVAL`
    SetVal(i32),
    /// `GETALL`
    GetAll,
    /// `SETALL` with the values `first`, `first + 1`, ...
    SetAll(u16),
    /// `IPC_STAT`
    Stat,
    /// `SEM_STAT` with the index of the set that is named
    StatIndex,
    /// `IPC_SET` with mode `0o600 | extra`
    SetMode(u32),
    /// `GETALL`, `SETALL`, `IPC_STAT` and `IPC_SET` with a bad address
    BadAddress(i32),
    /// `IPC_RMID`
    Remove,
}

/// Calls of a program at most.
pub const LONGEST: usize = 64;
/// Operations of a call at most.
const MOST_OPS: u8 = 5;

/// Reads a call from the next bytes.
pub fn call(bytes: &mut Bytes<'_>) -> Call {
    match bytes.below(12) {
        0 | 1 => get(bytes),
        2..=7 => operate(bytes),
        _ => Call::Control { set: bytes.name(), semnum: semnum(bytes), command: command(bytes) },
    }
}

fn get(bytes: &mut Bytes<'_>) -> Call {
    let key = bytes.below(4);
    let nsems = bytes.pick(&[1, 2, 3, 4, 0, -1, i32::MAX]);
    let flags = bytes.pick(&[flag::IPC_CREAT, flag::IPC_CREAT, 0, flag::IPC_CREAT | flag::IPC_EXCL]);
    Call::Get { key, nsems, flags: flags | 0o600 }
}

fn operate(bytes: &mut Bytes<'_>) -> Call {
    let set = bytes.name();
    let patience = match bytes.below(16) {
        0..=7 => Patience::NoWait,
        8..=13 => Patience::Zero,
        14 => Patience::Invalid,
        _ => Patience::BadAddress,
    };
    let vector = match bytes.below(32) {
        0 => Vector::BadAddress,
        1 => Vector::TooMany,
        _ => Vector::Given,
    };
    // One operation in half of the cases: that is the fast path.
    let count = bytes.pick(&[1, 1, 1, 2, 3, 4, MOST_OPS, 0]);
    let ops = (0..count).map(|_| operation(bytes, patience)).collect();
    Call::Operate { set, ops, patience, vector }
}

fn operation(bytes: &mut Bytes<'_>, patience: Patience) -> Sembuf {
    let sem_num = bytes.pick(&[0, 0, 1, 2, 3, 4, u16::MAX]);
    let sem_op = match bytes.next() {
        255 => i16::MAX,
        254 => i16::MIN,
        253 => i16::from_le_bytes([bytes.next(), bytes.next()]),
        n => i16::from(n % 7) - 3,
    };
    let given = bytes.pick(&[0, flag::SEM_UNDO, flag::IPC_NOWAIT, flag::IPC_NOWAIT | flag::SEM_UNDO]);
    let sem_flg = if patience == Patience::NoWait { given | flag::IPC_NOWAIT } else { given };
    Sembuf { sem_num, sem_op, sem_flg: sem_flg as i16 }
}

fn semnum(bytes: &mut Bytes<'_>) -> i32 {
    bytes.pick(&[0, 0, 1, 2, 3, 4, -1, i32::MAX])
}

fn command(bytes: &mut Bytes<'_>) -> Command {
    match bytes.below(12) {
        0 => Command::Ask(bytes.pick(&[flag::GETVAL, flag::GETPID, flag::GETNCNT, flag::GETZCNT, 9, 99, -1])),
        1..=3 => Command::SetVal(match bytes.next() {
            255 => 32_767,
            254 => 32_768,
            253 => -1,
            n => i32::from(n % 5),
        }),
        4 => Command::GetAll,
        5 | 6 => Command::SetAll(bytes.pick(&[0, 1, 7, 32_765, u16::MAX])),
        7 => Command::Stat,
        8 => Command::StatIndex,
        9 => Command::SetMode(u32::from(bytes.below(64))),
        10 => Command::BadAddress(bytes.pick(&[flag::GETALL, flag::SETALL, flag::IPC_STAT, flag::IPC_SET])),
        _ => Command::Remove,
    }
}
