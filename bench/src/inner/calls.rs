//! Uncontended System V calls.

use super::Call;
use super::timing::{Effort, per_call};
use std::ffi::c_int;
use std::io::Error;

/// Nanoseconds per call.
pub fn run(call: Call, effort: &Effort) -> Result<f64, String> {
    let set = Set::create(call)?;
    let id = set.id;
    match call {
        Call::Semop => {
            let (mut post, mut take) = (operation(1, 0), operation(-1, 0));
            let pair = per_call(effort, || {
                // SAFETY: one live operation, as the count says.
                expect(unsafe { libc::semop(id, &mut post, 1) }, 0);
                // SAFETY: as above.
                expect(unsafe { libc::semop(id, &mut take, 1) }, 0);
            });
            Ok(pair / 2.0)
        }
        Call::Undo => {
            let (mut post, mut take) = (operation(1, libc::SEM_UNDO), operation(-1, libc::SEM_UNDO));
            Ok(per_call(effort, || {
                // SAFETY: one live operation, as the count says.
                expect(unsafe { libc::semop(id, &mut post, 1) }, 0);
                // SAFETY: as above.
                expect(unsafe { libc::semop(id, &mut take, 1) }, 0);
            }))
        }
        Call::Eagain => {
            let mut take = operation(-1, libc::IPC_NOWAIT);
            // SAFETY: one live operation, as the count says.
            let figure = per_call(effort, || expect(unsafe { libc::semop(id, &mut take, 1) }, -1));
            match Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN) => Ok(figure),
                _ => Err(format!("semop with IPC_NOWAIT: {}", Error::last_os_error())),
            }
        }
        // SAFETY: GETVAL takes no fourth argument.
        Call::Getval => Ok(per_call(effort, || expect(unsafe { libc::semctl(id, 0, libc::GETVAL) }, 0))),
        // SAFETY: no pointers.
        Call::Semget => Ok(per_call(effort, || expect(unsafe { libc::semget(set.key, 1, 0o600) }, id))),
    }
}

/// A set of one semaphore, removed when dropped.
pub struct Set {
    /// The set's id.
    pub id: c_int,
    key: libc::key_t,
}

impl Set {
    fn create(call: Call) -> Result<Set, String> {
        match call {
            Call::Semget => Set::with_key(),
            Call::Semop | Call::Undo | Call::Eagain | Call::Getval => Set::private(),
        }
    }

    /// Without a key.
    pub fn private() -> Result<Set, String> {
        Set::try_create(libc::IPC_PRIVATE).map_err(|e| format!("semget: {e}"))
    }

    /// With a key that no other program uses.
    fn with_key() -> Result<Set, String> {
        let first = 0x7562_0000 ^ std::process::id() as libc::key_t;
        for key in first..first + 100 {
            match Set::try_create(key) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {}
                made => return made.map_err(|e| format!("semget: {e}")),
            }
        }
        Err("semget: a hundred keys in a row are taken: remove what `ipcs -s` lists".into())
    }

    fn try_create(key: libc::key_t) -> Result<Set, Error> {
        // SAFETY: no pointers.
        match unsafe { libc::semget(key, 1, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) } {
            -1 => Err(Error::last_os_error()),
            id => Ok(Set { id, key }),
        }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID takes no fourth argument.
        unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
    }
}

/// An operation on the set's one semaphore.
pub fn operation(change: i16, flags: c_int) -> libc::sembuf {
    libc::sembuf { sem_num: 0, sem_op: change, sem_flg: flags as i16 }
}

/// Stops a benchmark whose call fails: it would measure something else.
#[inline(always)]
pub fn expect(answer: c_int, right: c_int) {
    if answer != right {
        wrong(answer, right);
    }
}

#[cold]
fn wrong(answer: c_int, right: c_int) -> ! {
    panic!("the call answered {answer} and not {right}: {}", Error::last_os_error());
}
