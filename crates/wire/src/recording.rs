//! The recording file: a header page, followed by the pages that the recorded processes allocated for their data.

use crate::checksum::Checksum;
use crate::disturbance::Disturbance;
use crate::error::{Reason, RecordingError};
use crate::event::{Event, Key};
use crate::format::{MAX_PAGES, MIN_PAGES, OLDEST, VERSION};
use crate::header::{self, CHECKSUM, FREE, HeaderFields, IMAGES, REFUSED};
use crate::held::HeldLock;
use crate::image::{self, Image, Registers};
use crate::invocation::{self, Invocation};
use crate::level::Level;
use crate::list;
use crate::pages::{self, BYTES, Pages, WORDS};
use crate::pool;
use crate::slot;
use crate::snapshot::{self, Extent, Snapshot};
use crate::table::{self, LINK, OWNER, Stride, Table};
use crate::wakeup::WakeUpCost;
use crate::window::Window;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::file_mapping::FileMapping;
use unspin_sys::process::Liveness;
use unspin_sys::{Errno, clock, limits, mem::Mapping, process, sched};

/// Parameters of a new recording.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Maximum size of all tables together in bytes, rounded up to pages. The file has this size but is sparse:
    /// memory is allocated page by page. A process needs some 20 KiB, a thread as much, and each pair of lock and
    /// caller that a thread sees 128 bytes (level `counts`) or 512 bytes.
    pub bytes: u64,
    /// Number of CPUs that the program may run on.
    pub cpus: u32,
    /// How much is recorded of each acquisition.
    pub level: Level,
}

impl Default for Config {
    /// 8 GiB, or as much as a file may have (`ulimit -f`); the CPUs that the calling thread may run on; everything.
    fn default() -> Config {
        let bytes = limits::file_size() / BYTES as u64 * BYTES as u64;
        Config {
            bytes: bytes.clamp(MIN_PAGES * BYTES as u64, 8 << 30),
            cpus: sched::affinity_count() as u32,
            level: Level::Full,
        }
    }
}

/// An open recording. The process that wants the report creates it; the metered processes join it.
#[derive(Debug)]
pub struct Recording {
    map: FileMapping,
    /// The file, for [`save`](Recording::save). Kept by a process that created the recording or only reads it.
    file: Option<File>,
    level: Level,
    access: Access,
    /// `pid << 32 | page` of the calling process's image. After fork the child's copy still names its parent.
    current: AtomicU64,
}

/// Whether a table stands for its thread. The discriminants are part of the file's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TableRole {
    OfThread = 0,
    Second = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Write,
    Read,
}

impl Recording {
    /// Creates a recording file, readable and writable by its owner only, and starts its clock. It is an error if the
    /// file exists; the existing file is left unchanged.
    pub fn create(path: &Path, config: Config) -> Result<Recording, RecordingError> {
        let error = |reason| RecordingError::new(path, reason);
        let pages = config.bytes.div_ceil(BYTES as u64);
        if !(MIN_PAGES..=MAX_PAGES).contains(&pages) {
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
        let map = Mapping::map_shared(&file, pages as usize * BYTES).map_err(Reason::Map)?;
        Pages::of(&map).populate(0, 1).map_err(|error| match error {
            // madvise(2): EFAULT where a store would have raised SIGBUS.
            Errno::EFAULT => Reason::Map(Errno::ENOSPC),
            other => Reason::Map(other),
        })?;
        header::write(map.words(), pages, config.cpus.max(1), config.level);
        Ok(Recording::new(map, Some(file), config.level, Access::Write))
    }

    fn new(map: Mapping, file: Option<File>, level: Level, access: Access) -> Recording {
        Recording { map: FileMapping::new(map), file, level, access, current: AtomicU64::new(0) }
    }

    /// Joins a recording made by [`create`](Recording::create), in order to record in it. Everything in the file is
    /// checked before it is used. (If the file is truncated while it is open, every process that uses it gets
    /// SIGBUS, whose handler calls [`handle_sigbus`](unspin_sys::file_mapping::handle_sigbus).)
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let joined = Self::open_file(path, File::options().read(true).write(true), VERSION).and_then(
            |(file, facts, bytes)| {
                let expected = facts.pages * BYTES as u64;
                if bytes < expected {
                    return Err(Reason::Truncated { expected, found: bytes });
                }
                let map = Mapping::map_shared(&file, expected as usize).map_err(Reason::Map)?;
                Ok(Recording::new(map, None, facts.level, Access::Write))
            },
        );
        joined.map_err(|reason| RecordingError::new(path, reason))
    }

    /// Opens a recording for reading: a live one, one left behind by a dead program, or a [saved](Recording::save)
    /// one.
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        let loaded =
            Self::open_file(path, File::options().read(true), OLDEST).and_then(|(file, facts, bytes)| {
                // A live recording grows into pages that the file already has. A saved one has only the used pages.
                let len = bytes.min(facts.pages * BYTES as u64) as usize / BYTES * BYTES;
                verify(&file, &facts)?;
                let map = Mapping::map_shared_read_only(&file, len).map_err(Reason::Map)?;
                Ok(Recording::new(map, Some(file), facts.level, Access::Read))
            });
        loaded.map_err(|reason| RecordingError::new(path, reason))
    }

    /// Opens a file whose format has at least the version `oldest`.
    fn open_file(
        path: &Path,
        how: &mut std::fs::OpenOptions,
        oldest: u64,
    ) -> Result<(File, HeaderFields, u64), Reason> {
        let open = |e: unspin_sys::Errno| Reason::Open(io::Error::from_raw_os_error(e.0));
        if !unspin_sys::file::is_regular(path).map_err(open)? {
            return Err(Reason::NotARecording);
        }
        let file = how.open(path).map_err(Reason::Open)?;
        let bytes = unspin_sys::file::bytes(&file).map_err(open)?;
        // On the stack: the first lock that a program takes may be its allocator's.
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
        let facts = header::check(bytes, oldest, |index| u64::from_ne_bytes(words[index]))?;
        Ok((file, facts, bytes))
    }

    /// (Re)starts the clock. Call it right before the program is started, if time passes between `create` and the
    /// start of the program.
    pub fn start(&self) {
        if self.access == Access::Write {
            header::start(self.map.words());
        }
    }

    /// Stops the clock. `cpu_time` is the CPU time, user and system, of the program and its children, if known. It
    /// makes the CEIL column more exact.
    pub fn finish(&self, cpu_time: Option<Duration>) {
        if self.access == Access::Write {
            header::finish(self.map.words(), cpu_time.map_or(0, |t| t.as_nanos() as u64));
        }
    }

    /// Stores the cost of a wake-up on this machine. Call it before the program is started. From then on the file and
    /// all snapshots contain it.
    pub fn set_wake_up(&self, cost: WakeUpCost) {
        if self.access == Access::Write {
            header::set_wake_up(self.map.words(), cost);
        }
    }

    /// Stores what has taken CPU time from the program until now.
    pub fn set_disturbance(&self, disturbance: Disturbance) {
        if self.access == Access::Write {
            header::set_disturbance(self.map.words(), disturbance);
        }
    }

    /// Whether the clock was stopped. A recording whose creator was killed is not finished, and its last records may be
    /// missing.
    pub fn is_finished(&self) -> bool {
        header::is_finished(self.header())
    }

    /// Stores how the program is started. Call it before the program is started. From then on the file and all
    /// snapshots contain it.
    pub fn set_invocation(&self, invocation: &Invocation) {
        if self.access == Access::Write {
            invocation::write(self.map.words(), invocation);
        }
    }

    /// How the program was started.
    pub fn invocation(&self) -> Invocation {
        invocation::read(self.header())
    }

    /// Copies the used pages to a file of their own, for [`load`](Recording::load), with a checksum. Programs may
    /// continue to record in this one.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let from = self.file.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        if self.is_lost() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut to = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let (mut page, mut checksum) = ([0; BYTES], Checksum::default());
        // Relaxed: the pages in use at this moment; later ones are not copied.
        let used = self.map.words()[FREE].load(Relaxed).min(self.pages().len());
        // A page behind the end of a file that was cut short could not be used.
        let used = used.min(unspin_sys::file::bytes(from).map_or(used, |bytes| bytes / BYTES as u64));
        for number in 0..used {
            // read(2) does not allocate pages that have never been written to.
            from.read_exact_at(&mut page, number * BYTES as u64)?;
            if number == 0 {
                page[8 * FREE..][..8].copy_from_slice(&used.to_ne_bytes());
                page[8 * CHECKSUM..][..8].fill(0);
            }
            checksum.add(&page);
            to.write_all(&page)?;
        }
        match to.write_all_at(&checksum.finish().to_ne_bytes(), 8 * CHECKSUM as u64) {
            // A pipe: the recording has no checksum.
            Err(e) if e.kind() == io::ErrorKind::NotSeekable => (),
            written => written?,
        }
        to.flush()
    }

    /// Whether what was recorded is gone, because the file was cut short while it was mapped. Then nothing more is
    /// recorded. A reader asks after it has taken the snapshot, which finds out whether pages are missing.
    pub fn is_lost(&self) -> bool {
        // Relaxed: a number; 0 only in memory that has replaced the file, or in a file that was made empty.
        self.map.words()[FREE].load(Relaxed) == 0
    }

    /// Whether the file was cut short while it was mapped, be it behind what was recorded. Not known in a process that
    /// has joined, unless the recording is lost.
    pub fn is_cut_short(&self) -> bool {
        self.is_lost() || self.file_bytes().is_some_and(|bytes| bytes < self.map.len() as u64)
    }

    /// Length of the file; none in a process that has joined, which keeps no descriptor.
    fn file_bytes(&self) -> Option<u64> {
        unspin_sys::file::bytes(self.file.as_ref()?).ok()
    }

    /// How much is recorded of each acquisition.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Bytes of the file that are in use or reserved.
    pub fn bytes(&self) -> u64 {
        // Relaxed: a number.
        self.map.words()[FREE].load(Relaxed) * BYTES as u64
    }

    /// The addresses at which the recording is mapped. The range is far larger than the part in use; do not ask the
    /// kernel to populate or lock all of it.
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

    /// Head of the list of images.
    pub(crate) fn images(&self) -> &AtomicU64 {
        &self.header()[IMAGES]
    }

    pub(crate) fn free(&self) -> &AtomicU64 {
        &self.map.words()[FREE]
    }

    pub(crate) fn stride(&self) -> Stride {
        if self.level == Level::Counts { Stride::Counts } else { Stride::Whole }
    }

    /// The image of the calling process. It is created if there is none yet.
    fn image(&self) -> Option<Image<'_>> {
        let at = |page| Image::at(self.pages(), self.free(), page);
        // Relaxed: the word was written by this process, or before the fork by its parent; in both cases before this
        // load.
        let current = self.current.load(Relaxed);
        let pid = u64::from(process::pid());
        if current >> 32 == pid {
            return at(current & 0xFFFF_FFFF);
        }
        if self.access == Access::Read {
            return None;
        }
        let page = image::create(self.pages(), self.free(), self.images())?;
        // Relaxed (both): this thread made the page, and its place in the list publishes it. If two threads of a
        // process arrive first at the same time, one of the two images remains unused.
        let page = match self.current.compare_exchange(current, pid << 32 | page, Relaxed, Relaxed) {
            Ok(_) => page,
            Err(other) => other & 0xFFFF_FFFF,
        };
        at(page)
    }

    /// The first page of the image of the calling process; none if it has used no lock.
    pub(crate) fn own_image(&self) -> Option<&[AtomicU64; WORDS]> {
        // Relaxed: as in `image`.
        let current = self.current.load(Relaxed);
        let is_own = current >> 32 == u64::from(process::pid());
        self.pages().page(current & 0xFFFF_FFFF).filter(|_| is_own)
    }

    /// The image that a table belongs to: that of the process in which its thread lives.
    fn image_of(&self, table: &Table<'_>) -> Option<Image<'_>> {
        Image::at(self.pages(), self.free(), table.image())
    }

    /// Records the modules of the calling process as they are now, and passes the address range of each piece of code
    /// to `each`. Call it before the process's first row, and whenever a caller lies in no known module.
    pub fn note_modules(&self, table: &Table<'_>, each: &mut dyn FnMut(core::ops::Range<u64>)) {
        if let Some(image) = self.image_of(table) {
            image.note_modules(each);
        }
    }

    /// Copies a piece of the calling thread's stack, unless there is one already for this lock and this caller.
    pub fn keep_stack(&self, table: &Table<'_>, key: Key, registers: Registers) {
        if let Some(image) = self.image_of(table).filter(|image| image.wants_stack(key)) {
            image.keep_stack(key, registers);
        }
    }

    /// Claims a table for the calling thread. It takes some microseconds, or some hundred for the first table of a
    /// process. None if there is no memory for another table; the thread is then counted as not recorded. Also none
    /// if the recording is only read.
    pub fn claim(&self) -> Option<Table<'_>> {
        self.claim_as(TableRole::OfThread)
    }

    /// As [`claim`](Recording::claim), for a thread that may already have a table in this file, which another recorder
    /// in its process has claimed through a mapping of its own. The rows count; the thread and its times are those of
    /// its other table.
    pub fn claim_second(&self) -> Option<Table<'_>> {
        self.claim_as(TableRole::Second)
    }

    fn claim_as(&self, role: TableRole) -> Option<Table<'_>> {
        let table =
            self.image().and_then(|image| self.reuse_table(&image).or_else(|| self.add_table(&image)));
        if table.is_none() && self.access == Access::Write {
            // Relaxed: a count.
            self.map.words()[REFUSED].fetch_add(1, Relaxed);
        }
        if let Some(table) = &table {
            // Relaxed: a reader that does not see it yet counts the thread for a moment.
            table.head()[table::IS_SECOND].store(role as u64, Relaxed);
        }
        table
    }

    fn reuse_table(&self, image: &Image<'_>) -> Option<Table<'_>> {
        let pages = self.pages();
        let link = |page: u32| Some(&pages.page(page.into())?[LINK]);
        let page = pool::pop(&image.words()[image::RELEASED], link)?;
        let table = Table::at(pages, self.free(), page.into(), self.stride())?;
        let head = table.head();
        table.held_locks().clear();
        table.tokens().clear();
        // Relaxed (all): readers take these times as they are.
        let lived = head[table::UNTIL].load(Relaxed).saturating_sub(head[table::SINCE].load(Relaxed));
        slot::add(&head[table::LIVED], lived);
        head[table::SINCE].store(clock::ticks(), Relaxed);
        head[table::UNTIL].store(0, Relaxed);
        head[OWNER].store(own_thread_id(), Relaxed);
        Some(table)
    }

    fn add_table(&self, image: &Image<'_>) -> Option<Table<'_>> {
        let pages = self.pages();
        let page = pages::take(self.free(), pages.len(), 1)?;
        pages.populate(page, 1).ok()?;
        let table = Table::at(pages, self.free(), page, self.stride())?;
        let head = table.head();
        // Relaxed (all): published by the push.
        head[table::IMAGE].store(image.page(), Relaxed);
        head[table::SINCE].store(clock::ticks(), Relaxed);
        head[OWNER].store(own_thread_id(), Relaxed);
        list::push(&image.words()[image::TABLES], head, page);
        Some(table)
    }

    /// Gives a table back when its thread ends. The counts stay, and the next owner adds to them. `used` is the time
    /// that the thread was on a CPU and the time that it waited for a CPU, in nanoseconds, if known. A child process
    /// does not own the tables that it inherited through fork; such a table is left unchanged.
    pub fn release(&self, table: Table<'_>, used: Option<(u64, u64)>) {
        let head = table.head();
        // Relaxed (all): the owner wrote the words itself, and the push publishes them. The next owner stores its own
        // id.
        if head[OWNER].load(Relaxed) != own_thread_id() {
            return;
        }
        let image = Image::at(self.pages(), self.free(), head[table::IMAGE].load(Relaxed));
        let (on_cpu, runnable) = used.unwrap_or_default();
        slot::add(&head[table::ON_CPU], on_cpu);
        slot::add(&head[table::RUNNABLE], runnable);
        head[table::UNTIL].store(clock::ticks(), Relaxed);
        self.update_last_seen();
        // If the thread was cancelled during a wait, the wait has ended with the thread.
        head[table::WAITING_SINCE].store(0, Relaxed);
        head[OWNER].store(0, Relaxed);
        if let (Some(image), Ok(page)) = (image, u32::try_from(table.page())) {
            pool::push(&image.words()[image::RELEASED], &head[LINK], page);
        }
    }

    /// Ends another thread's hold of a lock that the calling thread has released, and returns what was recorded of
    /// the hold. Searches the tables of the same process, `most` of them at most.
    pub fn take_over(&self, table: &Table<'_>, lock: u64, most: usize) -> Option<HeldLock> {
        let image = self.image_of(table)?;
        let fellows = list::walk(self.pages(), &image.words()[image::TABLES]);
        let found = fellows
            .take(most)
            .find_map(|(_, head)| crate::held::HeldLocks::new(head).take_from_another(lock))?;
        table.count_event(Event::ForeignUnlock, 1);
        Some(found)
    }

    /// The time metered: up to now, or the whole time if the recording is finished.
    pub fn window(&self) -> Window {
        header::window(self.map.words(), Liveness::Alive)
    }

    /// The sums over all tables as they are now. It may be called at any time: while the program runs, after it
    /// ended, and after it was killed.
    ///
    /// While threads run, each sum is whole but the sums are not taken at one instant. A sample may already be in its
    /// count and not yet in its time. The error is at most one sample per thread. If the recording
    /// [is lost](Recording::is_lost), the snapshot is empty.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_of(Extent::Whole)
    }

    /// A [`snapshot`](Recording::snapshot) without modules and stacks, which are by far its largest part. Names need them; a
    /// reader that has the names of all rows needs them no more until [`texts`](Recording::texts) differs.
    pub fn counts(&self) -> Snapshot {
        self.snapshot_of(Extent::Counts)
    }

    fn snapshot_of(&self, extent: Extent) -> Snapshot {
        let snapshot = snapshot::take(self.pages(), self.map.words(), self.stride(), self.level, extent);
        if self.is_lost() { Snapshot::empty() } else { snapshot }
    }

    /// Number of lists of modules and of stacks in the recording.
    pub fn texts(&self) -> u64 {
        list::walk(self.pages(), self.images())
            .fold(0, |sum, (_, words)| sum.saturating_add(image::texts(words)))
    }

    /// The number of bytes that the recording can have.
    pub fn capacity(&self) -> u64 {
        self.map.len() as u64
    }
}

/// Compares a saved recording with its checksum. Other recordings have none.
fn verify(file: &File, facts: &HeaderFields) -> Result<(), Reason> {
    if facts.checksum == 0 {
        return Ok(());
    }
    let (mut page, mut checksum) = ([0; BYTES], Checksum::default());
    for number in 0..facts.used {
        file.read_exact_at(&mut page, number * BYTES as u64).map_err(Reason::Open)?;
        if number == 0 {
            page[8 * CHECKSUM..][..8].fill(0);
        }
        checksum.add(&page);
    }
    match checksum.finish() == facts.checksum {
        true => Ok(()),
        false => Err(Reason::Damaged("it was changed after it was closed: its checksum does not match")),
    }
}

fn own_thread_id() -> u64 {
    u64::from(process::pid()) << 32 | u64::from(process::tid())
}

const _: () = assert!(Event::ALL.len() <= table::EVENTS && WORDS * 8 == BYTES);
