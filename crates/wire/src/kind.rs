//! Kinds of rows: locks, waits, initialisations.

/// The kind of a lock or of another object that threads wait for. The discriminants are the top bytes of
/// [`Key::lock`](crate::Key::lock) and part of the recording's format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// A lock of unspin's own System V engine.
    Engine = 0x01,
    /// `pthread_mutex_t`, `mtx_t`, `std::mutex`.
    Mutex = 0x10,
    /// A mutex reacquired at the end of a wait for a condition.
    Reacquired = 0x11,
    /// `pthread_rwlock_t`, for reading.
    Read = 0x12,
    /// `pthread_rwlock_t`, for writing.
    Write = 0x13,
    /// `pthread_spinlock_t`.
    Spin = 0x14,
    /// A lock of a run queue of the crate `unspin-runqueue`. The address is a number of the queue in its process.
    RunQueue = 0x15,
    /// A wait for a condition, `pthread_cond_t`.
    Condition = 0x20,
    /// A wait for the other threads of a `pthread_barrier_t`.
    Barrier = 0x21,
    /// `sem_t`: decremented by `sem_wait`; any thread may post it.
    Semaphore = 0x22,
    /// A wait for the end of a thread: `pthread_join` and its variants.
    Join = 0x23,
    /// A wait in `poll` or `ppoll`. Descriptors are not distinguished: the call site identifies the wait, and the
    /// address is [`ANY_DESCRIPTOR`].
    Poll = 0x24,
    /// A wait in `select` or `pselect`; as [`RecordKind::Poll`].
    Select = 0x25,
    /// A wait in `epoll_wait` or its variants; as [`RecordKind::Poll`].
    Epoll = 0x26,
    /// A blocking `read`, `recv` or a similar call; as [`RecordKind::Poll`].
    Receive = 0x27,
    /// A blocking `accept` or `accept4`; as [`RecordKind::Poll`].
    Accept = 0x28,
    /// A wait in futex(2) through libc's `syscall()`. Rust's standard library and parking_lot sleep this way. The
    /// address is the futex word's.
    Futex = 0x29,
    /// A sleep of unspin's own System V engine.
    EngineWait = 0x2a,
    /// Not a use. The row records where and when the object at an address was initialised, from which the object is
    /// named.
    Init = 0x30,
    /// Calls of pthread_cond_signal(3). An attempt that slept stands for a call that found a waiting thread.
    Signal = 0x31,
    /// Calls of pthread_cond_broadcast(3); as [`RecordKind::Signal`].
    Broadcast = 0x32,
    /// Waits for a condition that a signal ended; the caller is that of the wait. A rejected attempt stands for a
    /// thread that found nothing to do: it waited again at the same place, and in between it neither unlocked the mutex
    /// nor woke a thread.
    WokenBySignal = 0x33,
    /// Waits for a condition that a broadcast ended; otherwise as [`RecordKind::WokenBySignal`].
    WokenByBroadcast = 0x34,
    /// Long waits for a mutex whose owner had a lower priority than the waiting thread.
    Inverted = 0x35,
    /// Waits for a mutex that is shared between processes.
    Shared = 0x36,
    /// Waits for a robust mutex.
    Robust = 0x37,
    /// Waits for a mutex with PTHREAD_PRIO_INHERIT.
    Inheriting = 0x38,
    /// Waits for a mutex with PTHREAD_PRIO_PROTECT.
    Ceiling = 0x39,
}

/// The address in the key of a wait for descriptors. The call site alone identifies the wait.
pub const ANY_DESCRIPTOR: usize = 1;

/// The part of the report that a kind belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// A lock, held by one thread or by several readers. The time that threads wait for it is lost.
    Lock,
    /// A wait by design, or for an event from elsewhere. An idle thread loses nothing.
    Wait,
    /// An initialisation: neither a lock nor a wait.
    Init,
    /// A fact about an object whose uses are counted in rows of another kind.
    Detail,
}

impl RecordKind {
    /// Every kind.
    pub const ALL: [RecordKind; 28] = [
        RecordKind::Engine,
        RecordKind::Mutex,
        RecordKind::Reacquired,
        RecordKind::Read,
        RecordKind::Write,
        RecordKind::Spin,
        RecordKind::RunQueue,
        RecordKind::Condition,
        RecordKind::Barrier,
        RecordKind::Semaphore,
        RecordKind::Join,
        RecordKind::Poll,
        RecordKind::Select,
        RecordKind::Epoll,
        RecordKind::Receive,
        RecordKind::Accept,
        RecordKind::Futex,
        RecordKind::EngineWait,
        RecordKind::Init,
        RecordKind::Signal,
        RecordKind::Broadcast,
        RecordKind::WokenBySignal,
        RecordKind::WokenByBroadcast,
        RecordKind::Inverted,
        RecordKind::Shared,
        RecordKind::Robust,
        RecordKind::Inheriting,
        RecordKind::Ceiling,
    ];

    /// The kind with this discriminant.
    pub fn from_byte(byte: u8) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|&kind| kind as u8 == byte)
    }

    /// Whether it is a use of a mutex, or a fact about one.
    pub fn is_of_mutex(self) -> bool {
        matches!(
            self,
            RecordKind::Mutex
                | RecordKind::Reacquired
                | RecordKind::Inverted
                | RecordKind::Shared
                | RecordKind::Robust
                | RecordKind::Inheriting
                | RecordKind::Ceiling
        )
    }

    /// The part of the report that the kind belongs to.
    pub fn class(self) -> Class {
        match self {
            RecordKind::Engine
            | RecordKind::Mutex
            | RecordKind::Reacquired
            | RecordKind::Read
            | RecordKind::Write
            | RecordKind::Spin
            | RecordKind::RunQueue => Class::Lock,
            RecordKind::Condition
            | RecordKind::Barrier
            | RecordKind::Semaphore
            | RecordKind::Join
            | RecordKind::Poll
            | RecordKind::Select
            | RecordKind::Epoll
            | RecordKind::Receive
            | RecordKind::Accept
            | RecordKind::Futex
            | RecordKind::EngineWait => Class::Wait,
            RecordKind::Init => Class::Init,
            RecordKind::Signal
            | RecordKind::Broadcast
            | RecordKind::WokenBySignal
            | RecordKind::WokenByBroadcast
            | RecordKind::Inverted
            | RecordKind::Shared
            | RecordKind::Robust
            | RecordKind::Inheriting
            | RecordKind::Ceiling => Class::Detail,
        }
    }

    /// Whether the address in a key is that of an object. If not, the call site alone identifies the wait: no more is
    /// recorded of descriptors and of joined threads.
    pub fn has_object(self) -> bool {
        !matches!(
            self,
            RecordKind::Join
                | RecordKind::Poll
                | RecordKind::Select
                | RecordKind::Epoll
                | RecordKind::Receive
                | RecordKind::Accept
        )
    }

    /// Whether threads wait in it for each other, by design: conditions, barriers, semaphores. Some runtimes build
    /// their locks from these.
    pub fn is_by_design(self) -> bool {
        matches!(self, RecordKind::Condition | RecordKind::Barrier | RecordKind::Semaphore)
    }

    /// The table's mark for this kind of use beside the lock's name; none for the usual kinds.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            RecordKind::Read => Some("(reads)"),
            RecordKind::Write => Some("(writes)"),
            RecordKind::Reacquired => Some("(after cond wait)"),
            RecordKind::Semaphore => Some("(semaphore)"),
            RecordKind::Condition => Some("(mutex and condition)"),
            _ => None,
        }
    }

    /// The kind in a word or two.
    pub fn noun(self) -> &'static str {
        match self {
            RecordKind::Engine => "lock",
            RecordKind::Mutex
            | RecordKind::Reacquired
            | RecordKind::Inverted
            | RecordKind::Shared
            | RecordKind::Robust
            | RecordKind::Inheriting
            | RecordKind::Ceiling => "mutex",
            RecordKind::Read | RecordKind::Write => "rwlock",
            RecordKind::Spin => "spin lock",
            RecordKind::RunQueue => "run-queue lock",
            RecordKind::Condition
            | RecordKind::Signal
            | RecordKind::Broadcast
            | RecordKind::WokenBySignal
            | RecordKind::WokenByBroadcast => "condition",
            RecordKind::Barrier => "barrier",
            RecordKind::Semaphore => "semaphore",
            RecordKind::Join => "join",
            RecordKind::Poll => "poll",
            RecordKind::Select => "select",
            RecordKind::Epoll => "epoll",
            RecordKind::Receive => "receive",
            RecordKind::Accept => "accept",
            RecordKind::Futex => "futex",
            RecordKind::EngineWait => "engine wait",
            RecordKind::Init => "initialisation",
        }
    }
}
