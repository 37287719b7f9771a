//! Mapped files that may shrink while they are in use.
//!
//! An access beyond the end of a mapped file raises SIGBUS. The process's handler of that signal calls
//! [`handle_sigbus`]: private zeroed memory replaces the whole mapping, and the instruction is repeated. So an owner of
//! a [`FileMapping`] keeps in the file only what may become zero at any time, and asks whether it did.
//!
//! The kernel ends a process whose thread blocks SIGBUS at such an access, whatever handler there is.

use crate::mem::{self, Mapping};
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::*, fence};

/// Maximum number of mappings that a process guards at a time. A further one is not guarded.
const MOST: usize = 64;

static ENTRIES: [Entry; MOST] =
    [const { Entry { start: AtomicUsize::new(FREE), len: AtomicUsize::new(0) } }; MOST];

/// [`Entry::start`] of an entry that is not used.
const FREE: usize = 0;
/// [`Entry::start`] of an entry that is being written. No mapping begins here.
const CLAIMED: usize = 1;

/// The addresses of a mapping. Its owner writes `len` before `start`, so that a handler that reads one `start` before
/// and after it reads `len` has both of one mapping.
struct Entry {
    start: AtomicUsize,
    len: AtomicUsize,
}

impl Entry {
    fn range(&self) -> Option<(usize, usize)> {
        // Acquire: pairs with the Release in `FileMapping::new`: `len` is at least as new.
        let start = self.start.load(Acquire);
        // Relaxed: checked by the second load of `start`.
        let len = self.len.load(Relaxed);
        // Acquire fence: pairs with the Release fence in `FileMapping::new`. If `len` is of a later mapping, the load
        // below sees at least its CLAIMED.
        fence(Acquire);
        // Relaxed: ordered by the fence.
        (start > CLAIMED && self.start.load(Relaxed) == start).then_some((start, len))
    }
}

/// A mapping of a file that may shrink. What lies in it are atomic words and bytes that are read by pointer, of which
/// every value is valid, zero as well.
#[derive(Debug)]
pub struct FileMapping {
    map: Mapping,
    /// The index of the mapping's entry in [`ENTRIES`]; none if no entry was free.
    entry: Option<usize>,
}

impl FileMapping {
    /// Makes a mapping known to [`handle_sigbus`] until it is dropped.
    pub fn new(map: Mapping) -> FileMapping {
        // Relaxed (both): the entry's former owner wrote nothing that is read here.
        let claims = |entry: &Entry| entry.start.compare_exchange(FREE, CLAIMED, Relaxed, Relaxed).is_ok();
        let entry = ENTRIES.iter().position(claims);
        if let Some(at) = entry {
            // Release fence: pairs with the Acquire fence in `range`.
            fence(Release);
            // Relaxed: published by the next store.
            ENTRIES[at].len.store(map.len(), Relaxed);
            // Release: pairs with the Acquire in `range`.
            ENTRIES[at].start.store(map.start().as_ptr() as usize, Release);
        }
        FileMapping { map, entry }
    }
}

impl Deref for FileMapping {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.map
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        if let Some(at) = self.entry {
            // Release: the entry's next owner writes after it. The mapping itself is unmapped after this function.
            ENTRIES[at].start.store(FREE, Release);
        }
    }
}

/// Handles a fault of the memory at `address`. Returns whether it was a fault of a [`FileMapping`] and was repaired, so
/// that the instruction can be repeated. May be called in a signal handler. Several threads may fault at once: each
/// replaces the mapping, and what is stored in between is lost.
pub fn handle_sigbus(address: usize) -> bool {
    let mut mappings = ENTRIES.iter().filter_map(Entry::range);
    let Some((start, len)) = mappings.find(|&(start, len)| address.wrapping_sub(start) < len) else {
        return false;
    };
    let Some(start) = NonNull::new(start as *mut u8) else { return false };
    // SAFETY: 1. the faulting thread uses the mapping, so it is not dropped meanwhile, and its pages belong to it;
    // 2. a `FileMapping` holds only what may become zero.
    unsafe { mem::replace(start, len) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault;

    fn file(bytes: u64) -> std::fs::File {
        let file = tempfile();
        file.set_len(bytes).unwrap();
        file
    }

    fn tempfile() -> std::fs::File {
        let path = std::env::temp_dir().join(format!("unspin-shrink-{}", std::process::id()));
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    #[test]
    fn mapping_of_a_shrunk_file_becomes_zero_and_others_stay() {
        fault::survive_shrinking().unwrap();
        let (shrinks, stays) = (file(1 << 16), file(4096));
        let map = FileMapping::new(Mapping::map_shared(&shrinks, 1 << 16).unwrap());
        let other = FileMapping::new(Mapping::map_shared(&stays, 4096).unwrap());
        let read_only = FileMapping::new(Mapping::map_shared_read_only(&shrinks, 1 << 16).unwrap());
        for (words, value) in [(map.words(), 7), (other.words(), 8)] {
            // Relaxed: one thread.
            words[0].store(value, Relaxed);
        }
        // Only the last page is gone. The first page becomes zero with it.
        shrinks.set_len(1 << 15).unwrap();
        let last = map.words().len() - 1;
        // Relaxed (all): one thread.
        assert_eq!(map.words()[last].fetch_add(1, Relaxed), 0);
        assert_eq!((map.words()[0].load(Relaxed), map.words()[last].load(Relaxed)), (0, 1));
        assert_eq!(other.words()[0].load(Relaxed), 8);
        assert_eq!((read_only.words()[0].load(Relaxed), read_only.words()[last].load(Relaxed)), (7, 0));
        assert!(!handle_sigbus(&raw const last as usize), "no file is mapped there");
        let address = map.start().as_ptr() as usize;
        drop(map);
        assert!(!handle_sigbus(address), "it is not mapped any more");
    }
}
