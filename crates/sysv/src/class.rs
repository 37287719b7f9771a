//! The three classes of System V object.

/// A class of objects. Each class has its own ids and keys.
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
    /// All classes.
    pub const ALL: [Class; 3] = [Class::Sem, Class::Msg, Class::Shm];
}
