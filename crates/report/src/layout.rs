//! The size of the printed table, and the meaning of its columns.

/// Size of the printed table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Width in characters. Below 120 columns are dropped. Names that are longer than their column are cut. Where there
    /// is room, callers have their file and line.
    pub width: usize,
    /// Maximum number of locks, and of waits, most time lost first. The table says how many were omitted. Locks for
    /// which no thread waited are omitted too, unless all rows are requested.
    pub rows: usize,
    /// Maximum number of callers of each.
    pub callers: usize,
}

impl Default for Layout {
    /// 120 columns, 20 locks with 8 callers each.
    fn default() -> Layout {
        Layout { width: 120, rows: 20, callers: 8 }
    }
}

impl Layout {
    /// All rows and callers, at this width.
    pub fn all(width: usize) -> Layout {
        Layout { width, rows: usize::MAX, callers: usize::MAX }
    }
}

/// The meaning of the table's columns, for a help text. At most 96 characters wide.
pub const COLUMNS: &str = "\
Columns:
  LOST    seconds lost: what all threads together waited for the lock, spinning or asleep. Ten
          threads that wait a second each have lost ten. The table is sorted by it
  CEIL    bound on the speed-up if this lock cost nothing: the run would take no less than 1/CEIL
          of its time. With T the time metered, on n CPUs, it is the smaller of
            1 + LOST / T: while k threads wait at least one gets on, and without the lock at most
            k + 1 would;
            n T / (C - S): of the program's CPU time C only what was spent spinning on this lock,
            S, can be saved.
          No promise: with 1.02 the lock is not worth your time, with 3.00 the program need not
          become three times as fast. A dash: other programs used too much of the CPUs
  CPUS    CPUs eaten by the lock: UTIL, plus the (% CPU) of all n
  UTIL    share of the time in which it was held; of reads: in which there was a reader. Several
          locks of one name add up, and can exceed 100 %
  CON     share of the attempts that did not get it at once
  HOLD    mean and longest time held
  WAIT    mean and longest wait of those who waited, spinning and asleep
  % CPU   share of the whole machine's CPU time spent spinning on it; who sleeps burns none
  TOTAL   attempts: of these NOWAIT got it at once, SPIN after spinning, SLEPT after sleeping,
          RJECT not at all (a try-lock that found it taken, a wait that timed out)
  NAME    the lock's static variable; else where it was initialised; else where it was first
          used. `A ▸ B` is B as called by A. (N) if N of one name and origin share the row. Below
          it its callers, function+offset and source line, most time lost first
Waits are no locks, and lose nothing while their threads have nothing to do. Joins and waits for
descriptors (poll, epoll_wait, read, ...) have a row for each call site.
  WAITED  seconds waited in all, by all threads; MEDIAN and longest (MAX) wait beside it. MEDIAN is
          estimated from a histogram whose ranges double; of one wait it is exact
  WAITS   of the CALLS those that waited; RJECT of them got nothing (a time-out)
  SHORT   share of the waits that ended within three wake-ups; what one costs on this machine
          stands in the first line. Where most are short, polling before sleeping can pay
Some runtimes (CPython, JVM) make their locks of conditions and semaphores: a semaphore that its
waiters post themselves is a lock.
A dash is a time that was not measured: level `counts` reads no clock. At level `sampled` HOLD,
UTIL and CPUS are estimated from the holds that were timed; at level `auto` too, of the locks that
a thread takes often, if the first line says that threads were sampled.
";
