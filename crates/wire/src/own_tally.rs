//! The tally of one process alone, which a process of a deployed plan keeps if the user wants a summary or a status: the
//! decisions ([`TallyCount`]), how replaced locks and polls were used ([`TallyUse`]), where a thread has waited anyway, and the path of
//! the plan, because a program may overwrite its environment.
//!
//! It lies in the memory of the process ([`unspin_sys::shown`]), so that no file outlives it.

use crate::plan::LockFamily;
use crate::tally::{TallyCount, WORDS};
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::shown::{self, Mark, Shown};
use unspin_sys::{Errno, process};

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

const FAMILIES: usize = LockFamily::ALL.len();
/// The word with the number of the process that has counted something; 0 in a child until it counts.
const PROCESS: usize = 0;
/// The first word of the uses: one cache line for threads with the same number modulo [`SHARDS`].
const USES: usize = LINE;
const LINE: usize = 8;
const SHARDS: usize = 16;
/// The first word of the decisions. A fork wipes the page before it.
const DECISIONS: usize = 512;
/// The first word of the path of the plan, which ends with a zero byte.
const PATH: usize = (DECISIONS + WORDS).next_multiple_of(512);
/// `PATH_MAX` of Linux.
const PATH_WORDS: usize = 4096 / size_of::<u64>();
const ALL: usize = PATH + PATH_WORDS;

const _: () = assert!(2 * FAMILIES + 2 <= LINE && USES + SHARDS * LINE <= DECISIONS);

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

/// The tally. A child made by fork inherits the decisions of its parent, whose locks it has inherited, and begins with no uses.
#[derive(Clone, Copy, Debug)]
pub struct OwnTally(&'static [AtomicU64; ALL]);

impl OwnTally {
    /// Length in bytes.
    pub const BYTES: usize = Shown::<ALL>::BYTES;
    /// The largest count that is believed of another process: the sum of all words is a number, too.
    const LARGEST: u64 = u64::MAX / ALL as u64;

    /// A copy of the tally of another process, which may have written anything there.
    ///
    /// # Errors
    /// Those of [`begin`](OwnTallyPlace::begin).
    pub fn copy_of(bytes: &[u8; OwnTally::BYTES]) -> Result<OwnTally, Errno> {
        let copy = OwnTallyPlace::none().begin()?;
        for (at, (word, &bytes)) in copy.0.iter().zip(bytes.as_chunks().0).enumerate() {
            let most = if at < PATH { OwnTally::LARGEST } else { u64::MAX };
            // Relaxed: no other thread has the copy.
            word.store(u64::from_ne_bytes(bytes).min(most), Relaxed);
        }
        Ok(copy)
    }

    /// Notes the path of the plan. To be called before another process may read it. A path that is longer than Linux permits is not
    /// noted.
    pub fn set_path(&self, path: &[u8]) {
        if path.len() >= PATH_WORDS * size_of::<u64>() {
            return;
        }
        for (word, bytes) in self.0[PATH..].iter().zip(path.chunks(size_of::<u64>())) {
            let mut padded = [0; size_of::<u64>()];
            padded[..bytes.len()].copy_from_slice(bytes);
            // Relaxed: another process reads a copy, at any time.
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
    }

    /// The bytes of the path of the plan, without the zero at its end; empty if it was not noted.
    pub fn path(&self) -> impl Iterator<Item = u8> {
        // Relaxed: as in `set_path`.
        self.0[PATH..].iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).take_while(|&byte| byte != 0)
    }

    /// Adds one to a count of decisions.
    pub fn add(&self, count: TallyCount) {
        if let Some(word) = count.word() {
            self.add_one(DECISIONS + word);
        }
    }

    /// Adds one to a use. Threads with different numbers do not disturb each other.
    pub fn add_use(&self, used: TallyUse, thread: u32) {
        self.add_one(USES + (thread as usize % SHARDS) * LINE + used.word());
    }

    fn add_one(&self, word: usize) {
        // Relaxed (all): numbers, and no other data is read because of them.
        if self.0[PROCESS].load(Relaxed) == 0 {
            self.0[PROCESS].store(u64::from(process::pid()), Relaxed);
        }
        self.0[word].fetch_add(1, Relaxed);
    }

    /// A count of decisions so far.
    pub fn get(&self, count: TallyCount) -> u64 {
        // Relaxed: as in `add_one`.
        count.word().map_or(0, |word| self.0[DECISIONS + word].load(Relaxed))
    }

    /// How often something was used so far.
    pub fn uses(&self, used: TallyUse) -> u64 {
        // Relaxed: as in `add_one`.
        (0..SHARDS).map(|shard| self.0[USES + shard * LINE + used.word()].load(Relaxed)).sum()
    }

    /// The process that has counted something, by its own number; none if that was its parent alone.
    pub fn process(&self) -> Option<u32> {
        // Relaxed: as in `add_one`.
        u32::try_from(self.0[PROCESS].load(Relaxed)).ok().filter(|&pid| pid != 0)
    }
}

/// Where the tally of a process lies: the preload library has one in its data.
#[derive(Debug)]
pub struct OwnTallyPlace(Shown<ALL>);

/// The mark, with the version of this format.
const MARK: Mark = *b"unspin: tally 05";

impl OwnTallyPlace {
    /// No tally is kept.
    pub const fn none() -> OwnTallyPlace {
        OwnTallyPlace(Shown::none(MARK))
    }

    /// Begins the tally. Allocates nothing, and calls no function of libc.
    ///
    /// # Errors
    /// Those of mmap(2), and of madvise(2): `EINVAL` before Linux 4.14.
    pub fn begin(&self) -> Result<OwnTally, Errno> {
        self.0.begin(DECISIONS * size_of::<u64>()).map(OwnTally)
    }

    /// The tally, if one is kept.
    #[inline]
    pub fn get(&self) -> Option<OwnTally> {
        self.0.get().map(OwnTally)
    }

    /// The address of the tally in a process whose preload library has this data; 0 if it keeps none, and `None` if the data is not
    /// that of a library of this version.
    pub fn find(data: &[u8]) -> Option<u64> {
        shown::find(MARK, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SITES;
    use crate::tally::TallyRow;

    #[test]
    fn counts_are_read_from_a_copy() {
        let own = OwnTallyPlace::none().begin().unwrap();
        assert_eq!(own.process(), None);
        let uses: Vec<TallyUse> = LockFamily::ALL
            .into_iter()
            .flat_map(|family| [TallyUse::Spun(family), TallyUse::Slept(family)])
            .chain([TallyUse::Found, TallyUse::InVain])
            .collect();
        for (times, &used) in (1..).zip(&uses) {
            (0..times).for_each(|thread| own.add_use(used, 7 + 100 * thread));
        }
        let last = TallyCount::Sites(TallyRow::Rule(SITES - 1));
        own.add(last);
        own.add(TallyCount::Sites(TallyRow::Rule(SITES)));
        let path = b"/opt/unspin/\xffserver.plan";
        own.set_path(&[b'/'; PATH_WORDS * size_of::<u64>()]);
        assert_eq!(own.path().next(), None, "no path of that length can be opened");
        own.set_path(path);
        let bytes: Vec<u8> = own.0.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
        let read = OwnTally::copy_of(bytes.first_chunk().unwrap()).unwrap();
        let counted: Vec<u64> = uses.iter().map(|&used| read.uses(used)).collect();
        assert_eq!(counted, Vec::from_iter(1..=uses.len() as u64));
        assert_eq!((read.get(last), read.process()), (1, Some(process::pid())));
        assert_eq!(Vec::from_iter(read.path()), path);
    }

    #[test]
    fn counts_of_another_process_are_not_trusted() {
        let read = OwnTally::copy_of(&[0xff; OwnTally::BYTES]).unwrap();
        assert_eq!(read.process(), None);
        let all: u64 = read.0[..PATH].iter().map(|word| word.load(Relaxed)).sum();
        assert!(all > u64::MAX / 2, "no sum overflows");
        assert_eq!(read.path().count(), PATH_WORDS * size_of::<u64>(), "a path has an end");
    }
}
