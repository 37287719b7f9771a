//! Programs of one process: sequences of calls for shared memory, read from any bytes.

use crate::families::bytes::Bytes;
use crate::families::names::Name;
use unspin_sys::ipc::flag;

/// One call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// shmget(2). Key 0 is `IPC_PRIVATE`.
    Get { key: u8, size: usize, flags: i32 },
    /// shmat(2).
    Attach { segment: Name, place: Place, flags: i32 },
    /// shmdt(2), at an offset from where the n-th attachment began.
    Detach { attachment: u8, offset: usize },
    /// munmap(2) of one page of the n-th attachment, whatever is there now.
    Unmap { attachment: u8, page: usize },
    /// Puts the number of the call at the beginning of a page of the n-th attachment, if that can be written.
    Write { attachment: u8, page: usize },
    /// shmctl(2).
    Control { segment: Name, command: Command },
}

/// Where a segment is to be attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Where the kernel likes.
    Anywhere,
    /// So many bytes behind the beginning of a bay. Bays lie [`BAY`] bytes apart where nothing else is ever mapped.
    Bay(u8, usize),
}

/// Bytes of a bay. The longest segment takes four pages, and reaches into the next bay when it begins in the last pages
/// of one.
pub const BAY: usize = 4 * 4096;
/// Bays that a program knows.
pub const BAYS: usize = 6;

/// A command of shmctl(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// `IPC_STAT`
    Stat,
    /// `SHM_STAT` of all indices, and what `SHM_INFO` counts
    List,
    /// `IPC_SET` with mode `0o700 | extra`
    Set(u32),
    /// `SHM_LOCK`
    Lock,
    /// `SHM_UNLOCK`
    Unlock,
    /// `IPC_STAT` or `IPC_SET` with a bad address
    BadAddress(i32),
    /// A number that is no command
    Unknown(i32),
    /// `IPC_RMID`
    Remove,
}

/// Calls of a program at most.
pub const LONGEST: usize = 64;

/// Reads a call from the next bytes.
pub fn call(bytes: &mut Bytes<'_>) -> Call {
    match bytes.below(16) {
        0..=2 => Call::Get {
            key: bytes.below(4),
            size: bytes.pick(&[1, 100, 4_096, 4_097, 10_000, 16_384, 16_384, 0, usize::MAX]),
            flags: 0o700
                | bytes.pick(&[flag::IPC_CREAT, flag::IPC_CREAT, 0, flag::IPC_CREAT | flag::IPC_EXCL]),
        },
        3..=6 => Call::Attach {
            segment: bytes.name(),
            place: place(bytes),
            flags: bytes.pick(&[
                0,
                0,
                flag::SHM_REMAP,
                flag::SHM_RND,
                flag::SHM_RND | flag::SHM_REMAP,
                flag::SHM_RDONLY,
                flag::SHM_EXEC,
            ]),
        },
        7 | 8 => {
            Call::Detach { attachment: bytes.next(), offset: bytes.pick(&[0, 0, 0, 0, 4_096, 1, 8_192]) }
        }
        9 | 10 => Call::Unmap { attachment: bytes.next(), page: bytes.below(4).into() },
        11 => Call::Write { attachment: bytes.next(), page: bytes.below(4).into() },
        _ => Call::Control { segment: bytes.name(), command: command(bytes) },
    }
}

fn place(bytes: &mut Bytes<'_>) -> Place {
    match bytes.below(4) {
        0 => Place::Anywhere,
        _ => Place::Bay(bytes.below(BAYS as u8), bytes.pick(&[0, 0, 0, 4_096, 12_288, 1, 4_095])),
    }
}

fn command(bytes: &mut Bytes<'_>) -> Command {
    match bytes.below(12) {
        0..=2 => Command::Stat,
        3 => Command::List,
        4 => Command::Set(bytes.below(64).into()),
        5 => Command::Lock,
        6 => Command::Unlock,
        7 => Command::BadAddress(bytes.pick(&[flag::IPC_STAT, flag::IPC_SET])),
        8 => Command::Unknown(bytes.pick(&[99, -1, 16])),
        _ => Command::Remove,
    }
}
