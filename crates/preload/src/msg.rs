//! Message queues: the next definition answers, until an engine has them.

use crate::next::forward;
use core::convert::identity;
use core::ffi::{c_int, c_long, c_void};
use libc::{key_t, msqid_ds, size_t, ssize_t};

forward! { identity:
    /// msgget(2).
    fn msgget(key: key_t, flags: c_int) -> c_int;
    /// msgsnd(2).
    fn msgsnd(id: c_int, message: *const c_void, size: size_t, flags: c_int) -> c_int;
    /// msgrcv(2).
    fn msgrcv(id: c_int, message: *mut c_void, size: size_t, kind: c_long, flags: c_int) -> ssize_t;
    /// msgctl(2).
    fn msgctl(id: c_int, command: c_int, buffer: *mut msqid_ds) -> c_int;
}
