//! A build without the schedulers.

use crate::counters::Counters;
use crate::error::Error;
use crate::locks::LockUse;
use crate::options::Options;

/// A scheduler, which this build cannot load.
pub enum Scheduler {}

/// How the kernel ended it.
pub struct End {
    /// What the kernel says.
    pub text: String,
}

impl Scheduler {
    /// Fails.
    pub fn load(_: &Options) -> Result<Scheduler, Error> {
        Err(Error::Failed(
            "built without its schedulers: install clang-19, libelf-dev, zlib1g-dev and pkg-config, and build it by \
             `cargo build --package unspin-sched --features bpf`"
                .into(),
        ))
    }

    /// See the other build.
    pub fn end(&self) -> Option<End> {
        match *self {}
    }

    /// See the other build.
    pub fn counters(&self) -> Result<Counters, Error> {
        match *self {}
    }

    /// See the other build.
    pub fn lock_uses(&self) -> Result<Vec<LockUse>, Error> {
        match *self {}
    }

    /// See the other build.
    pub fn unload(&mut self) {
        match *self {}
    }
}
