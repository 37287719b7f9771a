//! Records the uses of the run queues' locks in a recording of the meter.

use crate::lock::Operation;
use core::cell::RefCell;
use core::fmt;
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::{clock, generation, process};
use unspin_wire::{AttemptOutcome, Key, Level, RecordKind, Recording, Sample, Table};

/// The locks of the queues of one pool of workers, in a recording.
#[derive(Clone, Copy)]
pub struct Recorder {
    recording: &'static Recording,
    tables: TableSource,
    has_clock: bool,
    /// Bits of the keys' locks: which pool of this process.
    pool: u64,
}

/// Which tables of the recording threads get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TableSource {
    /// The recording is the program's: a thread's only table.
    Own,
    /// The recording is the operator's: the preload library may have given the thread a table.
    Second,
}

/// Identifies the keys of run queues. The number of pool and queue below it can be 0, an address in a key cannot.
const SPACE: u64 = (RecordKind::RunQueue as u64) << 56 | 1 << 48;
/// Bits of the number of a queue.
const NUMBER_BITS: u32 = 16;

/// The name of the locks of all run queues in the meter's table.
pub const LOCK_NAME: &str = "runqueue_lock";

/// The names of the lock and of the caller, for keys of run queues. The locks of all queues have one name, so that they
/// share a row, as in Hartner 2001.
pub fn describe(key: &Key) -> Option<(String, String)> {
    if key.lock >> 48 != SPACE >> 48 {
        return None;
    }
    let operation = Operation::ALL.into_iter().find(|&operation| operation as u64 == key.caller)?;
    Some((LOCK_NAME.into(), operation.name().into()))
}

impl Recorder {
    /// Records in this recording. A thread gets its table at its first use of a lock, and gives it back at its end.
    pub fn new(recording: &'static Recording) -> Recorder {
        Recorder::with(recording, TableSource::Own)
    }

    /// Records in a recording that the operator of the program has made, beside the preload library.
    pub(crate) fn second(recording: &'static Recording) -> Recorder {
        Recorder::with(recording, TableSource::Second)
    }

    fn with(recording: &'static Recording, tables: TableSource) -> Recorder {
        static POOLS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number that no other pool has.
        let pool = POOLS.fetch_add(1, Ordering::Relaxed) << NUMBER_BITS & 0xFFFF_FFFF;
        Recorder { recording, tables, has_clock: recording.level() != Level::Counts, pool }
    }

    /// The recording.
    pub fn recording(self) -> &'static Recording {
        self.recording
    }

    /// The time in ticks; 0 if no times are recorded.
    #[inline]
    pub(crate) fn now(self) -> u64 {
        if self.has_clock { clock::ticks() } else { 0 }
    }

    /// The lock of a queue as in the meter's keys.
    pub(crate) fn lock_key(self, queue: usize) -> u64 {
        SPACE | self.pool | queue as u64
    }

    /// Records a use of a queue's lock that is over.
    pub(crate) fn record(self, queue: usize, operation: Operation, sample: &Sample) {
        let key = Key { lock: self.lock_key(queue), caller: operation as u64 };
        // While the thread ends, after its table was given back, nothing is recorded.
        let _ = TABLES.try_with(|tables| tables.with(self, |table| table.record(key, sample)));
    }

    /// Records a trylock that found the lock taken.
    #[cold]
    pub(crate) fn record_missed_trylock(self, queue: usize, operation: Operation) {
        let sample = Sample { outcome: AttemptOutcome::Rejected, hold: 0, spun: 0, slept: 0 };
        self.record(queue, operation, &sample);
    }

    fn claim(self) -> Option<Table<'static>> {
        match self.tables {
            TableSource::Own => self.recording.claim(),
            TableSource::Second => self.recording.claim_second(),
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

/// The tables of one thread. It has one unless it uses the queues of several recordings.
#[derive(Default)]
struct ThreadTables(RefCell<Vec<ThreadTable>>);

struct ThreadTable {
    recording: &'static Recording,
    /// The process that claimed the table. A child that fork makes inherits the value, and claims its own table.
    generation: u32,
    /// None: there was no room for one.
    table: Option<Table<'static>>,
}

thread_local! {
    static TABLES: ThreadTables = const { ThreadTables(RefCell::new(Vec::new())) };
}

impl ThreadTables {
    fn with(&self, recorder: Recorder, record: impl FnOnce(&Table<'static>)) {
        // A signal handler that pushes a task finds the list in use; its sample is lost.
        let Ok(mut tables) = self.0.try_borrow_mut() else { return };
        let (recording, generation) = (recorder.recording, generation::get());
        let is_known =
            |known: &ThreadTable| core::ptr::eq(known.recording, recording) && known.generation == generation;
        let at = tables.iter().position(is_known).unwrap_or_else(|| {
            // A parent's tables stay the parent's.
            tables.retain(|known| known.generation == generation);
            tables.push(ThreadTable { recording, generation, table: recorder.claim() });
            tables.len() - 1
        });
        if let Some(table) = &tables[at].table {
            record(table);
        }
    }
}

impl Drop for ThreadTables {
    fn drop(&mut self) {
        for ThreadTable { recording, table, .. } in self.0.get_mut().drain(..) {
            if let Some(table) = table {
                recording.release(table, process::thread_times());
            }
        }
    }
}
