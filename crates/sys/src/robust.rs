//! A word of shared memory that the kernel marks when the thread that holds it ends, by whatever cause.
//!
//! It is a robust futex (Documentation/locking/robust-futexes.rst). Each thread has a list of such words. When the
//! thread ends, or executes another program, the kernel walks the list. If a word holds the thread's id, the kernel
//! replaces the id by [`OWNER_DIED`], and wakes one sleeper if [`WAITERS`] is set. (Not if a thread other than the
//! process's first one executes the program: the kernel has given it the first one's id by then.) libc owns the list head and keeps
//! its robust mutexes in the list; each has its links 24 bytes after the word, so we must use the same distance.
//!
//! The word is shared, but the links are addresses of this process, and libc follows them when it removes a neighbour.
//! So the links must not lie where another process can write, nor where a child made by a bare clone(2) can, which
//! still has them in its list. Therefore the word's page is mapped a second time, directly in front of a private page.
//! The word lies 24 bytes before the end of the first page, and the links are at the start of the second.
//!
//! This works only with glibc's list, which is recognised by its distance between link and word.

use crate::signal::{Mask, set_mask};
use crate::{Errno, fault, page, raw};
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

/// The lowest bit of a link is the kind of its futex: set for priority inheritance.
const KIND: usize = 1;

/// Two adjacent pages of this process: the second mapping of a word's shared page, and the private page of its links.
/// Mapped at the first use.
///
/// Dropping it does not unmap them: see [`unmap`](RobustFutex::unmap).
#[derive(Debug, Default)]
pub struct RobustFutex {
    pages: AtomicUsize,
    /// The head of the list that has the links, 0 if none has, and the thread that it belongs to. A foreign write can change
    /// the word, so the word does not tell.
    list: AtomicUsize,
    linker: AtomicU32,
}

impl RobustFutex {
    /// A robust futex without pages yet.
    pub const fn new() -> RobustFutex {
        RobustFutex { pages: AtomicUsize::new(0), list: AtomicUsize::new(0), linker: AtomicU32::new(0) }
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
    /// thread is just changing its list. `ENOSYS` if it has no list that we know and can change. Others if there is no
    /// memory for the pages.
    ///
    /// # Safety
    /// `word` lies in a shared mapping. No other thread of this process uses the robust futex meanwhile, and none holds
    /// a word by it.
    pub unsafe fn acquire(&self, word: &AtomicU32, seen: u32, tid: u32) -> Result<(), Errno> {
        // Relaxed (all): the caller keeps other threads away.
        if self.list.load(Ordering::Relaxed) != 0 && self.linker.load(Ordering::Relaxed) != tid {
            // Another thread has taken a word that was overwritten since, or it has ended, or this is a child after a
            // fork. Its list may still have the links, so they stay where they are.
            self.pages.store(0, Ordering::Relaxed);
            self.list.store(0, Ordering::Relaxed);
        }
        self.reserve()?;
        self.map(word)?;
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // SAFETY: the list belongs to the calling thread, and signals are blocked, so no handler interferes. The caller
        // guarantees that no other thread uses our links.
        let result = unsafe { self.link(seen, tid) };
        set_mask(mask);
        result
    }

    /// Unmaps the pages, unless a list has the links. A child made by a bare clone(2) has its own copy of them.
    ///
    /// # Safety
    /// No other thread of this process uses the robust futex meanwhile.
    pub unsafe fn unmap(&self) {
        // Relaxed (both): the caller keeps other threads away.
        if self.list.load(Ordering::Relaxed) != 0 {
            return;
        }
        let at = self.pages.swap(0, Ordering::Relaxed);
        if at != 0 {
            // SAFETY: our own mapping, which no list leads to.
            let _ = unsafe { raw::call(libc::SYS_munmap, [at, 2 * page::BYTES]) };
        }
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
        // Relaxed: as in `acquire`.
        let is_linked = self.list.load(Ordering::Relaxed) == head as usize;
        // SAFETY: libc registered the head for this thread and keeps it while the thread lives. Our own links are ours.
        // The program's may be gone, so they are changed by `set_prev`.
        unsafe {
            if (*head).pending != 0 {
                // We are in a signal handler that interrupted libc between two stores.
                return Err(Errno::EAGAIN);
            }
            // From here on the kernel marks the word even if the thread ends before the links are complete.
            (&raw mut (*head).pending).write_volatile(self.name());
            compiler_fence(Ordering::SeqCst);
            let first = (*head).first;
            if !is_linked {
                self.links().write(Links { prev: head as usize, next: first });
                if set_prev(first, self.name()).is_err() {
                    (&raw mut (*head).pending).write_volatile(0);
                    return Err(Errno::ENOSYS);
                }
            }
            // Acquire: partner of the Release of the thread that held the word before. Release: partner of the Acquire
            // of threads that check the word: they see that our process is registered. The address is in the second
            // mapping, which the kernel will use, so that the kernel need not fault the page in when the thread ends.
            let word = &*self.links().cast::<u8>().sub(LINKS_BEHIND).cast::<AtomicU32>();
            let taken = word
                .compare_exchange(seen, seen & WAITERS | tid, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
            if !is_linked && taken {
                (&raw mut (*head).first).write_volatile(self.name());
                // Relaxed (both): as in `acquire`.
                self.linker.store(tid, Ordering::Relaxed);
                self.list.store(head as usize, Ordering::Relaxed);
            } else if !is_linked {
                // As it was. It could be changed a moment ago.
                let _ = set_prev(first, head as usize);
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
    /// `word` is the one that this robust futex took last. If the calling thread took it, no other thread uses the robust
    /// futex meanwhile.
    pub unsafe fn release(&self, word: &AtomicU32, tid: u32) -> Option<Sleepers> {
        // Relaxed (both): only the calling thread stores its own id, and a list while the id is its own.
        if self.list.load(Ordering::Relaxed) == 0 || self.linker.load(Ordering::Relaxed) != tid {
            return None;
        }
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // SAFETY: the links are in the list of the calling thread.
        let result = unsafe { self.unlink(word, tid) };
        set_mask(mask);
        result
    }

    /// # Safety
    /// As [`RobustFutex::release`], of a thread that has the links in its list, with signals blocked.
    unsafe fn unlink(&self, word: &AtomicU32, tid: u32) -> Option<Sleepers> {
        let head = own_head().ok()?;
        // SAFETY: as in `link`.
        unsafe {
            // Relaxed: as in `acquire`. Another head: the program has registered a list of its own, which has no links of ours.
            if (*head).pending != 0 || self.list.load(Ordering::Relaxed) != head as usize {
                return None;
            }
            (&raw mut (*head).pending).write_volatile(self.name());
            compiler_fence(Ordering::SeqCst);
            let links = self.links().read();
            // If the memory of a neighbour is gone, the list ends there for the kernel too, and ours stay in it.
            let unlinked = set_prev(links.next, links.prev).and_then(|()| set_next(links.prev, links.next));
            if unlinked.is_ok() {
                // Relaxed: as in `acquire`.
                self.list.store(0, Ordering::Relaxed);
            }
            compiler_fence(Ordering::SeqCst);
            // Relaxed: a foreign write may have changed the word. Then it is not ours to release.
            let is_held = word.load(Ordering::Relaxed) & OWNER_TID == tid;
            // AcqRel: as in `link`.
            let before = if is_held { Some(word.swap(0, Ordering::AcqRel)) } else { None };
            (&raw mut (*head).pending).write_volatile(0);
            before.map(|before| if before & WAITERS != 0 { Sleepers::Some } else { Sleepers::None })
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

/// Sets the link to the previous entry. The entry may be a mutex of the program in memory that is gone: `EFAULT`, as for the
/// kernel.
///
/// # Safety
/// The calling thread's list has the entry, or had it a moment ago.
unsafe fn set_prev(name: usize, prev: usize) -> Result<(), Errno> {
    // SAFETY: links, which the list's owner may change.
    unsafe { fault::store_word(prev as u64, &raw const (*links_of(name)).prev as usize) }
}

/// Sets the link to the next entry, as [`set_prev`].
///
/// # Safety
/// As for [`set_prev`].
unsafe fn set_next(name: usize, next: usize) -> Result<(), Errno> {
    // SAFETY: as above.
    unsafe { fault::store_word(next as u64, &raw const (*links_of(name)).next as usize) }
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
                // An assertion that fails takes locks, which another thread may have held at the fork.
                libc::alarm(60);
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
                word.store(0, Ordering::SeqCst);
                robust_futex.acquire(word, 0, process::tid()).unwrap();
                assert_eq!(robust_futex.release(word, process::tid()), Some(Sleepers::None));
                robust_futex.unmap();
                robust_futex.acquire(word, 0, process::tid()).unwrap();
            }
        });
        assert_eq!((status, word.load(Ordering::SeqCst)), (0, OWNER_DIED));
    }

    /// A second thread takes a word that a foreign write has taken from the first one. The first one's list still leads to its
    /// mutex, which the kernel marks.
    #[test]
    fn second_taker_leaves_the_first_ones_list() {
        let word = word();
        // SAFETY: one thread at a time uses the robust futex, and the mutex is initialised before its use.
        unsafe {
            let mutex: &mut libc::pthread_mutex_t = Box::leak(Box::new(core::mem::zeroed()));
            let mut kind = core::mem::zeroed();
            libc::pthread_mutexattr_init(&raw mut kind);
            libc::pthread_mutexattr_setrobust(&raw mut kind, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(mutex, &raw const kind);
            let at = &raw mut *mutex as usize;
            let robust_futex = &*Box::leak(Box::new(RobustFutex::new()));
            let first = std::thread::spawn(move || {
                assert_eq!(libc::pthread_mutex_lock(at as *mut _), 0);
                robust_futex.acquire(word, 0, process::tid()).unwrap();
                word.store(0, Ordering::SeqCst);
                let second = std::thread::spawn(move || {
                    robust_futex.acquire(word, 0, process::tid()).unwrap();
                    assert_eq!(robust_futex.release(word, process::tid()), Some(Sleepers::None));
                });
                second.join().unwrap();
            });
            first.join().unwrap();
            assert_eq!(libc::pthread_mutex_lock(mutex), libc::EOWNERDEAD);
        }
    }

    /// A thread locks a robust mutex and takes all access from its memory, as unmapping does. Then its list cannot be changed, and
    /// nothing crashes. (Where the memory is unmapped, the next mapping may come to lie there, for libc's stores as for ours.)
    #[test]
    fn list_that_leads_to_lost_memory_is_left_alone() {
        let word = word();
        let status = in_a_child(|| {
            // SAFETY: fresh memory for the mutex, which nothing uses once it is lost.
            unsafe {
                let (access, kind) =
                    (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                let memory = libc::mmap(core::ptr::null_mut(), page::BYTES, access, kind, -1, 0);
                let mut robust = core::mem::zeroed();
                libc::pthread_mutexattr_init(&raw mut robust);
                libc::pthread_mutexattr_setrobust(&raw mut robust, libc::PTHREAD_MUTEX_ROBUST);
                libc::pthread_mutex_init(memory.cast(), &raw const robust);
                assert_eq!(libc::pthread_mutex_lock(memory.cast()), 0);
                assert_eq!(libc::mprotect(memory, page::BYTES, libc::PROT_NONE), 0);
                let robust_futex = RobustFutex::new();
                assert_eq!(robust_futex.acquire(word, 0, process::tid()), Err(Errno::ENOSYS));
                assert_eq!(robust_futex.release(word, process::tid()), None);
                robust_futex.unmap();
            }
        });
        assert_eq!((status, word.load(Ordering::SeqCst)), (0, 0));
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
