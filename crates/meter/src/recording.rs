//! The recording file: a header page and a table per thread, shared by every process that is metered.

use crate::error::{Reason, RecordingError};
use crate::event::Event;
use crate::header::{self, NEXT, REFUSED, RELEASED, TABLE_WORDS};
use crate::pool;
use crate::slot::{SLOT_WORDS, Slot};
use crate::snapshot::{Snapshot, Unrecorded};
use crate::table::{
    self, Backing, EVENTS, FIRST_EVENT, HEAD_WORDS, LINK, OVERFLOWED, OWNER, REENTERED, Table, populate,
};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::{mem::Mapping, process, sched};

/// Version of the file format that this crate writes and reads.
pub const VERSION: u64 = 1;
/// The most tables that a recording can have: 33 GiB of address space, sparse.
pub const MAX_TABLES: u32 = 1 << 18;

/// How to make a recording.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Tables, one for each thread that records at a time (and one for each that ended without giving its
    /// table back). Each is 132 KiB of the file's size, but of its memory a page when it is claimed and up to
    /// one for each (lock, caller): 16 KiB are usual.
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

    /// A table for the calling thread; some microseconds. None if all are in
    /// use or there is no memory for another: the thread is then counted as not recorded.
    pub fn claim(&self) -> Option<Table<'_>> {
        let words = self.map.words();
        let head = |index| 8 * self.offset(index);
        let index = pool::pop(&words[RELEASED], |index| Some(&self.table(index)?[LINK])).or_else(|| {
            pool::next(&words[NEXT], self.tables, |index| populate(&self.map, head(index), 8 * HEAD_WORDS))
        });
        let table = index.and_then(|index| self.table_of(index));
        if table.is_none() {
            // Relaxed: a count.
            words[REFUSED].fetch_add(1, Relaxed);
        }
        table
    }

    fn table_of(&self, index: u32) -> Option<Table<'_>> {
        let (head, slots) = self.parts(index)?;
        // Relaxed: for people who look at the file, and for `release` in the same process.
        head[OWNER].store(whoami(), Relaxed);
        let backing = Backing { map: &self.map, offset: 8 * (self.offset(index) + HEAD_WORDS) };
        Some(Table::new(head, slots, Some(backing)))
    }

    /// Gives a table back when its thread ends: its counts stay, its next owner adds to them. A table that
    /// was inherited through fork is not the caller's to give and is left alone.
    pub fn release(&self, table: Table<'_>) {
        let head = table.head();
        // Relaxed: the owner wrote the word itself.
        let mine = head[OWNER].load(Relaxed) == whoami();
        if let Some(index) = self.index_of(head).filter(|_| mine) {
            // Relaxed: published by the push. The next owner writes its own name.
            head[OWNER].store(0, Relaxed);
            pool::push(&self.map.words()[RELEASED], &head[LINK], index);
        }
    }

    /// Which table has this header; none if it belongs to another recording.
    fn index_of(&self, head: &[AtomicU64]) -> Option<u32> {
        let bytes = (head.as_ptr() as usize).checked_sub(self.map.start().as_ptr() as usize)?;
        let index = (bytes / 8).checked_sub(header::WORDS)? / TABLE_WORDS;
        u32::try_from(index).ok().filter(|&index| index < self.tables)
    }

    /// The sums over all tables as they stand; at any time, while the program runs or after its end, however
    /// it ended.
    ///
    /// Beside running threads each sum is whole but the sums are not of one instant: a sample may be seen in
    /// its count and not yet in its time. The error is one sample per thread.
    pub fn snapshot(&self) -> Snapshot {
        let words = self.map.words();
        // Relaxed (all here): counts; `slot::publish` orders what has to be.
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
            for (key, counts) in table::rows(head, slots) {
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
