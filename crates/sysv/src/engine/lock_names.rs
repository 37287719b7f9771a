//! The names of the engine's locks and callers in the meter's table.

use crate::class::Class;
use unspin_wire::Key;

/// The call for which a lock was taken: the caller in the meter's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Call {
    Semop = 1,
    Wait,
    Semget,
    Get,
    GetAll,
    SetVal,
    SetAll,
    Count,
    Stat,
    IpcSet,
    Rmid,
    Recover,
    Shmget,
    Shmctl,
    Msgsnd,
    Msgrcv,
    Msgget,
    MsgStat,
    MsgSet,
    MsgRmid,
    Mailbox,
}

/// A lock of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockName {
    /// The lock for adding and removing objects.
    Registry,
    /// The one lock of all ids (engine `global`).
    Global,
    /// The lock of an object (engine `rcu`).
    Id(Class, i32),
    /// No lock: the check whether a grace period is over.
    GracePeriod,
}

/// Identifies the engine's keys: the top byte of the lock's number.
const SPACE: u64 = 0x01;

pub(crate) fn key(lock: LockName, call: Call) -> Key {
    let (class, object) = match lock {
        LockName::Registry => (1, 0),
        LockName::Global => (2, 0),
        LockName::Id(Class::Sem, id) => (3, id as u32),
        LockName::Id(Class::Msg, id) => (5, id as u32),
        LockName::Id(Class::Shm, id) => (6, id as u32),
        LockName::GracePeriod => (4, 0),
    };
    Key { lock: SPACE << 56 | class << 48 | object as u64, caller: call as u64 }
}

/// Names of the lock and the caller, for keys of this engine.
///
/// The locks of all sets have one name, as Hartner 2001 folds the run queues' locks into one row: a table with a
/// thousand rows is less useful than their sum.
pub fn describe(key: &Key) -> Option<(String, String)> {
    if key.lock >> 56 != SPACE {
        return None;
    }
    let lock = match key.lock >> 48 & 0xFF {
        1 => "sysv registry lock",
        2 => "sysv global lock",
        3 => "sysv id locks",
        4 => "rcu grace periods",
        5 => "sysv queue locks",
        6 => "sysv segment locks",
        _ => return None,
    };
    let callers = [
        "semop",
        "wait (withdrawn)",
        "semget",
        "semctl GETVAL",
        "semctl GETALL",
        "semctl SETVAL",
        "semctl SETALL",
        "semctl GETNCNT",
        "semctl STAT",
        "semctl IPC_SET",
        "semctl IPC_RMID",
        "recovery after deaths",
        "shmget",
        "shmctl",
        "msgsnd",
        "msgrcv",
        "msgget",
        "msgctl STAT",
        "msgctl IPC_SET",
        "msgctl IPC_RMID",
        "msgsnd, msgrcv (mailbox)",
    ];
    let caller = *callers.get(key.caller.checked_sub(1)? as usize)?;
    Some((lock.into(), caller.into()))
}

/// The id of the semaphore set of a key, if it is a set's lock.
pub fn set_of(key: &Key) -> Option<i32> {
    (key.lock >> 48 == SPACE << 8 | 3).then_some(key.lock as u32 as i32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_distinct_name() {
        assert_eq!(describe(&key(LockName::Global, Call::Semop)).unwrap().1, "semop");
        assert_eq!(
            describe(&key(LockName::Id(Class::Sem, 7), Call::Recover)).unwrap().1,
            "recovery after deaths"
        );
        assert_eq!(
            describe(&key(LockName::Id(Class::Msg, 7), Call::Mailbox)),
            Some(("sysv queue locks".into(), "msgsnd, msgrcv (mailbox)".into()))
        );
        assert_eq!(set_of(&key(LockName::Id(Class::Msg, 7), Call::Msgsnd)), None);
        assert_eq!(set_of(&key(LockName::Id(Class::Sem, 98_304), Call::Semget)), Some(98_304));
        assert_eq!(set_of(&key(LockName::Registry, Call::Semget)), None);
        assert_eq!(describe(&Key { lock: 5, caller: 1 }), None);
    }
}
