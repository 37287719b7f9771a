//! Mappings.

use crate::file::Descriptor;
use crate::page::BYTES as PAGE;
use crate::{Errno, maps, raw};
use core::ffi::CStr;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use std::fs::File;
use std::os::fd::AsRawFd;

/// A mapping that is unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory that belongs to the address space, not to a thread. The typed layers above are
// responsible for what is read and written through it.
unsafe impl Send for Mapping {}
// SAFETY: as for Send; `Mapping` itself has no interior state.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of `file`, shared, readable and writable. Reserves nothing: a page is allocated at
    /// its first write.
    pub fn map_shared(file: &File, len: usize) -> Result<Mapping, Errno> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_NORESERVE, file.as_raw_fd(), READ_WRITE)
    }

    /// Maps the first `len` bytes of the file at `path`, shared, readable and writable. Allocates nothing and calls no
    /// function of the C library, so it may be used inside an allocator.
    ///
    /// # Errors
    /// Those of open(2) and mmap(2); `EINVAL` if the file is shorter, or not regular.
    pub fn map_shared_at(path: &CStr, len: usize) -> Result<Mapping, Errno> {
        let file = Descriptor::open_regular(path, libc::O_RDWR)?;
        if file.bytes()? < len as u64 {
            return Err(Errno::EINVAL);
        }
        Self::map(len, libc::MAP_SHARED | libc::MAP_NORESERVE, file.number(), READ_WRITE)
    }

    /// Maps the first `len` bytes of `file`, shared and read-only.
    pub fn map_shared_read_only(file: &File, len: usize) -> Result<Mapping, Errno> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_NORESERVE, file.as_raw_fd(), libc::PROT_READ)
    }

    /// Private zeroed memory that is zeroed again in a child made by fork (`MADV_WIPEONFORK`, Linux 4.14): for state
    /// that must not be inherited. A child that shares the address space (vfork) shares the memory.
    pub fn map_wiped_on_fork(len: usize) -> Result<Mapping, Errno> {
        Self::map_wiped_in_front(len, 0)
    }

    /// Private zeroed memory, of which the first `wiped` bytes are zeroed again in a child made by fork; the child
    /// inherits the `kept` bytes that follow.
    pub fn map_wiped_in_front(wiped: usize, kept: usize) -> Result<Mapping, Errno> {
        let map = Self::map(wiped + kept, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, READ_WRITE)?;
        // SAFETY: the range is the first part of the mapping just made.
        unsafe {
            raw::call(
                libc::SYS_madvise,
                [map.start.as_ptr() as usize, wiped, libc::MADV_WIPEONFORK as usize],
            )?;
        }
        Ok(map)
    }

    /// Zeroed memory that is shared with children made by fork.
    pub fn map_shared_with_children(len: usize) -> Result<Mapping, Errno> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, READ_WRITE)
    }

    /// Private zeroed memory. Reserves nothing: a page is allocated at its first write.
    pub fn map_private(len: usize) -> Result<Mapping, Errno> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        Self::map(len, flags, -1, READ_WRITE)
    }

    fn map(len: usize, flags: i32, fd: i32, prot: i32) -> Result<Mapping, Errno> {
        // SAFETY: no address is given, so no existing mapping is touched.
        let start = unsafe {
            raw::call(libc::SYS_mmap, [0, len, prot as usize, flags as usize, fd as isize as usize, 0])?
        };
        let start = NonNull::new(start as *mut u8).ok_or(Errno::ENOMEM)?;
        Ok(Mapping { start, len })
    }

    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the mapping has no bytes; always false, as the kernel refuses length 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps the mapping until the process ends.
    pub fn leak(self) -> NonNull<u8> {
        let start = self.start;
        core::mem::forget(self);
        start
    }
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: we mapped the range, and dropping needs ownership: no borrow of it is left.
        let _ = unsafe { raw::call(libc::SYS_munmap, [self.start.as_ptr() as usize, self.len]) };
    }
}

/// Makes sure that writes to `len` bytes of a shared mapping, from the page of `start` on, cannot fail for lack of
/// space. On tmpfs a store to a page that cannot be allocated is SIGBUS; here it is an error number. Works by address
/// instead of by descriptor, because a program may close descriptors that it does not know (as daemons do) and open its
/// own under the same number. (`MADV_POPULATE_WRITE`, Linux 5.14; `EINVAL` on older kernels.)
pub fn populate(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    let (start, len) = pages(start, len);
    // SAFETY: faults pages in and changes no byte; an address that is not mapped is ENOMEM.
    unsafe { raw::call(libc::SYS_madvise, [start, len, libc::MADV_POPULATE_WRITE as usize]) }.map(drop)
}

/// Frees the whole pages of a shared mapping between `start` and `start + len`; they read as zero afterwards
/// (`MADV_REMOVE`).
///
/// # Safety
/// The pages lie in a shared mapping of a file on tmpfs, ext4 or another file system that can punch holes, and their
/// contents are not needed any more.
pub unsafe fn discard(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    let from = (start.as_ptr() as usize).next_multiple_of(PAGE);
    let to = (start.as_ptr() as usize + len) / PAGE * PAGE;
    if from >= to {
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    unsafe { raw::call(libc::SYS_madvise, [from, to - from, libc::MADV_REMOVE as usize]) }.map(drop)
}

/// Replaces the mapping at `start` by private zeroed memory. May be called in a signal handler.
///
/// # Safety
/// The `len` bytes are whole pages that belong to the caller, and no thread is harmed when they become zero under it.
pub unsafe fn replace(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let arguments = [start.as_ptr() as usize, len, READ_WRITE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: guaranteed by the caller.
    unsafe { raw::call(libc::SYS_mmap, arguments) }.map(drop)
}

/// Address and length of all pages that a range touches.
fn pages(start: NonNull<u8>, len: usize) -> (usize, usize) {
    let from = start.as_ptr() as usize / PAGE * PAGE;
    (from, (start.as_ptr() as usize + len).next_multiple_of(PAGE) - from)
}

/// Copies `out.len()` bytes from address `from` of the calling process. Returns `EFAULT` where the kernel would: the
/// kernel itself reads the memory (`process_vm_readv`), so we never follow a bad pointer. If a seccomp filter forbids
/// the call, the bytes are read directly.
pub fn copy_in(from: usize, out: &mut [u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let remote = libc::iovec { iov_base: from as *mut _, iov_len: out.len() };
    transfer(libc::SYS_process_vm_readv, &local, &remote)
}

/// The same by reading `/proc/self/mem`: openat(2), pread64(2), close(2). `EIO` where the memory cannot be read. Also for memory that
/// nobody may read: it is read (proc(5)).
pub fn read_own(from: usize, out: &mut [u8]) -> Result<(), Errno> {
    let memory = Descriptor::open(c"/proc/self/mem", libc::O_RDONLY)?;
    let arguments = [memory.number() as usize, out.as_mut_ptr() as usize, out.len(), from];
    // SAFETY: the kernel writes at most the given length into the slice.
    match unsafe { raw::call(libc::SYS_pread64, arguments)? } {
        read if read == out.len() => Ok(()),
        _ => Err(Errno::EIO),
    }
}

/// Copies from address `from` of the calling process into words, at most as many bytes as fit, and returns how many.
/// Returns 0 if the memory is not mapped, or if the kernel may not be asked: for data that is useful but not required.
pub fn copy_into_words(from: usize, out: &[AtomicU64]) -> usize {
    let pid = own_id();
    let room = size_of_val(out);
    // The kernel copies a range completely or not at all: the second range ends with the page.
    for wanted in [room, room.min(PAGE - from % PAGE)] {
        let local = libc::iovec { iov_base: out.as_ptr() as *mut _, iov_len: wanted };
        let remote = libc::iovec { iov_base: from as *mut _, iov_len: wanted };
        // SAFETY: both vectors are live; `local` lies in live words, which may be written through a shared reference;
        // the kernel checks `remote`.
        let copied = unsafe {
            raw::call(
                libc::SYS_process_vm_readv,
                [pid, &raw const local as usize, 1, &raw const remote as usize, 1, 0],
            )
        };
        if copied == Ok(wanted) {
            return wanted;
        }
    }
    0
}

/// Locks into memory all that is mapped now, except a range of addresses; mlockall(2) with `MCL_CURRENT` knows no
/// exception. Stops at the first mapping that the kernel refuses to lock: EPERM, ENOMEM or EAGAIN of mlock2(2).
pub fn lock_all_but(left_out: &Range<u64>) -> Result<(), Errno> {
    let mut result = Ok(());
    maps::lines(|line| {
        let Some(range) = maps::range(line).filter(|_| result.is_ok()) else { return };
        // The kernel's own pages ([vdso], [vvar], [vsyscall]) are in memory anyway.
        let of_kernel = maps::name(line).is_some_and(|name| name.starts_with(b"[v"));
        let apart = range.end <= left_out.start || left_out.end <= range.start;
        if apart && !of_kernel {
            result = lock(range.start as usize, (range.end - range.start) as usize);
        }
    })?;
    result
}

fn lock(start: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: locking pages, or faulting them in, changes no contents.
    unsafe {
        // First without faulting them in, so that an error means that locking is refused.
        raw::call(libc::SYS_mlock2, [start, len, libc::MLOCK_ONFAULT as usize])?;
        // Fails with ENOMEM where reading is not permitted, as at a stack's guard page; mlockall skips such pages, too.
        let _ = raw::call(libc::SYS_mlock, [start, len]);
    }
    Ok(())
}

/// Copies `bytes` to address `to` of the calling process, as [`copy_in`] does in the other direction.
pub fn copy_out(bytes: &[u8], to: usize) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: to as *mut _, iov_len: bytes.len() };
    transfer(libc::SYS_process_vm_writev, &local, &remote)
}

/// The id under which the process is passed to the kernel: the calling thread's, because the first thread may have
/// ended, while the others still have the memory.
fn own_id() -> usize {
    crate::process::tid() as usize
}

fn transfer(call: i64, local: &libc::iovec, remote: &libc::iovec) -> Result<(), Errno> {
    if local.iov_len == 0 {
        return Ok(());
    }
    let pid = own_id();
    // SAFETY: both vectors are live; `local` spans a live slice; the kernel checks `remote`.
    let result =
        unsafe { raw::call(call, [pid, local as *const _ as usize, 1, remote as *const _ as usize, 1, 0]) };
    match result {
        Ok(n) if n == local.iov_len => Ok(()),
        Err(Errno::ENOSYS | Errno::EPERM) => {
            let (from, to) =
                if call == libc::SYS_process_vm_readv { (remote, local) } else { (local, remote) };
            // SAFETY: not checked here. The caller of semctl(2) makes the same promise to the kernel; if it is broken,
            // the fault occurs as in an access by the program itself.
            unsafe {
                core::ptr::copy_nonoverlapping(
                    from.iov_base as *const u8,
                    to.iov_base as *mut u8,
                    local.iov_len,
                )
            };
            Ok(())
        }
        _ => Err(Errno::EFAULT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_pointers_are_efault() {
        let mut out = [0u8; 8];
        assert_eq!(copy_in(8, &mut out), Err(Errno::EFAULT));
        assert_eq!(copy_out(&out, 8), Err(Errno::EFAULT));
        let mut target = 5u64;
        copy_out(&9u64.to_ne_bytes(), &raw mut target as usize).unwrap();
        copy_in(&raw const target as usize, &mut out).unwrap();
        assert_eq!(u64::from_ne_bytes(out), 9);
    }

    #[test]
    fn pages_are_reserved_and_given_back_without_a_descriptor() {
        let file = tempfile();
        file.set_len(4 * PAGE as u64).unwrap();
        let map = Mapping::map_shared(&file, 4 * PAGE).unwrap();
        drop(file);
        populate(map.start(), 2 * PAGE + 1).unwrap();
        let byte = map.start().as_ptr().wrapping_add(PAGE);
        // SAFETY: inside the mapping, to which no other code has access.
        unsafe {
            byte.write_volatile(7);
            byte.sub(1).write_volatile(8);
            discard(map.start().add(1), 2 * PAGE - 1).unwrap();
            assert_eq!((byte.read_volatile(), byte.sub(1).read_volatile()), (0, 8));
        }
        assert_eq!(populate(NonNull::new(PAGE as *mut u8).unwrap(), 1), Err(Errno::ENOMEM));
    }

    /// A file in memory.
    fn tempfile() -> File {
        use std::os::fd::FromRawFd;
        // SAFETY: a C string; the descriptor is new, so it has no other owner.
        unsafe { File::from_raw_fd(libc::memfd_create(c"unspin-sys-test".as_ptr(), 0)) }
    }

    #[test]
    fn a_forked_child_finds_zeroes() {
        let map = Mapping::map_wiped_on_fork(4096).unwrap();
        let word = map.start().as_ptr().cast::<u64>();
        // SAFETY: the mapping is ours, aligned and large enough; the child only reads it and exits.
        unsafe {
            word.write_volatile(1);
            let child = libc::fork();
            if child == 0 {
                libc::_exit(word.read_volatile() as i32);
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            assert_eq!((libc::WEXITSTATUS(status), word.read_volatile()), (0, 1));
        }
    }
}
