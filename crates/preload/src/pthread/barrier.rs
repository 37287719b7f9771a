//! Barriers: who comes last waits for nobody.

use super::acquire::{attempt, initialised};
use super::real;
use crate::next::forward;
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::{c_int, c_uint};
use libc::{PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_t, pthread_barrierattr_t};
use unspin_meter::{Kind, Outcome};
use unspin_sys::entry;

entry! {
    /// pthread_barrier_init(3).
    fn pthread_barrier_init(3) = init;
    /// pthread_barrier_wait(3).
    fn pthread_barrier_wait(1) = wait;
}

forward! { identity =>
    /// pthread_barrier_destroy(3).
    fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
}

unsafe extern "C-unwind" fn init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::barrier_init(barrier, attributes, count), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(barrier, hook);
    }
    code
}

unsafe extern "C-unwind" fn wait(barrier: *mut pthread_barrier_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: `entry` gives the registers; the program's barrier.
    let (hook, waited) = unsafe { (Hook::new(sp, bp), || real::barrier_wait(barrier)) };
    let Some((thread, place)) = attempt(Object::new(Kind::Barrier, barrier), 0, hook) else {
        return waited();
    };
    let begin = thread.now();
    thread.table().waiting(place, begin);
    let code = waited();
    thread.table().waiting(place, 0);
    match code {
        // glibc gives this answer to who came last.
        PTHREAD_BARRIER_SERIAL_THREAD => {}
        0 => {
            thread.table().reclassify(place, Outcome::NoWait, Outcome::Slept);
            if thread.has_clock() {
                thread.table().waited(place, Outcome::Slept, 0, thread.now().saturating_sub(begin));
            }
        }
        _ => thread.table().reclassify(place, Outcome::NoWait, Outcome::Rejected),
    }
    code
}
