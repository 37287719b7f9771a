//! `unspin ipcmk`.

use super::reason;
use super::source::Source;
use crate::error::Error;
use crate::options::Ipcmk;
use crate::stdout;
use std::fs::File;
use std::io::Read;
use std::process::ExitCode;
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{IPC_CREAT, IPC_EXCL, IPC_PRIVATE};
use unspin_sysv::Engine;

/// Makes what is asked for, and prints the ids.
pub fn make(options: &Ipcmk) -> Result<ExitCode, Error> {
    let source = Source::new(options.source.sysv, options.arena.as_deref())?;
    source.open(|engine| all(engine, options))?
}

/// One after the other, in util-linux's order; what was made before a failure stays, and its id has been printed.
fn all(engine: Engine, options: &Ipcmk) -> Result<ExitCode, Error> {
    let flags = options.mode | IPC_CREAT | IPC_EXCL;
    if let Some(size) = options.shmem {
        let id = made("shared memory", |key| engine.shmget(key, size, flags))?;
        stdout::print(&format!("Shared memory id: {id}\n"))?;
    }
    if options.queue {
        let id = made("message queue", |key| engine.msgget(key, flags))?;
        stdout::print(&format!("Message queue id: {id}\n"))?;
    }
    if let Some(count) = options.semaphore {
        let id = made("semaphore", |key| engine.semget(key, count, flags))?;
        stdout::print(&format!("Semaphore id: {id}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An object under a key that no other has.
fn made(what: &str, make: impl Fn(i32) -> Result<i32, Errno>) -> Result<i32, Error> {
    loop {
        let key = random_key()?;
        match make(key) {
            Err(Errno::EEXIST) => {}
            made => return made.map_err(|errno| failure(what, errno)),
        }
    }
}

fn failure(what: &str, errno: Errno) -> Error {
    let remedy = match errno {
        Errno::EINVAL => "its size is outside the limits that `unspin ipcs -l` shows",
        Errno::ENOSPC => "there are as many as `unspin ipcs -l` allows; `unspin ipcrm` removes some",
        _ => "`unspin ipcs -u` shows what there is",
    };
    Error::Input(format!("ipcmk: create {what} failed: {}: {remedy}", reason(errno)))
}

fn random_key() -> Result<i32, Error> {
    let mut bytes = [0; 4];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Error::Environment(format!("/dev/urandom: {error}")))?;
    Ok(match i32::from_ne_bytes(bytes) {
        // An object without a key.
        IPC_PRIVATE => 1,
        key => key,
    })
}
