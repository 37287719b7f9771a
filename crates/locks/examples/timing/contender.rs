//! The locks to measure.

use crate::workload::{Mutex, Point, Run, Work, run_threads};
use core::cell::UnsafeCell;
use core::time::Duration;
use unspin_locks::{LockKind, LockVisitor, RawLock};

/// A lock that can run the workload.
pub trait Contender {
    fn name(&self) -> &'static str;
    fn run(&self, work: &Work, point: Point, time: Duration) -> Run;
}

/// glibc's normal mutex, called through libc as any program does: the reference.
pub struct Glibc;

struct Normal(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a pthread mutex may be shared between threads.
unsafe impl Sync for Normal {}

impl Mutex for Normal {
    fn new() -> Normal {
        Normal(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    #[inline(always)]
    fn with(&self, body: impl FnOnce()) {
        // SAFETY: a live, initialised mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        body();
        // SAFETY: as above, and held by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Contender for Glibc {
    fn name(&self) -> &'static str {
        "glibc"
    }

    fn run(&self, work: &Work, point: Point, time: Duration) -> Run {
        run_threads::<Normal>(work, point, time)
    }
}

/// glibc's mutex with PTHREAD_PRIO_INHERIT: the reference for the kinds that inherit priority.
pub struct GlibcPi;

struct PriorityInheriting(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a pthread mutex may be shared between threads.
unsafe impl Sync for PriorityInheriting {}

impl Mutex for PriorityInheriting {
    fn new() -> PriorityInheriting {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: live attributes, initialised before they are used, and a live mutex, which is not moved after this.
        unsafe {
            let mut attributes = core::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setprotocol(&mut attributes, libc::PTHREAD_PRIO_INHERIT);
            assert_eq!(libc::pthread_mutex_init(mutex.get(), &attributes), 0);
        }
        PriorityInheriting(mutex)
    }

    #[inline(always)]
    fn with(&self, body: impl FnOnce()) {
        // SAFETY: a live, initialised mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        body();
        // SAFETY: as above, and held by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Contender for GlibcPi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn run(&self, work: &Work, point: Point, time: Duration) -> Run {
        run_threads::<PriorityInheriting>(work, point, time)
    }
}

/// parking_lot's mutex.
pub struct ParkingLot;

impl Mutex for parking_lot::Mutex<()> {
    fn new() -> Self {
        parking_lot::Mutex::new(())
    }

    #[inline(always)]
    fn with(&self, body: impl FnOnce()) {
        let _guard = self.lock();
        body();
    }
}

impl Contender for ParkingLot {
    fn name(&self) -> &'static str {
        "parking_lot"
    }

    fn run(&self, work: &Work, point: Point, time: Duration) -> Run {
        run_threads::<parking_lot::Mutex<()>>(work, point, time)
    }
}

/// The standard library's mutex.
pub struct Std;

impl Mutex for std::sync::Mutex<()> {
    fn new() -> Self {
        std::sync::Mutex::new(())
    }

    #[inline(always)]
    fn with(&self, body: impl FnOnce()) {
        let _guard = self.lock();
        body();
    }
}

impl Contender for Std {
    fn name(&self) -> &'static str {
        "std"
    }

    fn run(&self, work: &Work, point: Point, time: Duration) -> Run {
        run_threads::<std::sync::Mutex<()>>(work, point, time)
    }
}

/// A lock of this crate; `None` for libc's kinds.
pub fn by_kind(kind: LockKind) -> Option<Box<dyn Contender>> {
    kind.visit(Ours(kind.name()))
}

struct Ours(&'static str);

impl LockVisitor for Ours {
    type Output = Box<dyn Contender>;

    fn visit<L: RawLock>(self) -> Box<dyn Contender> {
        Box::new(Raw::<L>(self.0, core::marker::PhantomData))
    }
}

struct Raw<L>(&'static str, core::marker::PhantomData<L>);

struct Bare<L>(L);

impl<L: RawLock> Mutex for Bare<L> {
    fn new() -> Self {
        Bare(L::NEW)
    }

    #[inline(always)]
    fn with(&self, body: impl FnOnce()) {
        self.0.lock(&mut L::Node::default());
        body();
        // SAFETY: acquired above.
        unsafe { self.0.unlock() };
    }
}

impl<L: RawLock> Contender for Raw<L> {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, work: &Work, point: Point, time: Duration) -> Run {
        run_threads::<Bare<L>>(work, point, time)
    }
}
