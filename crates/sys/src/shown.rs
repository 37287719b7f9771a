//! Words in the memory of a process that another process finds by a mark and reads: no file outlives the process.

use crate::Errno;
use crate::mem::Mapping;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The mark in front of the place.
pub type Mark = [u8; 16];

/// The place of `N` words; it lies in the data of a program or a library.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Shown<const N: usize> {
    mark: Mark,
    words: AtomicPtr<[AtomicU64; N]>,
}

impl<const N: usize> Shown<N> {
    /// Length of the words in bytes.
    pub const BYTES: usize = N * size_of::<u64>();

    /// The place of no words yet.
    pub const fn none(mark: Mark) -> Shown<N> {
        Shown { mark, words: AtomicPtr::new(null_mut()) }
    }

    /// Makes the words, which are zero. A child made by fork finds the first `wiped` bytes zero again, and inherits the others. They
    /// are never freed. Allocates nothing, and calls no function of libc.
    ///
    /// # Errors
    /// Those of mmap(2), and of madvise(2): `EINVAL` before Linux 4.14.
    pub fn begin(&self, wiped: usize) -> Result<&'static [AtomicU64; N], Errno> {
        let room = Mapping::map_wiped_in_front(wiped, Shown::<N>::BYTES - wiped)?.leak().cast();
        // Release: pairs with the Acquire in `get`.
        self.words.store(room.as_ptr(), Ordering::Release);
        // SAFETY: new zeroed pages of this size, which stay mapped.
        Ok(unsafe { room.as_ref() })
    }

    /// The words, if they have been made.
    #[inline]
    pub fn get(&self) -> Option<&'static [AtomicU64; N]> {
        // Acquire: pairs with the Release in `begin`.
        // SAFETY: null, or what `begin` has made, which stays mapped.
        unsafe { self.words.load(Ordering::Acquire).as_ref() }
    }
}

/// The address of the words in a process that has this data; 0 if it has made none. `None`: the data has no such mark.
pub fn find(mark: Mark, data: &[u8]) -> Option<u64> {
    let (lines, _) = data.as_chunks::<{ size_of::<Mark>() }>();
    let at = lines.iter().position(|line| *line == mark)?;
    lines.get(at + 1)?.first_chunk().map(|&address| u64::from_ne_bytes(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = *b"a mark of a test";
    const WORDS: usize = 1024;

    #[test]
    fn words_are_found_in_the_data_by_the_mark() {
        static DATA: (u64, Shown<WORDS>) = (7, Shown::none(MARK));
        use std::os::unix::fs::FileExt;
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let read = |at: u64, length: usize| {
            let mut bytes = vec![0; length];
            memory.read_exact_at(&mut bytes, at).map(|()| bytes).unwrap()
        };
        let found = |mark| find(mark, &read((&raw const DATA).addr() as u64, size_of_val(&DATA)));
        assert_eq!((found(MARK), DATA.1.get().is_none()), (Some(0), true));
        DATA.1.begin(4096).unwrap()[WORDS - 1].store(5, Ordering::Relaxed);
        let bytes = read(found(MARK).unwrap(), Shown::<WORDS>::BYTES);
        assert_eq!(bytes.last_chunk(), Some(&5u64.to_ne_bytes()));
        assert_eq!(found(*b"another mark ..."), None);
        assert_eq!(find(MARK, b""), None);
        assert_eq!(find(MARK, &MARK), None, "the data ends behind the mark");
    }

    #[test]
    fn child_inherits_all_but_the_first_bytes() {
        let shown = Shown::<WORDS>::none(MARK);
        let words = shown.begin(4096).unwrap();
        let ends = || [&words[511], &words[512]].map(|word| word.load(Ordering::Relaxed));
        words.iter().for_each(|word| word.store(3, Ordering::Relaxed));
        // SAFETY: the child calls only what is safe after a fork, and ends.
        match unsafe { libc::fork() } {
            // SAFETY: ends the child.
            0 => unsafe { libc::_exit(i32::from(ends() != [0, 3])) },
            child => {
                let mut status = 0;
                // SAFETY: our child, a live int.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!((status, ends()), (0, [3, 3]));
            }
        }
    }
}
