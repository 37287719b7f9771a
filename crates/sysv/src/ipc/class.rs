//! The three kinds of System V object.

/// Which kind of object: each has its own ids and keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Semaphore sets.
    Sem,
    /// Message queues.
    Msg,
    /// Shared memory segments.
    Shm,
}

impl Class {
    /// All kinds.
    pub const ALL: [Class; 3] = [Class::Sem, Class::Msg, Class::Shm];
}
