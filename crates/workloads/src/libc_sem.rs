//! `semget`, `semop` and `semctl` as a C program calls them: through libc's dynamic symbols, which a preloaded library
//! may define.
//!
//! Semaphores serve as gates here: value 1 is shut, value 0 is open, and a process that waits for a gate waits for
//! zero.

use std::ffi::c_int;
use std::io::{Error, Result};

/// Value of a shut gate.
pub const SHUT: u16 = 1;
/// Value of an open gate, that is, one that has been posted.
pub const OPEN: u16 = 0;

/// Creates a private set of `gates` shut gates.
pub fn create(gates: usize) -> Result<c_int> {
    let mut values = vec![SHUT; gates];
    // SAFETY: no pointers.
    let id = check(unsafe { libc::semget(libc::IPC_PRIVATE, gates as c_int, libc::IPC_CREAT | 0o600) })?;
    // SAFETY: SETALL reads one u16 per semaphore of the set, and `values` has that many.
    let set = check(unsafe { libc::semctl(id, 0, libc::SETALL, values.as_mut_ptr()) });
    match set {
        Ok(_) => Ok(id),
        Err(e) => {
            remove(id);
            Err(e)
        }
    }
}

/// Removes a set. Does nothing if it is gone already.
pub fn remove(id: c_int) {
    // SAFETY: IPC_RMID takes no fourth argument.
    let _ = unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

/// Sleeps until the gate is open.
pub fn wait(id: c_int, gate: usize) -> Result<()> {
    semop_one(id, gate, 0)
}

/// Shuts an open gate.
pub fn reset(id: c_int, gate: usize) -> Result<()> {
    semop_one(id, gate, 1)
}

/// Opens a shut gate. If the gate is open it would sleep until the gate is shut; that never happens in a ring of gates
/// with one token.
pub fn post(id: c_int, gate: usize) -> Result<()> {
    semop_one(id, gate, -1)
}

fn semop_one(id: c_int, gate: usize, change: i16) -> Result<()> {
    let mut operation = libc::sembuf { sem_num: gate as u16, sem_op: change, sem_flg: 0 };
    loop {
        // SAFETY: `operation` is one live sembuf, which matches the count.
        match check(unsafe { libc::semop(id, &mut operation, 1) }) {
            Ok(_) => return Ok(()),
            // Semaphore operations are never restarted after a signal handler, not even with SA_RESTART: signal(7).
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The value of a gate.
pub fn value(id: c_int, gate: usize) -> Result<u16> {
    // SAFETY: GETVAL takes no fourth argument.
    check(unsafe { libc::semctl(id, gate as c_int, libc::GETVAL) }).map(|v| v as u16)
}

/// Number of processes that sleep until the gate is open.
pub fn waiting(id: c_int, gate: usize) -> Result<usize> {
    // SAFETY: GETZCNT takes no fourth argument.
    check(unsafe { libc::semctl(id, gate as c_int, libc::GETZCNT) }).map(|n| n as usize)
}

fn check(result: c_int) -> Result<c_int> {
    if result == -1 { Err(Error::last_os_error()) } else { Ok(result) }
}
