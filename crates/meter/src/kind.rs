//! What a row of the table is about.

use serde::{Deserialize, Serialize};

/// The kind of a lock, or of another thing that threads wait for. The discriminants are the top bytes of
/// [`Key::lock`](crate::Key::lock) and part of the recording's format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Kind {
    /// A lock of unspin's own System V engine.
    Engine = 0x01,
    /// `pthread_mutex_t`, `mtx_t`, `std::mutex`.
    Mutex = 0x10,
    /// A mutex taken again at the end of a wait for a condition.
    Reacquired = 0x11,
    /// `pthread_rwlock_t`, for reading.
    Read = 0x12,
    /// `pthread_rwlock_t`, for writing.
    Write = 0x13,
    /// `pthread_spinlock_t`.
    Spin = 0x14,
    /// A wait for a condition, `pthread_cond_t`.
    Condition = 0x20,
    /// A wait for the others, `pthread_barrier_t`.
    Barrier = 0x21,
    /// `sem_t`: taken by `sem_wait`, given by anybody.
    Semaphore = 0x22,
    /// Not a use, but where and when the object at an address was initialised: it serves to name it.
    Init = 0x30,
}

/// Which part of the report a kind belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Held by one thread or by readers together: waiting for it is time lost.
    Lock,
    /// Waited for by design: an idle worker loses nothing.
    Wait,
    /// Neither.
    Init,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 10] = [
        Kind::Engine,
        Kind::Mutex,
        Kind::Reacquired,
        Kind::Read,
        Kind::Write,
        Kind::Spin,
        Kind::Condition,
        Kind::Barrier,
        Kind::Semaphore,
        Kind::Init,
    ];

    /// The kind with this discriminant.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|&kind| kind as u8 == byte)
    }

    /// The part of the report that it belongs to.
    pub fn class(self) -> Class {
        match self {
            Kind::Engine | Kind::Mutex | Kind::Reacquired | Kind::Read | Kind::Write | Kind::Spin => {
                Class::Lock
            }
            Kind::Condition | Kind::Barrier | Kind::Semaphore => Class::Wait,
            Kind::Init => Class::Init,
        }
    }
}
