//! Libraries that have to see the calls of lock functions: nothing is replaced beside them.

use core::ffi::CStr;
use unspin_sys::private;
use unspin_wire::plan::LockFamily;

/// The functions that no longer reach the next definition where a plan is in effect, whatever it replaces.
const LOCK_FUNCTIONS: [&CStr; 15] = [
    c"pthread_mutex_lock",
    c"pthread_mutex_trylock",
    c"pthread_mutex_timedlock",
    c"pthread_mutex_clocklock",
    c"pthread_mutex_unlock",
    c"pthread_cond_wait",
    c"pthread_cond_timedwait",
    c"pthread_cond_clockwait",
    c"pthread_cond_signal",
    c"pthread_cond_broadcast",
    c"pthread_barrier_wait",
    c"mtx_lock",
    c"mtx_unlock",
    c"cnd_wait",
    c"cnd_signal",
];

/// Those that do not where read-write locks are replaced.
const RWLOCK_FUNCTIONS: [&CStr; 9] = [
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_tryrdlock",
    c"pthread_rwlock_timedrdlock",
    c"pthread_rwlock_clockrdlock",
    c"pthread_rwlock_wrlock",
    c"pthread_rwlock_trywrlock",
    c"pthread_rwlock_timedwrlock",
    c"pthread_rwlock_clockwrlock",
    c"pthread_rwlock_unlock",
];

/// Those that do not where spin locks are replaced.
const SPIN_FUNCTIONS: [&CStr; 3] = [c"pthread_spin_lock", c"pthread_spin_trylock", c"pthread_spin_unlock"];

/// Functions of the run-time libraries of sanitizers. One that is linked into the program lies in front of this library, and
/// still knows what locks do only if libc's own functions do it.
const SANITIZERS: [&CStr; 3] = [c"__tsan_init", c"__asan_init", c"__msan_init"];

/// Whether another library has to see the calls of lock functions. `replaces` says whether the plan has a line for locks of a family.
pub fn is_wrapped(replaces: impl Fn(LockFamily) -> bool) -> bool {
    let wraps = private::is_defined_behind_this;
    wraps(&LOCK_FUNCTIONS)
        || replaces(LockFamily::RwLock) && wraps(&RWLOCK_FUNCTIONS)
        || replaces(LockFamily::Spin) && wraps(&SPIN_FUNCTIONS)
        || private::is_defined(&SANITIZERS)
}
