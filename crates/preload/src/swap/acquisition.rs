//! The result of an acquisition of a mutex or a read-write lock.

use core::ffi::c_int;
use unspin_locks::Waited;

/// The result of an acquisition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acquisition {
    /// 0, or an error number.
    pub code: c_int,
    /// How the thread waited, if that is known: libc does not tell.
    pub waited: Option<Waited>,
}

impl Acquisition {
    /// libc's return value.
    #[inline(always)]
    pub fn by_libc(code: c_int) -> Acquisition {
        Acquisition { code, waited: None }
    }

    /// The thread has acquired the lock.
    pub fn success(waited: Waited) -> Acquisition {
        Acquisition { code: 0, waited: Some(waited) }
    }

    /// A return value of ours, of which nothing else is known.
    pub fn with_code(code: c_int) -> Acquisition {
        Acquisition { code, waited: None }
    }
}

/// The result of one attempt to acquire a mutex that libc serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tried {
    /// The thread has acquired the mutex.
    Acquired,
    /// Another thread holds the mutex.
    Taken,
    /// Not tried, or undecided: only a call that may block can tell.
    Untried,
}

/// How a mutex was released at the beginning of a wait for a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// 0, or the error number of a mutex that was not released.
    pub code: c_int,
    /// Whether libc serves the mutex, and the thread counts as one of its users during the wait.
    pub is_user_of_libcs: bool,
}
