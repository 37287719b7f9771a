//! In what the engines differ that keep their objects in an arena. [`Kind`](crate::Kind) has the rules of each.

/// The rules of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    /// The lock under which an object changes.
    pub object_lock: ObjectLock,
    /// How a call finds an object that exists.
    pub lookup: Lookup,
    /// How a call on one semaphore is performed, if no thread waits for it.
    pub single_op: SingleOp,
}

/// The lock under which an object changes: see `Inner::lock_of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectLock {
    /// One lock for all objects, for which threads spin.
    OneForAll,
    /// A lock in each object, for which threads sleep.
    Own,
}

/// How a call finds an object that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    /// By its key under the registry lock, by its id under the lock of all objects if there is one.
    Locked,
    /// By both in a read-side section, without a lock. Each thread caches the sets that it used last.
    Rcu,
}

/// How a call on one semaphore is performed, if no thread waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SingleOp {
    /// Under the set's lock.
    Locked,
    /// By one compare-and-swap, or one load, without a lock. An operation with `SEM_UNDO` takes the set's own lock.
    CompareAndSwap,
}

impl Rules {
    /// Whether the engine's paths agree on the lock that protects an object.
    pub const fn agree(self) -> bool {
        matches!((self.single_op, self.object_lock), (SingleOp::Locked, _) | (_, ObjectLock::Own))
    }
}
