//! The kind of a lock, from the flags of `lock:contention_begin`: include/trace/events/lock.h.

/// LCB_F_SPIN: the waiter spins.
pub const SPIN: u32 = 1 << 0;
/// LCB_F_READ: it waits to read.
pub const READ: u32 = 1 << 1;
/// LCB_F_WRITE: it waits to write.
pub const WRITE: u32 = 1 << 2;
/// LCB_F_RT: an rt_mutex, or a lock that is one on a PREEMPT_RT kernel.
pub const RT: u32 = 1 << 3;
/// LCB_F_PERCPU: a percpu_rw_semaphore.
pub const PERCPU: u32 = 1 << 4;
/// LCB_F_MUTEX: a mutex.
pub const MUTEX: u32 = 1 << 5;

/// The flags of a beginning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LockFlags(pub u32);

impl LockFlags {
    /// Whether the waiter spins.
    pub fn spins(self) -> bool {
        self.0 & SPIN != 0
    }

    /// Whether the lock is a mutex, which is waited for in both ways.
    pub fn is_mutex(self) -> bool {
        self.0 & MUTEX != 0
    }

    /// The kind of lock and of its use, in perf's words.
    pub fn kind(self) -> &'static str {
        let of = |bits: u32| self.0 & bits == bits;
        if of(MUTEX) {
            return "mutex";
        }
        match (of(PERCPU), of(RT), of(SPIN), of(READ), of(WRITE)) {
            (true, _, _, true, _) => "pcpu-sem:R",
            (true, _, _, _, true) => "pcpu-sem:W",
            (true, ..) => "pcpu-sem",
            (_, true, true, true, _) | (_, true, _, true, _) => "rwlock-rt:R",
            (_, true, _, _, true) => "rwlock-rt:W",
            (_, true, true, ..) => "spinlock-rt",
            (_, true, ..) => "rt-mutex",
            (_, _, true, true, _) => "rwlock:R",
            (_, _, true, _, true) => "rwlock:W",
            (_, _, true, ..) => "spinlock",
            (_, _, _, true, _) => "rwsem:R",
            (_, _, _, _, true) => "rwsem:W",
            _ => "semaphore",
        }
    }

    /// The kind of lock, without the use.
    pub fn lock_kind(self) -> &'static str {
        self.kind().split(':').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_kernel() {
        let cases = [
            (SPIN, "spinlock"),
            (SPIN | READ, "rwlock:R"),
            (SPIN | WRITE, "rwlock:W"),
            (READ, "rwsem:R"),
            (WRITE, "rwsem:W"),
            (RT, "rt-mutex"),
            (RT | READ, "rwlock-rt:R"),
            (PERCPU | READ, "pcpu-sem:R"),
            (PERCPU | WRITE, "pcpu-sem:W"),
            (MUTEX, "mutex"),
            (MUTEX | SPIN, "mutex"),
            (0, "semaphore"),
        ];
        for (flags, kind) in cases {
            assert_eq!(LockFlags(flags).kind(), kind);
        }
        assert_eq!(LockFlags(WRITE).lock_kind(), "rwsem");
        assert!(LockFlags(MUTEX | SPIN).spins() && !LockFlags(MUTEX).spins());
    }
}
