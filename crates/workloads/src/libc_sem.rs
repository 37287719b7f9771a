//! `semget`, `semop` and `semctl` as a C program calls them: through libc's dynamic symbols, which a
//! preloaded library may define.
//!
//! Semaphores are used as gates here: value 1 is shut, value 0 is open, and whoever waits for a gate waits
//! for zero.

use std::ffi::c_int;
use std::io::{Error, Result};

/// Value of a gate that is shut.
pub const SHUT: u16 = 1;
/// Value of a gate that has been posted.
pub const OPEN: u16 = 0;

/// A set of `gates` shut gates that no key finds.
pub fn create(gates: usize) -> Result<c_int> {
    let mut values = vec![SHUT; gates];
    // SAFETY: no pointers.
    let id = check(unsafe { libc::semget(libc::IPC_PRIVATE, gates as c_int, libc::IPC_CREAT | 0o600) })?;
    // SAFETY: SETALL reads one u16 for each semaphore of the set, and `values` has as many.
    let set = check(unsafe { libc::semctl(id, 0, libc::SETALL, values.as_mut_ptr()) });
    match set {
        Ok(_) => Ok(id),
        Err(e) => {
            remove(id);
            Err(e)
        }
    }
}

/// Removes a set. There is nothing to be done if it is gone already.
pub fn remove(id: c_int) {
    // SAFETY: IPC_RMID takes no fourth argument.
    let _ = unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

/// Sleeps until the gate is open.
pub fn wait(id: c_int, gate: usize) -> Result<()> {
    operate(id, gate, 0)
}

/// Shuts a gate that is open.
pub fn reset(id: c_int, gate: usize) -> Result<()> {
    operate(id, gate, 1)
}

/// Opens a gate that is shut; sleeps until it is, should it be open, which a ring of gates with one token
/// never brings about.
pub fn post(id: c_int, gate: usize) -> Result<()> {
    operate(id, gate, -1)
}

fn operate(id: c_int, gate: usize, change: i16) -> Result<()> {
    let mut operation = libc::sembuf { sem_num: gate as u16, sem_op: change, sem_flg: 0 };
    loop {
        // SAFETY: `operation` is one live sembuf, as the count says.
        match check(unsafe { libc::semop(id, &mut operation, 1) }) {
            Ok(_) => return Ok(()),
            // Semaphore operations are never restarted after a signal, not even with SA_RESTART: signal(7).
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

/// Processes that sleep until the gate is open.
pub fn waiting(id: c_int, gate: usize) -> Result<usize> {
    // SAFETY: GETZCNT takes no fourth argument.
    check(unsafe { libc::semctl(id, gate as c_int, libc::GETZCNT) }).map(|n| n as usize)
}

fn check(result: c_int) -> Result<c_int> {
    if result == -1 { Err(Error::last_os_error()) } else { Ok(result) }
}
