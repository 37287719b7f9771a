//! A word of shared memory that the kernel marks when the thread that holds it ends, by whatever cause.
//!
//! It is a robust futex (Documentation/locking/robust-futexes.rst). Each thread has a list of such words. When the
//! thread ends, or executes another program, the kernel walks the list. If a word holds the thread's id, the kernel
//! replaces the id by [`OWNER_DIED`], and wakes one sleeper if [`WAITERS`] is set. libc owns the list head and keeps
//! its robust mutexes in the list; each has its links 24 bytes after the word, so we must use the same distance.
//!
//! The word is shared, but the links are addresses of this process, and libc follows them when it removes a neighbour.
//! So the links must not lie where another process can write, nor where a child made by a bare clone(2) can, which
//! still has them in its list. Therefore the word's page is mapped a second time, directly in front of a private page.
//! The word lies 24 bytes before the end of the first page, and the links are at the start of the second.
//!
//! This works only with glibc's list, which is recognised by its distance between link and word.

use crate::signal::{Mask, set_mask};
use crate::{Errno, page, raw};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence};

/// The thread that held the word has ended, or its process has executed another program.
pub const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;
/// A thread sleeps on the word, or was about to.
pub const WAITERS: u32 = libc::FUTEX_WAITERS;
/// The id of the thread that holds the word; 0 if none does.
pub const OWNER_TID: u32 = libc::FUTEX_TID_MASK;

/// The offset of such a word in a page of shared memory.
pub const OFFSET: usize = page::BYTES - LINKS_BEHIND;

/// Distance from `__lock` to `__list` in glibc's `pthread_mutex_t`.
const LINKS_BEHIND: usize = 24;
/// Distance from the second link, `__next`, by which the kernel's list is chained, to the word.
const FUTEX_OFFSET: isize = -(LINKS_BEHIND as isize) - 8;

/// `struct robust_list_head`; `struct robust_list` is one link.
#[repr(C)]
struct Head {
    first: usize,
    futex_offset: isize,
    pending: usize,
}

/// The links, as glibc's `__pthread_list_t`. Both hold the address of the `next` field of another entry or of the head.
#[repr(C)]
struct Links {
    prev: usize,
    next: usize,
}

/// The kernel handles no more entries of a list than this (`ROBUST_LIST_LIMIT`).
const LONGEST: usize = 2048;

/// The lowest bit of a link is the kind of its futex: set for priority inheritance.
const KIND: usize = 1;

/// Two adjacent pages of this process: the second mapping of a word's shared page, and the private page of its links.
/// Mapped at the first use.
///
/// Dropping it does not unmap them: see [`unmap`](RobustFutex::unmap).
#[derive(Debug, Default)]
pub struct RobustFutex {
    pages: AtomicUsize,
}

impl RobustFutex {
    /// A robust futex without pages yet.
    pub const fn new() -> RobustFutex {
        RobustFutex { pages: AtomicUsize::new(0) }
    }

    /// Reserves the pages.
    fn reserve(&self) -> Result<(), Errno> {
        // Relaxed: only an address; the calling thread's own call wrote what lies there.
        if self.pages.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let anonymous = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
        let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        // SAFETY: no address is given, so no existing mapping is touched.
        let at =
            unsafe { raw::call(libc::SYS_mmap, [0, 2 * page::BYTES, access, anonymous, usize::MAX, 0])? };
        // Relaxed: as above.
        self.pages.store(at, Ordering::Relaxed);
        Ok(())
    }

    /// Stores the calling thread's id in `word` if the word is still `seen`. [`WAITERS`] stays as it is. The word is
    /// held until [`release`](RobustFutex::release) or the end of the thread.
    ///
    /// Errors: `EINVAL` if the word does not lie at [`OFFSET`] of a page. `EAGAIN` if the word has changed, or the
    /// thread is just changing its list. `ENOSYS` if it has no list that we know.
    ///
    /// # Safety
    /// `word` lies in a shared mapping. No thread of this process holds a word by this robust futex, and no other
    /// thread tries to.
    pub unsafe fn acquire(&self, word: &AtomicU32, seen: u32, tid: u32) -> Result<(), Errno> {
        self.reserve()?;
        self.map(word)?;
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // SAFETY: the list belongs to the calling thread, and signals are blocked, so no handler interferes. The caller
        // guarantees that no other thread uses our links.
        let result = unsafe { self.link(seen, tid) };
        set_mask(mask);
        result
    }

    /// Unmaps the pages, unless the calling thread has the links in its list. A child made by a bare clone(2) has its own
    /// copy of them.
    ///
    /// # Safety
    /// No other thread of this process has taken a word by this robust futex.
    pub unsafe fn unmap(&self) {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // SAFETY: the list belongs to the calling thread, and signals are blocked.
        let is_linked = own_head().is_ok_and(|head| unsafe { self.is_in(head) });
        set_mask(mask);
        if is_linked {
            return;
        }
        // Relaxed: only an address; the calling thread's own call wrote what lies there.
        let at = self.pages.swap(0, Ordering::Relaxed);
        if at != 0 {
            // SAFETY: our own mapping, which no list leads to.
            let _ = unsafe { raw::call(libc::SYS_munmap, [at, 2 * page::BYTES]) };
        }
    }

    /// Whether our links are in the list. They may be there without the word being held: a foreign write can change the
    /// word, and then it is neither released nor does the kernel mark it.
    ///
    /// # Safety
    /// The list is the calling thread's, with signals blocked.
    unsafe fn is_in(&self, head: *mut Head) -> bool {
        // SAFETY: the links in the list are libc's or ours; all are readable.
        let after =
            |&name: &usize| Some(unsafe { (*links_of(name)).next }).filter(|&next| next != head as usize);
        // SAFETY: libc keeps the head while the thread lives.
        let first = Some(unsafe { (*head).first }).filter(|&first| first != head as usize);
        core::iter::successors(first, after).take(LONGEST).any(|name| name == self.name())
    }

    /// Maps the page of the word in front of the links.
    fn map(&self, word: &AtomicU32) -> Result<(), Errno> {
        let at = word.as_ptr() as usize;
        if at % page::BYTES != OFFSET {
            return Err(Errno::EINVAL);
        }
        // Relaxed: as in `reserve`.
        let (shared, flags) = (at - OFFSET, (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize);
        // SAFETY: a length of 0 duplicates the shared mapping (mremap(2)); it replaces our own page.
        unsafe {
            raw::call(libc::SYS_mremap, [shared, 0, page::BYTES, flags, self.pages.load(Ordering::Relaxed)])?;
        }
        Ok(())
    }

    fn links(&self) -> *mut Links {
        // Relaxed: as in `reserve`.
        (self.pages.load(Ordering::Relaxed) + page::BYTES) as *mut Links
    }

    /// The address of our links as other list entries store it.
    fn name(&self) -> usize {
        self.links() as usize + core::mem::offset_of!(Links, next)
    }

    /// # Safety
    /// As [`RobustFutex::acquire`], with signals blocked.
    unsafe fn link(&self, seen: u32, tid: u32) -> Result<(), Errno> {
        let head = own_head()?;
        // SAFETY: libc registered the head for this thread and keeps it while the thread lives. The links in the list
        // are libc's or ours; all are readable and writable.
        unsafe {
            if (*head).pending != 0 {
                // We are in a signal handler that interrupted libc between two stores.
                return Err(Errno::EAGAIN);
            }
            // From here on the kernel marks the word even if the thread ends before the links are complete.
            (&raw mut (*head).pending).write_volatile(self.name());
            compiler_fence(Ordering::SeqCst);
            // Acquire: partner of the Release of the thread that held the word before. Release: partner of the Acquire
            // of threads that check the word: they see that our process is registered. The address is in the second
            // mapping, which the kernel will use, so that the kernel need not fault the page in when the thread ends.
            let word = &*self.links().cast::<u8>().sub(LINKS_BEHIND).cast::<AtomicU32>();
            let taken = word
                .compare_exchange(seen, seen & WAITERS | tid, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
            if taken && !self.is_in(head) {
                let first = (*head).first;
                self.links().write(Links { prev: head as usize, next: first });
                (*links_of(first)).prev = self.name();
                compiler_fence(Ordering::SeqCst);
                (&raw mut (*head).first).write_volatile(self.name());
            }
            compiler_fence(Ordering::SeqCst);
            (&raw mut (*head).pending).write_volatile(0);
            if taken { Ok(()) } else { Err(Errno::EAGAIN) }
        }
    }

    /// Releases the word. Returns whether there may be sleepers, which the caller must wake; `None` if the calling
    /// thread does not hold the word, or is just changing its list.
    ///
    /// # Safety
    /// `word` is the one that this robust futex took last.
    pub unsafe fn release(&self, word: &AtomicU32, tid: u32) -> Option<Sleepers> {
        // Relaxed: only the calling thread stores its own id.
        if word.load(Ordering::Relaxed) & OWNER_TID != tid {
            return None;
        }
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // SAFETY: the links are in the list of the calling thread, which holds the word.
        let result = unsafe { self.unlink(word) };
        set_mask(mask);
        result
    }

    /// # Safety
    /// As [`RobustFutex::release`], of a thread that holds the word, with signals blocked.
    unsafe fn unlink(&self, word: &AtomicU32) -> Option<Sleepers> {
        let head = own_head().ok()?;
        // SAFETY: as in `link`.
        unsafe {
            // Not in the list: a foreign write has put the thread's id into the word.
            if (*head).pending != 0 || !self.is_in(head) {
                return None;
            }
            (&raw mut (*head).pending).write_volatile(self.name());
            compiler_fence(Ordering::SeqCst);
            let links = self.links().read();
            (*links_of(links.next)).prev = links.prev;
            compiler_fence(Ordering::SeqCst);
            (&raw mut (*links_of(links.prev)).next).write_volatile(links.next);
            compiler_fence(Ordering::SeqCst);
            // AcqRel: as in `link`.
            let before = word.swap(0, Ordering::AcqRel);
            (&raw mut (*head).pending).write_volatile(0);
            Some(if before & WAITERS != 0 { Sleepers::Some } else { Sleepers::None })
        }
    }
}

/// Whether threads may sleep on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleepers {
    /// No thread sleeps.
    None,
    /// A thread may sleep.
    Some,
}

/// The links structure around a `next` field. glibc has one around the list head, too (`QUEUE_PTR_ADJUST` of
/// nptl/descr.h).
fn links_of(name: usize) -> *mut Links {
    ((name & !KIND) - core::mem::offset_of!(Links, next)) as *mut Links
}

/// The list head of the calling thread.
fn own_head() -> Result<*mut Head, Errno> {
    let (mut head, mut len) = (0usize, 0usize);
    let at = [0, &raw mut head as usize, &raw mut len as usize];
    // SAFETY: writes an address and a length.
    unsafe { raw::call(libc::SYS_get_robust_list, at)? };
    if head == 0 || len != size_of::<Head>() {
        return Err(Errno::ENOSYS);
    }
    let head = head as *mut Head;
    // SAFETY: libc registered it for this thread, and keeps it while the thread lives.
    if unsafe { (*head).futex_offset } == FUTEX_OFFSET { Ok(head) } else { Err(Errno::ENOSYS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mapping;
    use crate::process;
    use std::os::fd::FromRawFd;

    /// A page that a child shares, and the word in it.
    fn word() -> &'static AtomicU32 {
        // SAFETY: a C string; the descriptor is new, so it has no other owner.
        let file =
            unsafe { std::fs::File::from_raw_fd(libc::memfd_create(c"unspin-sys-robust".as_ptr(), 0)) };
        file.set_len(page::BYTES as u64).unwrap();
        let page = Mapping::map_shared(&file, page::BYTES).unwrap().leak();
        // SAFETY: inside the page, aligned, and never unmapped.
        unsafe { &*page.add(OFFSET).cast::<AtomicU32>().as_ptr() }
    }

    fn in_a_child(body: impl FnOnce()) -> i32 {
        // SAFETY: the child runs the body and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                body();
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        }
    }

    fn held(word: &AtomicU32, seen: u32) -> RobustFutex {
        let robust_futex = RobustFutex::new();
        // SAFETY: a shared word, and a new robust_futex.
        unsafe { robust_futex.acquire(word, seen, process::tid()) }.unwrap();
        assert_eq!(word.load(Ordering::SeqCst) & OWNER_TID, process::tid());
        robust_futex
    }

    #[test]
    fn every_kind_of_thread_end_marks_the_word() {
        type Ending = fn();
        let endings: [Ending; 3] = [
            || (),
            // SAFETY: kills this child itself.
            || unsafe {
                libc::kill(libc::getpid(), libc::SIGKILL);
            },
            // SAFETY: a program that ends; if it does not exist, the child ends by itself.
            || unsafe {
                libc::execl(c"/bin/true".as_ptr(), c"true".as_ptr(), 0usize);
            },
        ];
        for ending in endings {
            let word = word();
            in_a_child(|| {
                held(word, 0);
                word.fetch_or(WAITERS, Ordering::SeqCst);
                ending();
            });
            assert_eq!(word.load(Ordering::SeqCst), OWNER_DIED | WAITERS);
        }
    }

    #[test]
    fn released_word_is_not_marked() {
        let word = word();
        let robust_futex = held(word, 0);
        // SAFETY: as it was taken.
        assert_eq!(unsafe { robust_futex.release(word, process::tid()) }, Some(Sleepers::None));
        // SAFETY: not held any more.
        assert_eq!(unsafe { robust_futex.release(word, process::tid()) }, None);
        assert_eq!(word.load(Ordering::SeqCst), 0);
        word.store(OWNER_DIED | WAITERS, Ordering::SeqCst);
        let status = in_a_child(|| _ = held(word, OWNER_DIED | WAITERS));
        assert_eq!((status, word.load(Ordering::SeqCst)), (0, OWNER_DIED | WAITERS));
    }

    /// A foreign write puts an id into a word, or takes it out. The list stays sound.
    #[test]
    fn overwritten_word_harms_no_list() {
        let word = word();
        word.store(process::tid(), Ordering::SeqCst);
        let never_taken = RobustFutex::new();
        // SAFETY: no word was taken by it.
        assert_eq!(unsafe { never_taken.release(word, process::tid()) }, None);
        let status = in_a_child(|| {
            word.store(0, Ordering::SeqCst);
            let robust_futex = held(word, 0);
            word.store(0, Ordering::SeqCst);
            // SAFETY: the word is the one that it took last.
            unsafe {
                assert_eq!(robust_futex.release(word, process::tid()), None);
                robust_futex.unmap();
                robust_futex.acquire(word, 0, process::tid()).unwrap();
                assert_eq!(robust_futex.release(word, process::tid()), Some(Sleepers::None));
                robust_futex.unmap();
                robust_futex.acquire(word, 0, process::tid()).unwrap();
            }
        });
        assert_eq!((status, word.load(Ordering::SeqCst)), (0, OWNER_DIED));
    }

    /// libc inserts its mutexes before and after ours in the list, and removes them around it.
    #[test]
    fn robust_mutexes_of_the_program_still_work() {
        let word = word();
        let status = in_a_child(|| {
            // SAFETY: mutexes of this child, used as intended.
            unsafe {
                let mut kind: libc::pthread_mutexattr_t = core::mem::zeroed();
                libc::pthread_mutexattr_init(&mut kind);
                libc::pthread_mutexattr_setrobust(&mut kind, libc::PTHREAD_MUTEX_ROBUST);
                let mutexes: *mut [libc::pthread_mutex_t; 3] = Box::leak(Box::new(core::mem::zeroed()));
                let mutex = |n: usize| (&raw mut (*mutexes)[n]);
                (0..3).for_each(|n| assert_eq!(libc::pthread_mutex_init(mutex(n), &kind), 0));
                let all = |f: unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> i32, order: [usize; 3]| {
                    order.iter().for_each(|&n| assert_eq!(f(mutex(n)), 0));
                };
                let (lock, unlock) = (libc::pthread_mutex_lock, libc::pthread_mutex_unlock);
                for round in 0..3 {
                    libc::pthread_mutex_lock(mutex(0));
                    let robust_futex = held(word, 0);
                    libc::pthread_mutex_lock(mutex(1));
                    libc::pthread_mutex_lock(mutex(2));
                    if round == 1 {
                        assert_eq!(robust_futex.release(word, process::tid()), Some(Sleepers::None));
                        all(unlock, [1, 0, 2]);
                    } else {
                        all(unlock, [1, 0, 2]);
                        assert_eq!(robust_futex.release(word, process::tid()), Some(Sleepers::None));
                    }
                    all(lock, [0, 1, 2]);
                    all(unlock, [0, 1, 2]);
                }
                held(word, 0);
            }
        });
        assert_eq!((status, word.load(Ordering::SeqCst)), (0, OWNER_DIED));
    }

    #[test]
    fn word_outside_a_mapping_is_refused() {
        let word = AtomicU32::new(0);
        // SAFETY: it is refused.
        assert_eq!(unsafe { RobustFutex::new().acquire(&word, 0, 1) }, Err(Errno::EINVAL));
    }
}
