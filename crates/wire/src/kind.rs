//! Kinds of rows: locks, waits, initialisations. One table has them all.

#[cfg(not(loom))]
use crate::plan::LockFamily;

/// The table of the kinds: calls the macro `$then` with all rows, from which it makes what it needs. The number of a row is its
/// discriminant; the columns are the properties of [`RecordKind`].
#[macro_export]
macro_rules! for_each_record_kind {
    ($then:ident) => {
        $then! {
            /// A lock of unspin's own System V engine.
            Engine = 0x01 { class: Lock, noun: "lock", bytes: 1, facts: HAS_OBJECT, mark: None }
            /// `pthread_mutex_t`, `mtx_t`, `std::mutex`.
            Mutex = 0x10 { class: Lock, noun: MUTEX, bytes: 40, facts: HAS_OBJECT | HAS_ONE_HOLDER, mark: None }
            /// A mutex reacquired at the end of a wait for a condition.
            Reacquired = 0x11 { class: Lock, noun: MUTEX, bytes: 40, facts: HAS_OBJECT | HAS_ONE_HOLDER, mark: Some("(after cond wait)") }
            /// `pthread_rwlock_t`, for reading.
            Read = 0x12 { class: Lock, noun: "rwlock", bytes: 56, facts: HAS_OBJECT, mark: Some("(reads)") }
            /// `pthread_rwlock_t`, for writing.
            Write = 0x13 { class: Lock, noun: "rwlock", bytes: 56, facts: HAS_OBJECT | HAS_ONE_HOLDER, mark: Some("(writes)") }
            /// `pthread_spinlock_t`.
            Spin = 0x14 { class: Lock, noun: "spin lock", bytes: 4, facts: HAS_OBJECT | HAS_ONE_HOLDER, mark: None }
            /// A lock of a run queue of the crate `unspin-runqueue`. The address is a number of the queue in its process.
            RunQueue = 0x15 { class: Lock, noun: "run-queue lock", bytes: 1, facts: HAS_OBJECT, mark: None }
            /// A wait for a condition, `pthread_cond_t`.
            Condition = 0x20 { class: Wait, noun: CONDITION, bytes: 48, facts: HAS_OBJECT | IS_BY_DESIGN, mark: Some("(mutex and condition)") }
            /// A wait for the other threads of a `pthread_barrier_t`.
            Barrier = 0x21 { class: Wait, noun: "barrier", bytes: 32, facts: HAS_OBJECT | IS_BY_DESIGN, mark: None }
            /// `sem_t`: decremented by `sem_wait`; any thread may post it.
            Semaphore = 0x22 { class: Wait, noun: "semaphore", bytes: 32, facts: HAS_OBJECT | IS_BY_DESIGN, mark: Some("(semaphore)") }
            /// A wait for the end of a thread: `pthread_join` and its variants.
            Join = 0x23 { class: Wait, noun: "join", bytes: 1, facts: 0, mark: None }
            /// A wait in `poll` or `ppoll`. Descriptors are not distinguished: the call site identifies the wait, and the
            /// address is [`ANY_DESCRIPTOR`].
            Poll = 0x24 { class: Wait, noun: "poll", bytes: 1, facts: 0, mark: None }
            /// A wait in `select` or `pselect`; as [`RecordKind::Poll`].
            Select = 0x25 { class: Wait, noun: "select", bytes: 1, facts: 0, mark: None }
            /// A wait in `epoll_wait` or its variants; as [`RecordKind::Poll`].
            Epoll = 0x26 { class: Wait, noun: "epoll", bytes: 1, facts: 0, mark: None }
            /// A blocking `read`, `recv` or a similar call; as [`RecordKind::Poll`].
            Receive = 0x27 { class: Wait, noun: "receive", bytes: 1, facts: 0, mark: None }
            /// A blocking `accept` or `accept4`; as [`RecordKind::Poll`].
            Accept = 0x28 { class: Wait, noun: "accept", bytes: 1, facts: 0, mark: None }
            /// A wait in futex(2) through libc's `syscall()`. Rust's standard library and parking_lot sleep this way. The
            /// address is the futex word's.
            Futex = 0x29 { class: Wait, noun: "futex", bytes: 4, facts: HAS_OBJECT, mark: None }
            /// A sleep of unspin's own System V engine.
            EngineWait = 0x2a { class: Wait, noun: "engine wait", bytes: 1, facts: HAS_OBJECT, mark: None }
            /// Not a use. The row records where and when the object at an address was initialised, from which the object is
            /// named.
            Init = 0x30 { class: Init, noun: "initialisation", bytes: 1, facts: HAS_OBJECT, mark: None }
            /// Calls of pthread_cond_signal(3). An attempt that slept stands for a call that found a waiting thread.
            Signal = 0x31 { class: Detail, noun: CONDITION, bytes: 48, facts: HAS_OBJECT, mark: None }
            /// Calls of pthread_cond_broadcast(3); as [`RecordKind::Signal`].
            Broadcast = 0x32 { class: Detail, noun: CONDITION, bytes: 48, facts: HAS_OBJECT, mark: None }
            /// Waits for a condition that a signal ended; the caller is that of the wait. A rejected attempt stands for a
            /// thread that found nothing to do: it waited again at the same place, and in between it neither unlocked the mutex
            /// nor woke a thread.
            WokenBySignal = 0x33 { class: Detail, noun: CONDITION, bytes: 48, facts: HAS_OBJECT, mark: None }
            /// Waits for a condition that a broadcast ended; as [`RecordKind::WokenBySignal`].
            WokenByBroadcast = 0x34 { class: Detail, noun: CONDITION, bytes: 48, facts: HAS_OBJECT, mark: None }
            /// Long waits for a mutex whose owner had a lower priority than the waiting thread.
            Inverted = 0x35 { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Waits for a mutex that is shared between processes.
            Shared = 0x36 { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Waits for a robust mutex.
            Robust = 0x37 { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Waits for a mutex with PTHREAD_PRIO_INHERIT.
            Inheriting = 0x38 { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Waits for a mutex with PTHREAD_PRIO_PROTECT.
            Ceiling = 0x39 { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Initialisations of, and waits for, a read-write lock that is shared between processes.
            SharedRwLock = 0x3a { class: Detail, noun: "rwlock", bytes: 56, facts: HAS_OBJECT, mark: None }
            /// Waits for a mutex, by the thread that held it when the wait began: the caller is the one for which that thread had
            /// locked it.
            MutexHolder = 0x3b { class: Detail, noun: MUTEX, bytes: 40, facts: HAS_OBJECT, mark: None }
            /// Waits for a read-write lock; as [`RecordKind::MutexHolder`]. Of several readers one counts.
            RwLockHolder = 0x3c { class: Detail, noun: "rwlock", bytes: 56, facts: HAS_OBJECT, mark: None }
            /// Waits for a spin lock; as [`RecordKind::MutexHolder`].
            SpinHolder = 0x3d { class: Detail, noun: "spin lock", bytes: 4, facts: HAS_OBJECT, mark: None }
        }
    };
}

/// From the table of kinds: the enum, the list of all, and the properties.
macro_rules! define_kinds {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident = $byte:literal {
            class: $class:ident, noun: $noun:expr, bytes: $bytes:literal, facts: $facts:expr, mark: $mark:expr
        }
    )+) => {
        /// The kind of a lock or of another object that threads wait for. The discriminants are the top bytes of
        /// [`Key::lock`](crate::Key::lock) and part of the recording's format.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum RecordKind {
            $($(#[doc = $doc])+ $variant = $byte,)+
        }

        impl RecordKind {
            /// Every kind.
            pub const ALL: [RecordKind; [$($byte),+].len()] = [$(RecordKind::$variant,)+];

            const fn row(self) -> &'static Row {
                match self {
                    $(RecordKind::$variant => &const {
                        Row { class: Class::$class, noun: $noun, bytes: $bytes, facts: $facts, mark: $mark }
                    },)+
                }
            }
        }
    };
}

crate::for_each_record_kind!(define_kinds);

/// The properties of a kind; the methods of [`RecordKind`] say what they mean.
struct Row {
    class: Class,
    noun: &'static str,
    /// Size of the object, from the headers of glibc on x86-64; 1 if it has no size.
    bytes: u64,
    facts: u8,
    mark: Option<&'static str>,
}

/// The noun of all kinds of use of a mutex.
const MUTEX: &str = "mutex";
/// The noun of a condition, and of the facts about one.
const CONDITION: &str = "condition";
const HAS_OBJECT: u8 = 1;
const HAS_ONE_HOLDER: u8 = 2;
const IS_BY_DESIGN: u8 = 4;

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
    /// The kind with this discriminant.
    pub fn from_byte(byte: u8) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|&kind| kind as u8 == byte)
    }

    /// Whether it is a wait for a condition, or a fact about one.
    pub fn is_of_condition(self) -> bool {
        self.noun() == CONDITION
    }

    /// The family of the lock, if it is a use of a lock that a plan can replace.
    #[cfg(not(loom))]
    pub fn family(self) -> Option<LockFamily> {
        match self {
            RecordKind::Mutex | RecordKind::Reacquired => Some(LockFamily::Mutex),
            RecordKind::Read | RecordKind::Write => Some(LockFamily::RwLock),
            RecordKind::Spin => Some(LockFamily::Spin),
            _ => None,
        }
    }

    /// The kind of the rows that tell which callers held the lock when waits for it began; none if that is not recorded.
    pub fn holder(self) -> Option<RecordKind> {
        match self {
            RecordKind::Mutex | RecordKind::Reacquired => Some(RecordKind::MutexHolder),
            RecordKind::Read | RecordKind::Write => Some(RecordKind::RwLockHolder),
            RecordKind::Spin => Some(RecordKind::SpinHolder),
            _ => None,
        }
    }

    /// Whether rows of this kind tell which callers held a lock when waits for it began.
    pub fn is_holder(self) -> bool {
        matches!(self, RecordKind::MutexHolder | RecordKind::RwLockHolder | RecordKind::SpinHolder)
    }

    /// The part of the report that the kind belongs to.
    pub fn class(self) -> Class {
        self.row().class
    }

    /// The kind in a word or two.
    pub fn noun(self) -> &'static str {
        self.row().noun
    }

    /// The table's mark for this kind of use beside the lock's name; none for the usual kinds.
    pub fn mark(self) -> Option<&'static str> {
        self.row().mark
    }

    /// Size of the object in bytes; 1 if it has no size.
    pub fn bytes(self) -> u64 {
        self.row().bytes
    }

    /// Whether the address in a key is that of an object. If not, the call site alone identifies the wait: no more is
    /// recorded of descriptors and of joined threads.
    pub fn has_object(self) -> bool {
        self.row().facts & HAS_OBJECT != 0
    }

    /// Whether one thread at a time holds the lock.
    pub fn has_one_holder(self) -> bool {
        self.row().facts & HAS_ONE_HOLDER != 0
    }

    /// Whether threads wait in it for each other, by design: conditions, barriers, semaphores. Some runtimes build
    /// their locks from these.
    pub fn is_by_design(self) -> bool {
        self.row().facts & IS_BY_DESIGN != 0
    }
}
