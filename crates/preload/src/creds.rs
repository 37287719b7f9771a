//! Calls that change the credentials of the program. The next definition makes the call. After a success the engine
//! forgets the credentials that it has cached for permission checks.

use crate::next::forward;
use core::ffi::{c_char, c_int, c_void};
use libc::{gid_t, size_t, uid_t};

/// Returns `answer`; if it is 0 (success) the engine forgets the cached credentials.
pub fn forget_if_changed(answer: c_int) -> c_int {
    if answer == 0 {
        unspin_sysv::creds::invalidate();
    }
    answer
}

forward! { forget_if_changed =>
    /// setuid(2).
    fn setuid(uid: uid_t) -> c_int;
    /// seteuid(2).
    fn seteuid(uid: uid_t) -> c_int;
    /// setreuid(2).
    fn setreuid(real: uid_t, effective: uid_t) -> c_int;
    /// setresuid(2).
    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int;
    /// setgid(2).
    fn setgid(gid: gid_t) -> c_int;
    /// setegid(2).
    fn setegid(gid: gid_t) -> c_int;
    /// setregid(2).
    fn setregid(real: gid_t, effective: gid_t) -> c_int;
    /// setresgid(2).
    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t) -> c_int;
    /// setgroups(2).
    fn setgroups(count: size_t, list: *const gid_t) -> c_int;
    /// initgroups(3). It calls setgroups inside libc, which bypasses the hook above.
    fn initgroups(user: *const c_char, group: gid_t) -> c_int;
    /// capset(2).
    fn capset(header: *mut c_void, data: *const c_void) -> c_int;
}
