//! The *tally*: what the rules of a plan replaced in one run of a program, counted by all its processes in one small
//! file.
//!
//! The CLI creates the file and names it in `UNSPIN_TALLY`. The preload library maps it when it reads the plan, and adds
//! to a count when it decides on a lock or a call site: once in the life of a lock, never at its uses. Children
//! inherit the mapping, and executed programs open the file again. So the counts are complete however the processes end.
//!
//! A process of a deployed plan has a tally of its own, if the user wants a summary or a status. It also counts how replaced
//! locks and polls were used ([`TallyUse`]), where a thread has waited anyway, and says whose it is ([`Tally::owner`]).

use crate::plan::{LockFamily, RULES, SITES};
use core::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::Errno;
use unspin_sys::file_mapping::FileMapping;
use unspin_sys::mem::Mapping;
use unspin_sys::process::ThreadGroup;
use unspin_sys::regular::{self, Links};

/// The beginning of the name of a process's own tally. The numbers of the user and of the process follow.
pub const OWN_TALLY: &str = "unspin-status-";

/// The first word: the format, and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"unsptly3");
/// Length of the file. The words of all counts fit.
const BYTES: usize = 16384;
const HEAD: usize = 8;
/// The first word behind the counts of decisions: the owner, then the uses, from a multiple of 64 bytes on.
const OWNER: usize = HEAD + FAMILY * FAMILIES + 1 + SITES;
const OWNER_WORDS: usize = 3;
const USES: usize = (OWNER + OWNER_WORDS).next_multiple_of(USE_WORDS);
/// Words of a cache line: one for each use.
const USE_WORDS: usize = 8;
/// Threads with different numbers modulo this write to different cache lines.
const SHARDS: usize = 16;
/// Words that every family of locks has.
const FAMILY: usize = 1 + 2 * (1 + RULES);
const FAMILIES: usize = LockFamily::ALL.len();

/// The rule of a plan that decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TallyRow {
    /// The rule for everything to which no other rule applies. Each family of locks has one, and waits have one.
    All,
    /// A rule, by its position from 0 among the rules for locks of all families, or among the call sites.
    Rule(usize),
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TallyCount {
    /// Executed programs into which the preload library was loaded.
    Programs,
    /// Call sites of waits to which no rule applies, once for each process.
    OtherSites,
    /// Executors of the crate `unspin-runqueue` with one run queue for all workers. The executors count themselves.
    GlobalRunQueues,
    /// Executors with a run queue for each worker.
    PerCpuRunQueues,
    /// Seccomp filters, installed by programs or inherited. Under a filter no wait polls.
    Filters,
    /// Programs in which another library wraps the lock functions, or a sanitizer does: nothing is replaced.
    Wrapped,
    /// Programs in which there is code whose calls bypass the hooks: nothing is replaced from then on.
    Bypassed,
    /// Locks of the family to which no rule applies.
    Others(LockFamily),
    /// Locks of the family that the rule replaced.
    Replaced(LockFamily, TallyRow),
    /// Locks of the family to which the rule applies, and which stay libc's because of their kind: shared, robust and so on.
    Kept(LockFamily, TallyRow),
    /// Call sites of waits to which the rule applies, once for each process.
    Sites(TallyRow),
}

/// How a replaced lock, or a wait that polls, was used. Acquisitions of free locks are not counted: that would cost as much as they
/// do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TallyUse {
    /// Acquisitions of locks of the family that waited and did not sleep.
    Spun(LockFamily),
    /// Acquisitions of locks of the family that slept.
    Slept(LockFamily),
    /// Polls that found what the thread waited for.
    Found,
    /// Polls that did not, so that the thread slept.
    InVain,
}

impl TallyUse {
    fn word(self) -> usize {
        match self {
            TallyUse::Spun(family) => family as usize,
            TallyUse::Slept(family) => FAMILIES + family as usize,
            TallyUse::Found => 2 * FAMILIES,
            TallyUse::InVain => 2 * FAMILIES + 1,
        }
    }
}

const _: () = assert!(2 * FAMILIES + 2 <= USE_WORDS);
const _: () = assert!((USES + SHARDS * USE_WORDS) * size_of::<u64>() <= BYTES);

impl TallyCount {
    /// The word of the file; none for a rule beyond the limits.
    fn word(self) -> Option<usize> {
        let row = |row, limit| match row {
            TallyRow::All => Some(0),
            TallyRow::Rule(index) => (index < limit).then_some(1 + index),
        };
        let family = |family: LockFamily| HEAD + FAMILY * family as usize;
        Some(match self {
            TallyCount::Programs => 1,
            TallyCount::OtherSites => 2,
            TallyCount::GlobalRunQueues => 3,
            TallyCount::PerCpuRunQueues => 4,
            TallyCount::Filters => 5,
            TallyCount::Wrapped => 6,
            TallyCount::Bypassed => 7,
            TallyCount::Others(of) => family(of),
            TallyCount::Replaced(of, rule) => family(of) + 1 + row(rule, RULES)?,
            TallyCount::Kept(of, rule) => family(of) + 2 + RULES + row(rule, RULES)?,
            TallyCount::Sites(rule) => HEAD + FAMILY * FAMILIES + row(rule, SITES)?,
        })
    }
}

/// A mapped tally.
#[derive(Debug)]
pub struct Tally {
    map: FileMapping,
}

impl Tally {
    /// Creates the file. It is an error if it exists.
    ///
    /// # Errors
    /// Those of open(2), write(2) and mmap(2).
    pub fn create(path: &Path, mode: u32) -> io::Result<Tally> {
        let mut file = File::options().read(true).write(true).create_new(true).mode(mode).open(path)?;
        // Written, so that every page exists: on tmpfs a store to a page for which there is no memory is SIGBUS.
        let mut bytes = [0; BYTES];
        bytes[..size_of::<u64>()].copy_from_slice(&MAGIC.to_ne_bytes());
        file.write_all(&bytes)?;
        let map = Mapping::map_shared(&file, BYTES).map_err(|e| io::Error::from_raw_os_error(e.0))?;
        Ok(Tally { map: FileMapping::new(map) })
    }

    /// Maps a tally that another process has created. Allocates nothing, and calls no function of libc.
    ///
    /// # Errors
    /// Those of open(2) and mmap(2); EINVAL if the file is no tally of this version.
    pub fn open(path: &CStr) -> Result<Tally, Errno> {
        let tally = Tally { map: FileMapping::new(Mapping::map_shared_at(path, BYTES)?) };
        // Relaxed: written before the path was passed on.
        match tally.words()[0].load(Relaxed) {
            MAGIC => Ok(tally),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Creates a tally of the calling process's own, in a new file that only its owner may read, or in memory. Allocates nothing,
    /// and calls no function of libc.
    ///
    /// # Errors
    /// Those of open(2), write(2) and mmap(2).
    pub fn own(path: Option<&CStr>) -> Result<Tally, Errno> {
        let map = match path {
            Some(path) => Mapping::create_shared_at(path, BYTES)?,
            None => Mapping::map_private(BYTES)?,
        };
        let tally = Tally { map: FileMapping::new(map) };
        let owner = ThreadGroup::current();
        let words = [u64::from(owner.pid), owner.start_time, owner.namespace];
        for (word, value) in tally.words()[OWNER..].iter().zip(words) {
            // Relaxed: readers of a file acquire the magic number.
            word.store(value, Relaxed);
        }
        // Release: pairs with the Acquire in `read`.
        tally.words()[0].store(MAGIC, Release);
        Ok(tally)
    }

    /// Opens a tally of another process for reading.
    ///
    /// # Errors
    /// Those of open(2) and mmap(2); EINVAL if the file is no tally of this version.
    pub fn read(path: &Path) -> io::Result<Tally> {
        let file = regular::open(path, Links::Refused)?;
        if file.metadata()?.len() < BYTES as u64 {
            return Err(Errno::EINVAL.into());
        }
        let map = Mapping::map_shared_read_only(&file, BYTES)?;
        let tally = Tally { map: FileMapping::new(map) };
        // Acquire: pairs with the Release in `own`.
        if tally.words()[0].load(Acquire) == MAGIC { Ok(tally) } else { Err(Errno::EINVAL.into()) }
    }

    /// The process whose own tally it is; `None` if it is that of a run.
    pub fn owner(&self) -> Option<ThreadGroup> {
        // Relaxed: written before the magic number, which `read` acquires.
        let word = |index: usize| self.words()[OWNER + index].load(Relaxed);
        let pid = u32::try_from(word(0)).ok().filter(|&pid| pid != 0)?;
        Some(ThreadGroup { pid, start_time: word(1), namespace: word(2) })
    }

    /// Adds the decisions that another tally has counted: those of the process that has forked this one.
    pub fn add_decisions(&self, other: &Tally) {
        for (word, from) in self.words()[1..OWNER].iter().zip(&other.words()[1..]) {
            // Relaxed (both): numbers.
            word.fetch_add(from.load(Relaxed), Relaxed);
        }
    }

    /// Adds one to a use. Threads with different numbers do not disturb each other.
    pub fn add_use(&self, used: TallyUse, thread: u32) {
        let word = USES + (thread as usize % SHARDS) * USE_WORDS + used.word();
        // Relaxed: the sum counts.
        self.words()[word].fetch_add(1, Relaxed);
    }

    /// How often something was used so far.
    pub fn uses(&self, used: TallyUse) -> u64 {
        let word = |shard: usize| &self.words()[USES + shard * USE_WORDS + used.word()];
        // Relaxed: numbers.
        (0..SHARDS).map(|shard| word(shard).load(Relaxed)).fold(0, u64::wrapping_add)
    }

    fn words(&self) -> &[AtomicU64] {
        self.map.words()
    }

    /// Whether the counts are gone, because the file was cut short while it was mapped.
    pub fn is_lost(&self) -> bool {
        // The last word shows whether the file has its length. Relaxed: it is not used.
        let _ = self.words()[self.words().len() - 1].load(Relaxed);
        // Relaxed: written before the file was mapped here.
        self.words()[0].load(Relaxed) != MAGIC
    }

    /// Adds one.
    pub fn add(&self, count: TallyCount) {
        if let Some(word) = count.word() {
            // Relaxed: the sum counts, and no other data is read because of it.
            self.words()[word].fetch_add(1, Relaxed);
        }
    }

    /// A count so far.
    pub fn get(&self, count: TallyCount) -> u64 {
        // Relaxed: as in `add`. Processes that have ended have made all their additions.
        count.word().map_or(0, |word| self.words()[word].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ffi::CString;

    #[test]
    fn counts_have_words_of_their_own() {
        let rows = |limit| [TallyRow::All].into_iter().chain((0..limit).map(TallyRow::Rule));
        let single = [
            TallyCount::Programs,
            TallyCount::OtherSites,
            TallyCount::GlobalRunQueues,
            TallyCount::PerCpuRunQueues,
            TallyCount::Filters,
            TallyCount::Wrapped,
            TallyCount::Bypassed,
        ];
        let words: Vec<usize> = single
            .into_iter()
            .chain(LockFamily::ALL.map(TallyCount::Others))
            .chain(LockFamily::ALL.into_iter().flat_map(|family| {
                rows(RULES)
                    .flat_map(move |row| [TallyCount::Replaced(family, row), TallyCount::Kept(family, row)])
            }))
            .chain(rows(SITES).map(TallyCount::Sites))
            .map(|count| count.word().unwrap())
            .collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        assert!(!words.contains(&0), "the magic number");
        assert_eq!(TallyCount::Sites(TallyRow::Rule(SITES)).word(), None);
        assert_eq!(TallyCount::Kept(LockFamily::Spin, TallyRow::Rule(RULES)).word(), None);
    }

    #[test]
    fn additions_of_another_mapping_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        let tally = Tally::create(&path, 0o600).unwrap();
        let c_path = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        let other = Tally::open(&c_path).unwrap();
        let replaced = TallyCount::Replaced;
        other.add(replaced(LockFamily::RwLock, TallyRow::Rule(7)));
        other.add(replaced(LockFamily::RwLock, TallyRow::Rule(7)));
        other.add(TallyCount::Sites(TallyRow::Rule(SITES)));
        assert_eq!(tally.get(replaced(LockFamily::RwLock, TallyRow::Rule(7))), 2);
        assert_eq!(tally.get(replaced(LockFamily::Mutex, TallyRow::Rule(7))), 0);
        assert_eq!(tally.get(replaced(LockFamily::RwLock, TallyRow::All)), 0);
        assert!(Tally::create(&path, 0o600).is_err(), "it exists");
    }

    #[test]
    fn tally_of_a_process_says_whose_it_is_and_how_locks_were_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        let c_path = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        let own = Tally::own(Some(&c_path)).unwrap();
        assert_eq!(Tally::own(Some(&c_path)).unwrap_err(), Errno::EEXIST);
        let read = Tally::read(&path).unwrap();
        let me = unspin_sys::process::pid();
        assert_eq!(read.owner().map(|owner| owner.pid), Some(me));
        let uses: Vec<TallyUse> = LockFamily::ALL
            .into_iter()
            .flat_map(|family| [TallyUse::Spun(family), TallyUse::Slept(family)])
            .chain([TallyUse::Found, TallyUse::InVain])
            .collect();
        for (times, &used) in (1..).zip(&uses) {
            (0..times).for_each(|thread| own.add_use(used, 7 + 100 * thread));
        }
        let counted: Vec<u64> = uses.iter().map(|&used| read.uses(used)).collect();
        assert_eq!(counted, Vec::from_iter(1..=uses.len() as u64));
        let last = TallyCount::Sites(TallyRow::Rule(SITES - 1));
        own.add(last);
        let child = Tally::own(None).unwrap();
        child.add_decisions(&own);
        assert_eq!((child.get(last), child.uses(TallyUse::Found)), (1, 0), "the decisions alone");
        let of_run = Tally::create(&folder.path().join("run"), 0o600).unwrap();
        assert_eq!(of_run.owner(), None);
    }

    #[test]
    fn file_that_is_no_tally_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        let c_path = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        assert_eq!(Tally::open(&c_path).unwrap_err(), Errno::ENOENT);
        for bytes in [&b"unsptly3"[..], &[7; BYTES]] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Tally::open(&c_path).unwrap_err(), Errno::EINVAL);
        }
    }
}
