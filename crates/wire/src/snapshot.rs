//! The contents of a recording at one time.

use crate::counts::Counts;
use crate::disturbance::Disturbance;
use crate::event::{Event, Key};
use crate::format::WEIGHTS_SINCE;
use crate::header::{self, IMAGES, REFUSED};
use crate::held::{HeldLock, HeldLocks};
use crate::histogram::{BUCKETS, Histogram, TimeKind};
use crate::image::{self, load_bytes};
use crate::invocation::{self, Invocation};
use crate::kind::RecordKind;
use crate::level::Level;
use crate::list;
use crate::pages::{Pages, WORDS};
use crate::slot::{self, FirstUse};
use crate::table::{self, Stride};
use crate::tokens::Tokens;
use crate::waits_in_progress::WaitsInProgress;
use crate::wakeup::WakeUpCost;
use crate::window::Window;
use std::collections::BTreeMap;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::process::{self, Liveness};

/// The contents of a recording, summed over the threads of each process.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// The time metered.
    pub window: Window,
    /// Start of the recording, in nanoseconds since the epoch.
    pub started: u64,
    /// How much was recorded.
    pub level: Level,
    /// The cost of a wake-up on the machine; none if it was not measured.
    pub wake_up: Option<WakeUpCost>,
    /// What took CPU time from the program; none if it was not measured.
    pub disturbance: Option<Disturbance>,
    /// How the program was started.
    pub invocation: Invocation,
    /// The processes, in the order of their first use of a lock.
    pub images: Vec<Image>,
    /// How much is missing from the tables.
    pub unrecorded: Unrecorded,
}

/// One process from its start, or its last exec, to its end.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Image {
    /// Process id.
    pub pid: u32,
    /// Process id of its parent.
    pub parent: u32,
    /// Start of recording in this process, in ticks since the recording began.
    pub since: u64,
    /// For a process that ended before the recording did: the last time at which it is known to have been alive, in
    /// ticks since the recording began.
    pub ended: Option<u64>,
    /// The arguments, the first of which is the program's name.
    pub command: Vec<String>,
    /// What was mapped, by generation from 1 on: lines of `/proc/PID/maps`. A row whose
    /// [generation](FirstUse::generation) is n refers to `modules[n - 1]`.
    pub modules: Vec<Vec<u8>>,
    /// Pieces of stack, oldest first.
    pub stacks: Vec<Stack>,
    /// The samples' sums.
    pub rows: BTreeMap<Key, Record>,
    /// The event counts, indexed by [`Event`].
    pub events: [u64; Event::ALL.len()],
    /// Threads that ended and threads that run. One entry may stand for several threads that used a table one after
    /// another.
    pub threads: Vec<Thread>,
}

/// The counts of one lock and one caller, summed over threads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Record {
    /// When the key was first seen, in ticks since the recording began, and the module generation at that time.
    pub first_use: FirstUse,
    /// When an object was last initialised here, in ticks since the recording began. 0 for every kind except
    /// [`RecordKind::Init`](crate::RecordKind::Init), and at level `counts`.
    pub latest: u64,
    /// The counts. They include the holds and waits in progress up to now, and the waits that preceded these holds.
    pub counts: Counts,
    /// The part of the counts that is waits in progress.
    pub waits_in_progress: WaitsInProgress,
    /// The lengths of the timed holds.
    pub holds: Histogram,
    /// The lengths of the waits.
    pub waits: Histogram,
}

/// A piece of a thread's stack, copied at the first use of a lock, or at the first use by a caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The key of the use.
    pub key: Key,
    /// The instruction pointer: the caller in the key, or a wrapper function that took the lock for that caller.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame-base register.
    pub bp: u64,
    /// Memory from the stack pointer up.
    pub bytes: Vec<u8>,
}

/// A thread, or several threads that used one table one after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Thread id of the current owner; 0 if there is none.
    pub tid: u32,
    /// Ticks from the first use of a lock to the thread's end, or to now if there is an owner (it may be dead).
    pub lived: u64,
    /// Nanoseconds on a CPU of the threads that have ended.
    pub on_cpu: u64,
    /// Nanoseconds that the threads that have ended waited for a CPU.
    pub runnable: u64,
    /// The locks that the owner holds: the key, and the acquisition in ticks since the recording began.
    pub holds: Vec<(Key, u64)>,
    /// The semaphores from which the owner has taken a token that it has not posted: the key, and the time in ticks
    /// since the recording began.
    pub tokens: Vec<(Key, u64)>,
    /// The object that the owner waits for, if any, and the start of the wait in ticks since the recording began.
    pub waits: Option<(Key, u64)>,
    /// Whether a deadline may end that wait.
    pub wait_may_time_out: bool,
}

/// How much was not recorded, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unrecorded {
    /// Samples that were lost because there was no memory for a row of their key.
    pub overflowed: u64,
    /// Threads that got no table. The number of their samples is unknown.
    pub threads: u64,
}

impl Unrecorded {
    /// Whether the tables hold everything.
    pub fn is_nothing(&self) -> bool {
        *self == Unrecorded::default()
    }
}

impl Snapshot {
    /// A snapshot of one process with these rows, for callers that have counts from another source.
    pub fn of_rows(window: Window, rows: impl IntoIterator<Item = (Key, Counts)>) -> Snapshot {
        let record = |(key, counts)| (key, Record { counts, ..Record::default() });
        let image = Image { rows: rows.into_iter().map(record).collect(), ..Image::default() };
        let unrecorded = Unrecorded::default();
        Snapshot {
            window,
            started: 0,
            level: Level::Full,
            wake_up: None,
            disturbance: None,
            invocation: Invocation::default(),
            images: vec![image],
            unrecorded,
        }
    }

    /// A snapshot of no process, over a second.
    pub(crate) fn empty() -> Snapshot {
        let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
        Snapshot { images: Vec::new(), ..Snapshot::of_rows(window, []) }
    }

    /// The sums of an event over all processes.
    pub fn event(&self, event: Event) -> u64 {
        self.images.iter().fold(0, |sum, image| sum.saturating_add(image.events[event as usize]))
    }

    /// The counts of all keys together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for record in self.images.iter().flat_map(|image| image.rows.values()) {
            total.merge(&record.counts);
        }
        total
    }
}

/// What of the images is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// No modules and no stacks.
    Counts,
}

pub(crate) fn take(
    pages: Pages<'_>,
    words: &[AtomicU64],
    stride: Stride,
    level: Level,
    extent: Extent,
) -> Snapshot {
    let program = liveness(pages, words);
    let has_weights = header::version(words) >= WEIGHTS_SINCE;
    let mut reader = Reader::new(pages, stride, has_weights, extent, header::ticks(words, program));
    // Relaxed: a count.
    let refused = words[REFUSED].load(Relaxed);
    let mut unrecorded = Unrecorded { threads: refused, ..Unrecorded::default() };
    let images = reader.list(&words[IMAGES]);
    // Latest first.
    let mut later = LaterImages::default();
    let mut images: Vec<Image> = images
        .into_iter()
        .map(|page| reader.image(page, later.next_program(page), &mut unrecorded))
        .collect();
    images.reverse();
    // If several threads of a new process arrive first at once, each makes an image, and one of the images is used.
    images.retain(|image| !image.threads.is_empty() || !image.rows.is_empty());
    Snapshot {
        window: header::window(words, program),
        started: header::start_time(words),
        level,
        wake_up: header::wake_up(words),
        disturbance: header::disturbance(words),
        invocation: invocation::read(words),
        images,
        unrecorded,
    }
}

/// Alive if a recorded process lives, or if no process has joined yet.
fn liveness(pages: Pages<'_>, words: &[AtomicU64]) -> Liveness {
    let mut pids =
        list::walk(pages, &words[IMAGES]).map(|(_, image)| (word(image, image::PROCESS) >> 32) as u32);
    match pids.next() {
        Some(first) if !process::exists(first) && !pids.any(process::exists) => Liveness::Dead,
        _ => Liveness::Alive,
    }
}

struct Reader<'m> {
    pages: Pages<'m>,
    stride: Stride,
    /// Whether rows with histograms say for how many holds the timed ones stand.
    has_weights: bool,
    extent: Extent,
    /// Beginning and end of the recording.
    ticks: (u64, u64),
    /// The pages that have been found in a list. Only in a damaged file is a page in two lists, or in one list twice.
    seen: Vec<bool>,
    /// Upper bound of the rows still to be read. The tables of a damaged file may refer to the same pages again and
    /// again.
    rows_left: usize,
}

type Page = [AtomicU64; WORDS];

/// Loads a word. Relaxed for all uses below: the place of the page in its list was acquired before, or the word is a
/// count that is taken as it is.
fn word(page: &Page, index: usize) -> u64 {
    // Relaxed: as stated.
    page[index].load(Relaxed)
}

impl<'m> Reader<'m> {
    fn new(
        pages: Pages<'m>,
        stride: Stride,
        has_weights: bool,
        extent: Extent,
        ticks: (u64, u64),
    ) -> Reader<'m> {
        let all = pages.len() as usize;
        Reader {
            pages,
            stride,
            has_weights,
            extent,
            ticks,
            seen: vec![false; all],
            rows_left: all * WORDS / stride as usize,
        }
    }

    /// The pages of a list, latest first.
    fn list(&mut self, head: &AtomicU64) -> Vec<&'m Page> {
        let seen = &mut self.seen;
        let mut fresh = |page: &u64| !core::mem::replace(&mut seen[*page as usize], true);
        list::walk(self.pages, head).take_while(|(page, _)| fresh(page)).map(|(_, words)| words).collect()
    }

    /// Ticks since the recording began.
    fn since(&self, ticks: u64) -> u64 {
        ticks.saturating_sub(self.ticks.0)
    }

    /// Reads an image. `next` is the start of the next image of the same process, in ticks.
    fn image(&mut self, page: &'m Page, next: Option<u64>, unrecorded: &mut Unrecorded) -> Image {
        let process = word(page, image::PROCESS);
        let ended = self.end_of(page, next);
        let mut image = Image {
            pid: (process >> 32) as u32,
            parent: process as u32,
            since: self.since(word(page, image::SINCE)),
            ended: ended.map(|ended| self.since(ended)),
            command: image::command(page),
            ..Image::default()
        };
        if self.extent == Extent::Whole {
            self.blobs(page, &mut image);
        }
        for head in self.list(&page[image::TABLES]) {
            self.table(head, ended, &mut image);
            unrecorded.overflowed = unrecorded.overflowed.saturating_add(word(head, table::OVERFLOWED));
        }
        image.threads.reverse();
        leave_one_holder(&mut image);
        add_present_readers(&mut image, self.since(ended.unwrap_or(self.ticks.1)));
        image
    }

    /// The last time at which the process of an image is known to have been alive, in ticks; none if it is not known to
    /// have ended before the recording did.
    fn end_of(&self, page: &Page, next: Option<u64>) -> Option<u64> {
        let (seen, since) = (word(page, image::SEEN), word(page, image::SINCE));
        let found = word(page, image::ENDED) != 0;
        let seen = found.then_some(seen.max(since));
        seen.into_iter().chain(next).min().filter(|&ended| ended < self.ticks.1)
    }

    /// Reads the texts and stacks of an image.
    fn blobs(&mut self, page: &'m Page, image: &mut Image) {
        let mut texts = BTreeMap::<u64, Vec<Vec<u8>>>::new();
        for blob in self.list(&page[image::BLOBS]) {
            let bytes = word(blob, image::BLOB_BYTES).min(image::BLOB_ROOM as u64) as usize;
            let bytes = load_bytes(&blob[image::BLOB_FIRST..], bytes);
            match word(blob, image::BLOB_GENERATION) {
                0 => image.stacks.push(Stack {
                    key: Key { lock: word(blob, image::STACK_LOCK), caller: word(blob, image::STACK_CALLER) },
                    ip: word(blob, image::STACK_IP),
                    sp: word(blob, image::STACK_SP),
                    bp: word(blob, image::STACK_BP),
                    bytes,
                }),
                generation => texts.entry(generation).or_default().push(bytes),
            }
        }
        image.stacks.reverse();
        // The list is in reverse order: latest page first.
        image.modules =
            texts.into_values().map(|parts| parts.into_iter().rev().flatten().collect()).collect();
    }

    /// Reads a table. `ended` is the end of its process, if that is known.
    fn table(&mut self, head: &'m Page, ended: Option<u64>, image: &mut Image) {
        for event in Event::ALL {
            let sum = &mut image.events[event as usize];
            // Saturating, as in `Counts`: the file may be damaged.
            *sum = sum.saturating_add(word(head, table::FIRST_EVENT + event as usize));
        }
        for row in table::rows(self.pages, head, self.stride).take(self.rows_left) {
            self.rows_left -= 1;
            let record = Record {
                first_use: FirstUse { ticks: self.since(row.first_use.ticks), ..row.first_use },
                latest: self.since(row.latest),
                counts: if self.has_weights { row.counts } else { without_weights(row.counts) },
                waits_in_progress: WaitsInProgress::default(),
                holds: row.holds,
                waits: row.waits,
            };
            image.rows.entry(row.key).and_modify(|known| known.merge(&record)).or_insert(record);
        }
        let end = ended.unwrap_or(self.ticks.1);
        let mut holds = Vec::new();
        let grips: Vec<HeldLock> = HeldLocks::new(head).iter().collect();
        for (at, grip) in grips.iter().enumerate() {
            let key = self.pages.array(grip.row as usize).map_or(Key { lock: 0, caller: 0 }, slot::key);
            holds.push((Key { lock: grip.lock, ..key }, self.since(grip.since)));
            // Only a reader holds a lock more than once at a time. For any other kind the earlier hold ended unseen:
            // by longjmp, or because the lock was initialised again.
            let is_over = grips[at + 1..].iter().any(|above| above.lock == grip.lock && above.since != 0);
            if let Some(record) = image.rows.get_mut(&key)
                && (!is_over || key.kind() == Some(RecordKind::Read))
            {
                record.counts.merge(&counts_of_hold(grip, end));
            }
        }
        let tokens = Tokens::new(head).iter().map(|token| {
            let key = self.pages.array(token.row as usize).map_or(Key { lock: 0, caller: 0 }, slot::key);
            (Key { lock: token.lock, ..key }, self.since(token.since))
        });
        let tokens = tokens.collect();
        let (waits, wait_may_time_out) = self.wait(head);
        if let Some((key, since)) = waits
            && let Some(record) = image.rows.get_mut(&key)
        {
            let wait = WaitsInProgress::one(key, end.saturating_sub(since));
            record.counts.merge(&wait.counts(key));
            record.waits_in_progress.merge(wait);
        }
        if word(head, table::IS_SECOND) != 0 {
            return;
        }
        let (owner, until) = (word(head, table::OWNER), word(head, table::UNTIL));
        let until = if until == 0 { end } else { until };
        image.threads.push(Thread {
            tid: owner as u32,
            lived: word(head, table::LIVED).saturating_add(until.saturating_sub(word(head, table::SINCE))),
            on_cpu: word(head, table::ON_CPU),
            runnable: word(head, table::RUNNABLE),
            holds,
            tokens,
            // The wait of a process that has ended has ended, too.
            waits: waits.filter(|_| ended.is_none()).map(|(key, since)| (key, self.since(since))),
            wait_may_time_out,
        });
    }

    /// The object that the owner waits for, the start of the wait in ticks, and whether a deadline may end it.
    fn wait(&self, head: &Page) -> (Option<(Key, u64)>, bool) {
        // Acquire: pairs with the Release in `Table::set_wait`.
        let since = head[table::WAITING_SINCE].load(Acquire);
        let row = usize::try_from(word(head, table::WAITING_ROW)).ok().filter(|_| since != 0);
        let key = row.and_then(|row| self.pages.array(row)).map(slot::key);
        (key.map(|key| (key, since & !table::HAS_DEADLINE)), since & table::HAS_DEADLINE != 0)
    }
}

/// The images of each process that a walk from the latest image on has met: for each process id and pid namespace the
/// program of the latest one, its start, and the start of the next program, in ticks.
#[derive(Default)]
struct LaterImages(BTreeMap<(u64, u64), (u64, u64, Option<u64>)>);

impl LaterImages {
    /// The time at which the process of an image has executed its next program. Several images of one program do not end
    /// each other: threads that arrive at once make one each, and so does a thread after a vfork(2) whose child has used
    /// locks.
    fn next_program(&mut self, page: &Page) -> Option<u64> {
        let process = (word(page, image::PROCESS) >> 32, word(page, image::NAMESPACE));
        let (program, since) = (word(page, image::PROGRAM), word(page, image::SINCE));
        let next = match self.0.get(&process) {
            Some(&(same, _, next)) if same == program => next,
            Some(&(_, later, _)) => Some(later),
            None => None,
        };
        self.0.insert(process, (program, since, next));
        next
    }
}

/// Keeps only the latest of several recorded holders of an exclusive lock. A thread that was killed between the
/// release and its recording no longer holds the lock. For untimed holds it is unknown which is the latest.
fn leave_one_holder(image: &mut Image) {
    let exclusive = |key: &Key| key.kind().is_some_and(RecordKind::has_one_holder);
    let mut latest = BTreeMap::<u64, u64>::new();
    for (key, since) in
        image.threads.iter().flat_map(|thread| &thread.holds).filter(|(key, _)| exclusive(key))
    {
        let known = latest.entry(key.address()).or_default();
        *known = (*known).max(*since);
    }
    for thread in &mut image.threads {
        thread
            .holds
            .retain(|(key, since)| !exclusive(key) || *since == 0 || *since == latest[&key.address()]);
    }
}

/// Adds the current period of locks that have readers now. The period begins with the earliest reader that still
/// holds the lock. A reader that came earlier and has left has recorded its own hold only.
fn add_present_readers(image: &mut Image, now: u64) {
    let mut first = BTreeMap::<u64, (u64, Key)>::new();
    for &(key, since) in image.threads.iter().flat_map(|thread| &thread.holds) {
        if key.kind() == Some(RecordKind::Read) && since != 0 {
            let known = first.entry(key.lock).or_insert((since, key));
            *known = (*known).min((since, key));
        }
    }
    for (since, key) in first.into_values() {
        if let Some(record) = image.rows.get_mut(&key) {
            let busy = now.saturating_sub(since);
            record.counts.merge(&Counts { busy, busy_max: busy, periods: 1, ..Counts::default() });
        }
    }
}

/// Counts of a row of a recording without weights: all holds in the histogram were timed.
fn without_weights(counts: Counts) -> Counts {
    Counts { timed: counts.timed.saturating_add(counts.implied), implied: 0, ..counts }
}

/// Counts of a hold that has not ended: its duration so far, and the wait before it. It stands for no other hold: that others are as
/// long as one that never ended is no estimate. A hold that began after its process was last seen alive counts as not timed.
fn counts_of_hold(grip: &HeldLock, end: u64) -> Counts {
    let timed = grip.since != 0 && grip.since <= end;
    let hold = if timed { end - grip.since } else { 0 };
    let (spin, sleep) = grip.wait.unwrap_or_default();
    Counts {
        timed: u64::from(timed),
        hold,
        hold_max: hold,
        spin,
        spin_max: spin,
        sleep,
        sleep_max: sleep,
        wait_max: spin.saturating_add(sleep),
        ..Counts::default()
    }
}

impl Default for Record {
    fn default() -> Record {
        Record {
            first_use: FirstUse { ticks: 0, generation: 0 },
            latest: 0,
            counts: Counts::default(),
            waits_in_progress: WaitsInProgress::default(),
            holds: Histogram::new(TimeKind::Holds, [0; BUCKETS]),
            waits: Histogram::new(TimeKind::Waits, [0; BUCKETS]),
        }
    }
}

impl Record {
    fn merge(&mut self, other: &Record) {
        self.first_use = self.first_use.min(other.first_use);
        self.latest = self.latest.max(other.latest);
        self.counts.merge(&other.counts);
        self.waits_in_progress.merge(other.waits_in_progress);
        self.holds.merge(&other.holds);
        self.waits.merge(&other.waits);
    }
}
