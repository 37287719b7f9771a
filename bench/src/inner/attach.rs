//! Segments of shared memory that are attached and detached.

use super::calls::expect;
use super::timing::{Effort, per_call};
use std::ffi::{c_int, c_void};
use std::io::Error;
use std::ptr;

const BYTES: usize = 4096;

/// Nanoseconds of shmat and shmdt. The memory is not touched: the cost of a page is the same for all engines.
pub fn run(effort: &Effort) -> Result<f64, String> {
    let segment = Segment::private()?;
    Ok(per_call(effort, || {
        // SAFETY: where there is room.
        let address = unsafe { libc::shmat(segment.id, ptr::null(), 0) };
        expect((address == -1isize as *mut c_void).into(), 0);
        // SAFETY: no code uses the memory that was just attached.
        expect(unsafe { libc::shmdt(address) }, 0);
    }))
}

/// A segment without a key, removed when dropped.
struct Segment {
    id: c_int,
}

impl Segment {
    fn private() -> Result<Segment, String> {
        // SAFETY: no pointers.
        match unsafe { libc::shmget(libc::IPC_PRIVATE, BYTES, libc::IPC_CREAT | 0o600) } {
            -1 => Err(format!("shmget: {}", Error::last_os_error())),
            id => Ok(Segment { id }),
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID reads no structure.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, ptr::null_mut()) };
    }
}
