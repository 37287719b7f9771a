//! select(2) and pselect(2). A look uses copies of the sets, as the kernel writes its answer into them.

use super::descriptor::{self, Call};
use super::handlers::Interruption;
use crate::watch::Hook;
use core::ffi::c_int;
use core::ptr::null_mut;
use libc::{fd_set, sigset_t, timespec, timeval};
use unspin_sys::{clock, entry, mem};
use unspin_wire::RecordKind;
use unspin_wire::looks::{LookKind, Looks};

crate::next::define_next! {
    /// select(2).
    fn select = select(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    /// pselect(2).
    fn pselect = pselect(
        count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec,
        mask: *const sigset_t) -> c_int;
}

entry! {
    /// select(2).
    fn select(5) = select_entry;
    /// pselect(2).
    fn pselect(6) = pselect_entry;
}

/// The three sets of a call, and their contents before the call.
struct Sets {
    count: c_int,
    sets: [*mut fd_set; 3],
    /// Filled by [`Sets::copy`].
    asked: [Words; 3],
}

/// FD_SETSIZE bits.
type Words = [u64; libc::FD_SETSIZE / 64];

impl Sets {
    fn new(count: c_int, sets: [*mut fd_set; 3]) -> Sets {
        Sets { count, sets, asked: [[0; libc::FD_SETSIZE / 64]; 3] }
    }

    /// Copies the program's sets. Returns whether the copies are complete: some programs have larger sets than libc's
    /// type. A bad address is left for the kernel to report.
    fn copy(&mut self) -> bool {
        if !(1..=libc::FD_SETSIZE as c_int).contains(&self.count) {
            return false;
        }
        let words = self.words();
        self.asked.iter_mut().zip(&self.sets).all(|(copy, set)| {
            // SAFETY: the bytes of integers.
            let bytes = unsafe { core::slice::from_raw_parts_mut(copy.as_mut_ptr().cast::<u8>(), words * 8) };
            set.is_null() || mem::copy_in(set.addr(), bytes).is_ok()
        })
    }

    /// The length that the kernel reads of each set, in words.
    fn words(&self) -> usize {
        (self.count as usize).div_ceil(64)
    }

    /// Makes the call with copies of the sets. If it finds something, copies the answer into the program's sets.
    fn look(&self, asks: impl FnOnce(c_int, [*mut fd_set; 3]) -> c_int) -> Option<c_int> {
        let mut answers = self.asked;
        let mut asked = [null_mut(); 3];
        for ((asked, answer), set) in asked.iter_mut().zip(&mut answers).zip(&self.sets) {
            if !set.is_null() {
                *asked = answer.as_mut_ptr().cast();
            }
        }
        let found = asks(self.count, asked);
        if found > 0 {
            for (answer, set) in answers.iter().zip(&self.sets).filter(|(_, set)| !set.is_null()) {
                // SAFETY: the bytes of integers.
                let bytes =
                    unsafe { core::slice::from_raw_parts(answer.as_ptr().cast::<u8>(), self.words() * 8) };
                // If a set cannot be written to, the program's own call, which follows, will fail.
                mem::copy_out(bytes, set.addr()).ok()?;
            }
        }
        descriptor::found(found)
    }
}

struct Select {
    sets: Sets,
    timeout: *mut timeval,
    /// Time at which the poll began, in nanoseconds; 0 before.
    began: u64,
}

impl Call for Select {
    type Answer = c_int;
    const KIND: RecordKind = RecordKind::Select;
    const LOOKS: Looks = Looks::of([LookKind::Select, LookKind::Memory]);
    const TAKES_NOTHING: bool = true;

    unsafe fn may_poll(&mut self) -> bool {
        // SAFETY: libc also reads this time.
        let is_long = self.timeout.is_null() || unsafe { is_long(*self.timeout) };
        is_long && self.sets.copy()
    }

    unsafe fn look(&mut self) -> Option<c_int> {
        if self.began == 0 {
            self.began = clock::monotonic_ns();
        }
        let mut at_once = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the program's arguments.
        let found = unsafe {
            self.sets
                .look(|count, [read, write, except]| real::select(count, read, write, except, &mut at_once))
        };
        if found.is_some() {
            // SAFETY: the program's arguments.
            unsafe { self.spend() };
        }
        found
    }

    unsafe fn finish_interrupted(&self) {
        // SAFETY: the program's arguments.
        unsafe { self.spend() };
    }

    unsafe fn sleep(&self) -> c_int {
        let Sets { count, sets: [read, write, except], .. } = self.sets;
        // SAFETY: the program's arguments.
        unsafe { real::select(count, read, write, except, self.timeout) }
    }

    fn items(answer: c_int) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_any()
    }
}

impl Select {
    /// Stores the remaining time in the program's timeout, as the kernel does.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn spend(&self) {
        if !self.timeout.is_null() && self.began != 0 {
            // SAFETY: the program's argument, to which `select` writes.
            unsafe { spend(&mut *self.timeout, clock::monotonic_ns() - self.began) };
        }
    }
}

/// Whether a timeout is so long that a poll hardly makes it longer.
fn is_long(timeout: timeval) -> bool {
    let tv_nsec = timeout.tv_usec.saturating_mul(1_000);
    // SAFETY: a live time.
    unsafe { descriptor::is_long(&timespec { tv_sec: timeout.tv_sec, tv_nsec }) }
}

/// Subtracts this many nanoseconds from a time, down to zero.
fn spend(timeout: &mut timeval, ns: u64) {
    let left = timeout.tv_sec.saturating_mul(1_000_000).saturating_add(timeout.tv_usec);
    let left = left.saturating_sub((ns / 1_000) as i64).max(0);
    (timeout.tv_sec, timeout.tv_usec) = (left / 1_000_000, left % 1_000_000);
}

unsafe extern "C-unwind" fn select_entry(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
    sp: usize,
    bp: usize,
) -> c_int {
    let call = Select { sets: Sets::new(count, [read, write, except]), timeout, began: 0 };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(call, Hook::new(sp, bp)) }
}

struct PSelect {
    sets: Sets,
    timeout: *const timespec,
    mask: *const sigset_t,
}

impl Call for PSelect {
    type Answer = c_int;
    const KIND: RecordKind = RecordKind::Select;
    const LOOKS: Looks = Looks::of([LookKind::Select, LookKind::Memory]);
    const TAKES_NOTHING: bool = true;

    unsafe fn may_poll(&mut self) -> bool {
        // SAFETY: libc also reads this time.
        unsafe { descriptor::is_long(self.timeout) && self.sets.copy() }
    }

    unsafe fn look(&mut self) -> Option<c_int> {
        let mut at_once = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the program's arguments.
        unsafe {
            self.sets
                .look(|count, [read, write, except]| real::select(count, read, write, except, &mut at_once))
        }
    }

    fn mask(&self) -> *const sigset_t {
        self.mask
    }

    unsafe fn sleep(&self) -> c_int {
        let Sets { count, sets: [read, write, except], .. } = self.sets;
        // SAFETY: the program's arguments.
        unsafe { real::pselect(count, read, write, except, self.timeout, self.mask) }
    }

    fn items(answer: c_int) -> u64 {
        u64::from(answer > 0)
    }

    fn is_ended_by(&self, handlers: Interruption) -> bool {
        handlers.ends_any()
    }
}

unsafe extern "C-unwind" fn pselect_entry(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
    sp: usize,
    bp: usize,
) -> c_int {
    let call = PSelect { sets: Sets::new(count, [read, write, except]), timeout, mask };
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { descriptor::wait(call, Hook::new(sp, bp)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_time_is_never_negative() {
        let mut timeout = timeval { tv_sec: 2, tv_usec: 10 };
        spend(&mut timeout, 1_000_020_000);
        assert_eq!((timeout.tv_sec, timeout.tv_usec), (0, 999_990));
        spend(&mut timeout, u64::MAX);
        assert_eq!((timeout.tv_sec, timeout.tv_usec), (0, 0));
    }
}
