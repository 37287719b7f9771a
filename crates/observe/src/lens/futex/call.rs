//! The futex system calls: what their numbers mean.

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Waits at the address.
    Wait,
    /// Waits for one of several futexes (futex_waitv).
    WaitForSeveral,
    /// Wakes threads that wait at the address, or moves them to another one.
    Wake,
    /// Gives a lock with priority inheritance to the waiter of the highest priority and wakes it, if a thread waits
    /// (FUTEX_UNLOCK_PI). It returns no number of threads.
    Unlock,
    /// Wakes threads that wait at the first futex of a list, or moves them to the second (futex_requeue).
    WakeSeveral,
    /// Neither.
    Other,
}

/// The futexes that the address names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Those of the process.
    Private,
    /// Those of all processes that share the memory.
    Shared,
}

/// FUTEX_PRIVATE_FLAG, and FUTEX2_PRIVATE, which is the same bit.
const PRIVATE: u32 = 128;
/// The operation without its flags (FUTEX_CMD_MASK without FUTEX_CLOCK_REALTIME).
const OPERATION: u32 = 0x7F;

impl Scope {
    /// By the flags of a call.
    pub fn of(flags: u32) -> Scope {
        if flags & PRIVATE == 0 { Scope::Shared } else { Scope::Private }
    }
}

/// What an operation of futex(2) does. The numbers are those of
/// linux/futex.h.
pub fn action(operation: u32) -> Action {
    match operation & OPERATION {
        // FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2
        0 | 6 | 9 | 11 | 13 => Action::Wait,
        // FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_WAKE_BITSET, FUTEX_CMP_REQUEUE_PI
        1 | 3 | 4 | 5 | 10 | 12 => Action::Wake,
        // FUTEX_UNLOCK_PI
        7 => Action::Unlock,
        _ => Action::Other,
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    /// A waker woke the thread, or the lock of FUTEX_LOCK_PI was acquired.
    Woken,
    /// The word had another value already: the thread did not sleep (EAGAIN).
    ValueChanged,
    /// A signal ended the wait (EINTR).
    Interrupted,
    /// The time was over (ETIMEDOUT).
    TimedOut,
    /// Another error.
    Failed,
}

impl CallEnd {
    /// By what the call returned.
    pub fn of(returned: i64) -> CallEnd {
        match -returned {
            // EAGAIN
            11 => CallEnd::ValueChanged,
            // EINTR; and within the kernel ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK
            4 | 512 | 513 | 514 | 516 => CallEnd::Interrupted,
            // ETIMEDOUT
            110 => CallEnd::TimedOut,
            error if error > 0 => CallEnd::Failed,
            _ => CallEnd::Woken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_results_are_decoded() {
        let wait_bitset_private_realtime = 9 | 128 | 256;
        assert_eq!(action(wait_bitset_private_realtime), Action::Wait);
        assert_eq!(Scope::of(wait_bitset_private_realtime), Scope::Private);
        assert_eq!((action(1), Scope::of(1)), (Action::Wake, Scope::Shared));
        assert_eq!(action(7 | 128), Action::Unlock);
        assert_eq!(action(8), Action::Other, "FUTEX_TRYLOCK_PI does not wait");
        assert_eq!(CallEnd::of(0), CallEnd::Woken);
        assert_eq!(CallEnd::of(-11), CallEnd::ValueChanged);
        assert_eq!(CallEnd::of(-516), CallEnd::Interrupted);
        assert_eq!(CallEnd::of(-110), CallEnd::TimedOut);
        assert_eq!(CallEnd::of(-14), CallEnd::Failed);
    }
}
