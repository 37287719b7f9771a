//! The recording file: a header page, and behind it the pages that the recorded processes took, each for what it needed.

use crate::error::{Reason, RecordingError};
use crate::event::{Event, Key};
use crate::header::{self, FREE, Facts, IMAGES, REFUSED};
use crate::held::Grip;
use crate::image::{self, Image, Registers};
use crate::invocation::{self, Invocation};
use crate::level::Level;
use crate::list;
use crate::pages::{self, BYTES, Pages, WORDS};
use crate::pool;
use crate::slot;
use crate::snapshot::Snapshot;
use crate::table::{self, LINK, OWNER, Stride, Table};
use crate::wakeup::WakeUpCost;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::{clock, mem::Mapping, process, sched};

/// Version of the file format that this crate writes and reads. Version 3 has rows of waits for descriptors, joins and futexes,
/// which version 2 would take for locks.
pub const VERSION: u64 = 3;
/// The most pages that a recording can have: 64 GiB of address space, sparse.
pub const MAX_PAGES: u64 = 1 << 24;

/// How to make a recording.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bytes that all tables together may take, rounded up to pages. It is the file's size, but memory is taken page by page:
    /// some 20 KiB for a process, as much for a thread, and 128 (level counts) or 512 bytes for each lock and caller that a
    /// thread sees.
    pub bytes: u64,
    /// CPUs that the program may run on.
    pub cpus: u32,
    /// How much is recorded of each acquisition.
    pub level: Level,
}

impl Default for Config {
    /// 8 GiB; the CPUs that the calling thread may run on; everything.
    fn default() -> Config {
        Config { bytes: 8 << 30, cpus: sched::affinity_count() as u32, level: Level::Full }
    }
}

/// An open recording. Made by who wants the report, joined by those who are metered.
#[derive(Debug)]
pub struct Recording {
    map: Mapping,
    /// Kept by who made it or only reads it, for [`save`](Recording::save).
    file: Option<File>,
    level: Level,
    access: Access,
    /// `pid << 32 | page` of the calling process's image. A child made by fork has a copy that names its parent.
    current: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Write,
    Read,
}

impl Recording {
    /// Makes a new recording file, readable and writable by its owner only, and starts its clock. A file that
    /// exists already is left alone, and an error.
    pub fn create(path: &Path, config: Config) -> Result<Recording, RecordingError> {
        let error = |reason| RecordingError::new(path, reason);
        let pages = config.bytes.div_ceil(BYTES as u64);
        if !(8..=MAX_PAGES).contains(&pages) {
            return Err(error(Reason::Size { asked: config.bytes }));
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|e| error(Reason::Create(e)))?;
        let filled = Self::fill(file, pages, config);
        filled.map_err(|reason| {
            let _ = std::fs::remove_file(path);
            error(reason)
        })
    }

    fn fill(file: File, pages: u64, config: Config) -> Result<Recording, Reason> {
        file.set_len(pages * BYTES as u64).map_err(Reason::Create)?;
        let map = Mapping::shared(&file, pages as usize * BYTES).map_err(Reason::Map)?;
        Pages::of(&map).populate(0, 1).map_err(Reason::Map)?;
        header::write(map.words(), pages, config.cpus.max(1), config.level);
        Ok(Recording::new(map, Some(file), config.level, Access::Write))
    }

    fn new(map: Mapping, file: Option<File>, level: Level, access: Access) -> Recording {
        Recording { map, file, level, access, current: AtomicU64::new(0) }
    }

    /// Joins a recording that [`create`](Recording::create) made, to record in it. Everything in the file is checked before
    /// it is relied upon. (Cutting the file short while it is open is SIGBUS for all who use it.)
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let joined =
            Self::checked(path, File::options().read(true).write(true)).and_then(|(file, facts, bytes)| {
                let expected = facts.pages * BYTES as u64;
                if bytes < expected {
                    return Err(Reason::CutShort { expected, found: bytes });
                }
                let map = Mapping::shared(&file, expected as usize).map_err(Reason::Map)?;
                Ok(Recording::new(map, None, facts.level, Access::Write))
            });
        joined.map_err(|reason| RecordingError::new(path, reason))
    }

    /// Opens a recording to read it, be it live, left behind by a program that is dead, or [saved](Recording::save).
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        let loaded = Self::checked(path, File::options().read(true)).and_then(|(file, facts, bytes)| {
            // A live one grows into pages that the file has already; a saved one has no more than were used.
            let len = bytes.min(facts.pages * BYTES as u64) as usize / BYTES * BYTES;
            let map = Mapping::shared_read_only(&file, len).map_err(Reason::Map)?;
            Ok(Recording::new(map, Some(file), facts.level, Access::Read))
        });
        loaded.map_err(|reason| RecordingError::new(path, reason))
    }

    fn checked(path: &Path, how: &mut std::fs::OpenOptions) -> Result<(File, Facts, u64), Reason> {
        let open = |e: unspin_sys::Errno| Reason::Open(io::Error::from_raw_os_error(e.0));
        if !unspin_sys::file::is_regular(path).map_err(open)? {
            return Err(Reason::NotARecording);
        }
        let file = how.open(path).map_err(Reason::Open)?;
        let bytes = unspin_sys::file::bytes(&file).map_err(open)?;
        // On the stack: a program's first lock may be its allocator's.
        let mut page = [0; BYTES];
        let mut filled = 0;
        while filled < BYTES {
            match (&file).read(&mut page[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Reason::Open(e)),
            }
        }
        let (words, _) = page.as_chunks::<8>();
        let facts = header::check(bytes, |index| u64::from_ne_bytes(words[index]))?;
        Ok((file, facts, bytes))
    }

    /// (Re)starts the clock: to be called right before the program is started, if making the recording and
    /// starting the program are far apart.
    pub fn start(&self) {
        if self.access == Access::Write {
            header::start(self.map.words());
        }
    }

    /// Stops the clock. `cpu_time` is what the program and its children used, user and system, if known; it
    /// sharpens the CEIL column.
    pub fn finish(&self, cpu_time: Option<Duration>) {
        if self.access == Access::Write {
            header::finish(self.map.words(), cpu_time.map_or(0, |t| t.as_nanos() as u64));
        }
    }

    /// Stores what a wake-up costs on this machine: to be called before the program is started. Snapshots have it from then
    /// on, and so has the file.
    pub fn set_wake_up(&self, cost: WakeUpCost) {
        if self.access == Access::Write {
            header::set_wake_up(self.map.words(), cost);
        }
    }

    /// Stores how the program is started: to be called before that. Snapshots have it from then on, and so has the file.
    pub fn set_invocation(&self, invocation: &Invocation) {
        if self.access == Access::Write {
            invocation::write(self.map.words(), invocation);
        }
    }

    /// Writes what there is to a file of its own that holds no more than that, for [`load`](Recording::load). Programs may
    /// go on recording in this one.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let from = self.file.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let mut to = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut page = [0; BYTES];
        // Relaxed: whatever is in use at the time.
        let used = self.map.words()[FREE].load(Relaxed).min(self.pages().len());
        for number in 0..used {
            // By read(2), which does not bring pages into being that nobody has written to.
            from.read_exact_at(&mut page, number * BYTES as u64)?;
            if number == 0 {
                page[8 * FREE..][..8].copy_from_slice(&used.to_ne_bytes());
            }
            to.write_all(&page)?;
        }
        to.flush()
    }

    /// How much is recorded.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Bytes of memory that are in use, or set aside.
    pub fn bytes(&self) -> u64 {
        // Relaxed: a number.
        self.map.words()[FREE].load(Relaxed) * BYTES as u64
    }

    /// The addresses at which it is mapped: far more than is in use, so nobody should ask the kernel for all of it.
    pub fn range(&self) -> core::ops::Range<u64> {
        let start = self.map.start().as_ptr() as u64;
        start..start + self.map.len() as u64
    }

    pub(crate) fn pages(&self) -> Pages<'_> {
        Pages::of(&self.map)
    }

    pub(crate) fn header(&self) -> &[AtomicU64] {
        self.map.words()
    }

    /// The list of images.
    pub(crate) fn images(&self) -> &AtomicU64 {
        &self.header()[IMAGES]
    }

    fn free(&self) -> &AtomicU64 {
        &self.map.words()[FREE]
    }

    pub(crate) fn stride(&self) -> Stride {
        if self.level == Level::Counts { Stride::Counts } else { Stride::Whole }
    }

    /// The image of the calling process; made now if there is none yet.
    fn image(&self) -> Option<Image<'_>> {
        let at = |page| Image::at(self.pages(), self.free(), page);
        // Relaxed: written by this process, or by the one that forked it; either way before us.
        let current = self.current.load(Relaxed);
        let pid = u64::from(process::pid());
        if current >> 32 == pid {
            return at(current & 0xFFFF_FFFF);
        }
        if self.access == Access::Read {
            return None;
        }
        let page = image::create(self.pages(), self.free(), self.images())?;
        // Relaxed (both): the page was made by this thread, and is published by its place in the list. Of two threads that
        // are first at once one has made an image for nothing.
        let page = match self.current.compare_exchange(current, pid << 32 | page, Relaxed, Relaxed) {
            Ok(_) => page,
            Err(other) => other & 0xFFFF_FFFF,
        };
        at(page)
    }

    /// The image of a table, which is that of the process that its thread lives in.
    fn image_of(&self, table: &Table<'_>) -> Option<Image<'_>> {
        Image::at(self.pages(), self.free(), table.image())
    }

    /// Notes the modules of the calling process as they are now, and passes the range of each piece of code to `each`: due
    /// before its first row, and whenever a caller lies in none that is known.
    pub fn note_modules(&self, table: &Table<'_>, each: &mut dyn FnMut(core::ops::Range<u64>)) {
        if let Some(image) = self.image_of(table) {
            image.note_modules(each);
        }
    }

    /// Keeps a piece of the calling thread's stack, if this lock or this caller has none yet.
    pub fn keep_stack(&self, table: &Table<'_>, key: Key, registers: Registers) {
        if let Some(image) = self.image_of(table).filter(|image| image.wants_stack(key)) {
            image.keep_stack(key, registers);
        }
    }

    /// A table for the calling thread; some microseconds, or a hundred for the first of a process. None if there is no memory
    /// for another: the thread is then counted as not recorded. None also of a recording that is only read.
    pub fn claim(&self) -> Option<Table<'_>> {
        let table = self.image().and_then(|image| self.reused(&image).or_else(|| self.fresh(&image)));
        if table.is_none() && self.access == Access::Write {
            // Relaxed: a count.
            self.map.words()[REFUSED].fetch_add(1, Relaxed);
        }
        table
    }

    fn reused(&self, image: &Image<'_>) -> Option<Table<'_>> {
        let pages = self.pages();
        let link = |page: u32| Some(&pages.page(page.into())?[LINK]);
        let page = pool::pop(&image.words()[image::RELEASED], link)?;
        let table = Table::at(pages, self.free(), page.into(), self.stride())?;
        let head = table.head();
        table.holding().clear();
        // Relaxed (all): times that readers take as they are.
        let lived = head[table::UNTIL].load(Relaxed).saturating_sub(head[table::SINCE].load(Relaxed));
        slot::bump(&head[table::LIVED], lived);
        head[table::SINCE].store(clock::ticks(), Relaxed);
        head[table::UNTIL].store(0, Relaxed);
        head[OWNER].store(whoami(), Relaxed);
        Some(table)
    }

    fn fresh(&self, image: &Image<'_>) -> Option<Table<'_>> {
        let pages = self.pages();
        let page = pages::take(self.free(), pages.len(), 1)?;
        pages.populate(page, 1).ok()?;
        let table = Table::at(pages, self.free(), page, self.stride())?;
        let head = table.head();
        // Relaxed (all): published by the push.
        head[table::IMAGE].store(image.page(), Relaxed);
        head[table::SINCE].store(clock::ticks(), Relaxed);
        head[OWNER].store(whoami(), Relaxed);
        list::push(&image.words()[image::TABLES], head, page);
        Some(table)
    }

    /// Gives a table back when its thread ends: its counts stay, its next owner adds to them. `used` is how long the thread
    /// was on a CPU and how long it waited for one, in nanoseconds, if known. A table that was inherited through fork is not
    /// the caller's to give and is left alone.
    pub fn release(&self, table: Table<'_>, used: Option<(u64, u64)>) {
        let head = table.head();
        // Relaxed (all): the owner wrote the words itself; published by the push. The next owner writes its own name.
        if head[OWNER].load(Relaxed) != whoami() {
            return;
        }
        let image = Image::at(self.pages(), self.free(), head[table::IMAGE].load(Relaxed));
        let (on_cpu, runnable) = used.unwrap_or_default();
        slot::bump(&head[table::ON_CPU], on_cpu);
        slot::bump(&head[table::RUNNABLE], runnable);
        head[table::UNTIL].store(clock::ticks(), Relaxed);
        self.beat();
        // A wait that was cancelled has ended with its thread.
        head[table::WAITING_SINCE].store(0, Relaxed);
        head[OWNER].store(0, Relaxed);
        if let (Some(image), Ok(page)) = (image, u32::try_from(table.page())) {
            pool::push(&image.words()[image::RELEASED], &head[LINK], page);
        }
    }

    /// Ends another thread's hold of a lock that the calling thread has released in its place, and says what is known of it.
    /// Looks at `table`'s fellows in the same process, at most at `most` of them.
    pub fn take_over(&self, table: &Table<'_>, lock: u64, most: usize) -> Option<Grip> {
        let image = self.image_of(table)?;
        let fellows = list::walk(self.pages(), &image.words()[image::TABLES]);
        let found =
            fellows.take(most).find_map(|(_, head)| crate::held::Held::new(head).take_from_another(lock))?;
        table.count(Event::HandedOver, 1);
        Some(found)
    }

    /// The sums over all tables as they stand; at any time, while the program runs or after its end, however
    /// it ended.
    ///
    /// Beside running threads each sum is whole but the sums are not of one instant: a sample may be seen in
    /// its count and not yet in its time. The error is one sample per thread.
    pub fn snapshot(&self) -> Snapshot {
        crate::snapshot::take(self.pages(), self.map.words(), self.stride(), self.level)
    }
}

fn whoami() -> u64 {
    u64::from(process::pid()) << 32 | u64::from(process::tid())
}

const _: () = assert!(Event::ALL.len() <= table::EVENTS && WORDS * 8 == BYTES);
