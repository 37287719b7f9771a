//! The *tally*: what the rules of a plan replaced in one run of a program, counted by all its processes in one small
//! file.
//!
//! The CLI creates the file and names it in `UNSPIN_TALLY`. The preload library maps it when it reads the plan, and adds
//! to a count when it decides on a lock or a call site: once in the life of a lock, never at its uses. Children
//! inherit the mapping, and executed programs open the file again. So the counts are complete however the processes end.

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

/// The first word: the format, and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"unsptly3");
/// Length of the file. The words of all counts fit.
const BYTES: usize = 16384;
const HEAD: usize = 8;
/// Words of the format, of the version and of all counts.
pub(crate) const WORDS: usize = HEAD + FAMILY * FAMILIES + 1 + SITES;
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

const _: () = assert!(WORDS * size_of::<u64>() <= BYTES);

impl TallyCount {
    /// The word of the file; none for a rule beyond the limits.
    pub(crate) fn word(self) -> Option<usize> {
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
