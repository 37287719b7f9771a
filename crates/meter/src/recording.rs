//! The recording file: a header page and a table per thread, shared by every process that is metered.

use crate::error::{Reason, RecordingError};
use crate::event::Event;
use crate::header::{self, NEXT, REFUSED, RELEASED, TABLE_WORDS};
use crate::pool;
use crate::slot::{self, SLOT_WORDS, Slot};
use crate::snapshot::{Snapshot, Unrecorded};
use crate::table::{EVENTS, FIRST_EVENT, HEAD_WORDS, LINK, OVERFLOWED, OWNER, REENTERED, Table};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::{Errno, mem::Mapping, process, sched};

/// Version of the file format that this crate writes and reads.
pub const VERSION: u64 = 1;
/// The most tables that a recording can have: 36 GiB of address space, sparse.
pub const MAX_TABLES: u32 = 1 << 20;

/// How to make a recording.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Tables, one for each thread that ever records (those of threads that ended may be used again). Each
    /// takes 36 KiB once it is claimed and nothing before.
    pub tables: u32,
    /// CPUs that the program may run on.
    pub cpus: u32,
}

impl Default for Config {
    /// 16384 tables; the CPUs that the calling thread may run on.
    fn default() -> Config {
        Config { tables: 16_384, cpus: sched::affinity_count() as u32 }
    }
}

/// An open recording. Made by who wants the report, joined by those who are metered.
#[derive(Debug)]
pub struct Recording {
    map: Mapping,
    tables: u32,
}

impl Recording {
    /// Makes a new recording file, readable and writable by its owner only, and starts its clock. A file that
    /// exists already is left alone, and an error.
    pub fn create(path: &Path, config: Config) -> Result<Recording, RecordingError> {
        let error = |reason| RecordingError::new(path, reason);
        if !(1..=MAX_TABLES).contains(&config.tables) {
            return Err(error(Reason::TooManyTables { asked: config.tables }));
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|e| error(Reason::Create(e)))?;
        let filled = Self::fill(&file, config);
        filled.map_err(|reason| {
            let _ = std::fs::remove_file(path);
            error(reason)
        })
    }

    fn fill(file: &File, config: Config) -> Result<Recording, Reason> {
        file.set_len(header::file_bytes(config.tables)).map_err(Reason::Create)?;
        let map = Self::map(file, config.tables)?;
        populate(&map, 0, 8 * header::WORDS).map_err(Reason::Map)?;
        header::write(map.words(), config.tables, config.cpus.max(1));
        Ok(Recording { map, tables: config.tables })
    }

    /// Joins a recording that [`create`](Recording::create) made. Everything in the file is checked before it
    /// is relied upon. (Cutting the file short while it is open is SIGBUS for all who use it.)
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        Self::join(path).map_err(|reason| RecordingError::new(path, reason))
    }

    fn join(path: &Path) -> Result<Recording, Reason> {
        let about = std::fs::metadata(path).map_err(Reason::Open)?;
        if !about.is_file() {
            return Err(Reason::NotARecording);
        }
        let file = File::options().read(true).write(true).open(path).map_err(Reason::Open)?;
        let bytes = file.metadata().map_err(Reason::Open)?.len();
        let mut page = Vec::with_capacity(8 * header::WORDS);
        (&file).take(8 * header::WORDS as u64).read_to_end(&mut page).map_err(Reason::Open)?;
        page.resize(8 * header::WORDS, 0);
        let (words, _) = page.as_chunks::<8>();
        let tables = header::check(bytes, |index| u64::from_ne_bytes(words[index]))?;
        Ok(Recording { map: Self::map(&file, tables)?, tables })
    }

    fn map(file: &File, tables: u32) -> Result<Mapping, Reason> {
        Mapping::shared(file, header::file_bytes(tables) as usize).map_err(Reason::Map)
    }

    /// (Re)starts the clock: to be called right before the program is started, if making the recording and
    /// starting the program are far apart.
    pub fn start(&self) {
        header::start(self.map.words());
    }

    /// Stops the clock. `cpu_time` is what the program and its children used, user and system, if known; it
    /// sharpens the CEIL column.
    pub fn finish(&self, cpu_time: Option<Duration>) {
        header::finish(self.map.words(), cpu_time.map_or(0, |t| t.as_nanos() as u64));
    }

    /// A table for the calling thread, its pages brought into being; some microseconds. None if all are in
    /// use or there is no memory for another: the thread is then counted as not recorded.
    pub fn claim(&self) -> Option<Table<'_>> {
        let top = &self.map.words()[RELEASED];
        let index = pool::pop(top, |index| Some(&self.table(index)?[LINK]))
            .or_else(|| pool::next(&self.map.words()[NEXT], self.tables));
        let table = index.and_then(|index| self.open_table(index));
        if table.is_none() {
            // Relaxed: a count.
            self.map.words()[REFUSED].fetch_add(1, Relaxed);
        }
        table
    }

    fn open_table(&self, index: u32) -> Option<Table<'_>> {
        let (head, slots) = self.parts(index)?;
        if populate(&self.map, 8 * self.offset(index), 8 * TABLE_WORDS).is_err() {
            pool::push(&self.map.words()[RELEASED], &head[LINK], index);
            return None;
        }
        // Relaxed: for people who look at the file, and for `release` in the same process.
        head[OWNER].store(whoami(), Relaxed);
        Some(Table::new(head, slots, index))
    }

    /// Gives a table back when its thread ends: its counts stay, its next owner adds to them. A table that
    /// was inherited through fork is not the caller's to give and is left alone.
    pub fn release(&self, table: Table<'_>) {
        let ours = self.table(table.index()).is_some_and(|words| core::ptr::eq(&words[0], &table.head()[0]));
        // Relaxed: the owner wrote the word itself.
        if ours && table.head()[OWNER].load(Relaxed) == whoami() {
            // Relaxed: published by the push. Nobody owns it: a second release finds that out.
            table.head()[OWNER].store(0, Relaxed);
            pool::push(&self.map.words()[RELEASED], &table.head()[LINK], table.index());
        }
    }

    /// The sums over all tables as they stand; at any time, while the program runs or after its end, however
    /// it ended.
    ///
    /// Beside running threads each sum is whole but the sums are not of one instant: a sample may be seen in
    /// its count and not yet in its time. The error is one sample per thread.
    pub fn snapshot(&self) -> Snapshot {
        let words = self.map.words();
        // Relaxed (all here): counts; keys are published by `slot::publish`.
        let claimed = words[NEXT].load(Relaxed).min(u64::from(self.tables)) as u32;
        let mut snapshot = Snapshot {
            window: header::window(words),
            rows: Default::default(),
            events: [0; Event::ALL.len()],
            unrecorded: Unrecorded { threads: words[REFUSED].load(Relaxed), ..Unrecorded::default() },
            tables: claimed,
        };
        for (head, slots) in (0..claimed).filter_map(|index| self.parts(index)) {
            let word = |index: usize| head[index].load(Relaxed);
            // Saturating, as the sums of `Counts`: the file may be damaged.
            let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n);
            add(&mut snapshot.unrecorded.overflowed, word(OVERFLOWED));
            add(&mut snapshot.unrecorded.reentered, word(REENTERED));
            for event in Event::ALL {
                add(&mut snapshot.events[event as usize], word(FIRST_EVENT + event as usize));
            }
            for (key, counts) in slots.iter().filter_map(slot::read) {
                snapshot.rows.entry(key).or_default().merge(&counts);
            }
        }
        snapshot
    }

    fn offset(&self, index: u32) -> usize {
        header::WORDS + index as usize * TABLE_WORDS
    }

    fn table(&self, index: u32) -> Option<&[AtomicU64]> {
        if index >= self.tables {
            return None;
        }
        self.map.words().get(self.offset(index)..)?.get(..TABLE_WORDS)
    }

    fn parts(&self, index: u32) -> Option<(&[AtomicU64], &[Slot])> {
        let (head, slots) = self.table(index)?.split_at(HEAD_WORDS);
        Some((head, slots.as_chunks::<SLOT_WORDS>().0))
    }
}

const _: () = assert!(Event::ALL.len() <= EVENTS && FIRST_EVENT + EVENTS <= HEAD_WORDS);

fn whoami() -> u64 {
    u64::from(process::pid()) << 32 | u64::from(process::tid())
}

/// Kernels before 5.14 cannot populate; there a full tmpfs is SIGBUS at the first store.
fn populate(map: &Mapping, offset: usize, bytes: usize) -> Result<(), Errno> {
    match map.populate(offset, bytes) {
        Err(Errno::EINVAL) => Ok(()),
        other => other,
    }
}
