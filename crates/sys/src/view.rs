//! A shared mapping as 64-bit words.
//!
//! Layers above that keep only 64-bit words in a mapping need no `unsafe` of their own: every bit pattern is a valid
//! word, and a word that another process writes is read as a whole.

use crate::page::BYTES as PAGE;
use crate::{Errno, mem::Mapping, raw};
use core::sync::atomic::AtomicU64;

impl Mapping {
    /// The mapping as 64-bit words; up to 7 bytes at the end are left out.
    ///
    /// As with any mapped file, an access beyond the end of a file that was truncated afterwards raises SIGBUS, and a
    /// store into a read-only mapping SIGSEGV; neither touches other memory.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: 1. a mapping starts at a page boundary, so the words are aligned, and the slice is no longer than the
        // mapping; 2. it stays mapped while borrowed; 3. every bit pattern is a valid word, and no code in this process
        // holds a plain reference into it: all layers access it through atomics or raw pointers.
        unsafe { core::slice::from_raw_parts(self.start().as_ptr().cast::<AtomicU64>(), self.len() / 8) }
    }

    /// Allocates the pages of `offset..offset+len`, writable, so that later stores neither fault nor fail for lack of
    /// space: a full tmpfs is an error number here (`EFAULT`) instead of SIGBUS there. The range is widened to whole
    /// pages; a range beyond the mapping is `EINVAL`.
    ///
    /// `MADV_POPULATE_WRITE` exists since Linux 5.14; older kernels return `EINVAL`.
    pub fn populate(&self, offset: usize, len: usize) -> Result<(), Errno> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len()).ok_or(Errno::EINVAL)?;
        let first = offset & !(PAGE - 1);
        let address = self.start().as_ptr() as usize + first;
        // SAFETY: the range lies in this mapping; populating does not change what it holds.
        unsafe {
            raw::call(libc::SYS_madvise, [address, end - first, libc::MADV_POPULATE_WRITE as usize]).map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering::Relaxed;

    fn file(len: u64) -> std::fs::File {
        let path = std::env::temp_dir().join(format!("unspin-view-{}-{len}", std::process::id()));
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn two_mappings_share_their_words() {
        let file = file(8192);
        let (a, b) =
            (Mapping::map_shared(&file, 8192).unwrap(), Mapping::map_shared_read_only(&file, 8192).unwrap());
        assert_eq!(a.words().len(), 1024);
        a.populate(4096, 4096).unwrap();
        // Relaxed: one thread, nothing to order.
        a.words()[1023].store(7, Relaxed);
        // Relaxed: as above.
        assert_eq!(b.words()[1023].load(Relaxed), 7);
    }

    #[test]
    fn populating_beyond_the_mapping_is_refused() {
        let map = Mapping::map_shared(&file(4096), 4096).unwrap();
        assert_eq!(map.populate(4096, 1), Err(Errno::EINVAL));
        assert_eq!(map.populate(usize::MAX, 2), Err(Errno::EINVAL));
        assert_eq!(map.populate(100, 50), Ok(()));
    }
}
