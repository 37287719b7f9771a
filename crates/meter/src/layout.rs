//! How a table is printed, and what its columns mean.

/// How much of the table is printed, and how wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Columns in all, at least 110. Names are cut where they are longer; where there is room, callers have their file and
    /// line.
    pub width: usize,
    /// Locks, and waits, most lost first; what is left out is said.
    pub rows: usize,
    /// Callers of each.
    pub callers: usize,
}

impl Default for Layout {
    /// 120 columns, 20 locks of 8 callers each.
    fn default() -> Layout {
        Layout { width: 120, rows: 20, callers: 8 }
    }
}

impl Layout {
    /// Everything, in as many columns.
    pub fn all(width: usize) -> Layout {
        Layout { width, rows: usize::MAX, callers: usize::MAX }
    }
}

/// What the columns of the table mean, for a help text.
pub const COLUMNS: &str = "\
Columns, with dt the seconds metered and n the CPUs that the program could run on:
  LOST    seconds waited for the lock, spinning and asleep, summed over all waiters
  CEIL    bound on the speed-up if this lock cost nothing: the smaller of 1 + LOST/dt, as without the lock all who
          wait at a time could go on, and n dt / (CPU time - time spun), as what else the program computes has to
          be computed all the same. No promise: the most that can be hoped for
  CPUS    CPUs eaten by the lock: UTIL + %CPU n
  UTIL    share of the time in which the lock was held; of reads: in which there was a reader. Several locks of one
          name add up, and can exceed 100 %
  CON     share of the attempts that did not get the lock at once
  HOLD    mean and longest time held
  WAIT    mean and longest wait of those who waited, spinning and asleep
  % CPU   time spent spinning, as a share of n dt; who sleeps burns no CPU
  TOTAL   attempts; NOWAIT those that got the lock at once, SPIN after spinning, SLEPT after sleeping, RJECT those
          that did not get it: a try-lock that found it taken, a wait that timed out
  NAME    the lock, (number) if several of one name share the row; its callers below it, most time lost first
Waits by design (conditions, barriers, semaphores): WAITED seconds in all, GOT what was waited for.
A dash is a time that was not measured: level counts reads no clock. At level sampled HOLD, UTIL and CPUS are
estimated from the holds that were timed.
";
