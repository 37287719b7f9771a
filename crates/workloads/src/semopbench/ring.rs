//! The processes: one for each semaphore, in rings.

use super::{Error, Keeper, Options};
use crate::libc_sem::{self, OPEN, SHUT};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use unspin_sys::child::{self, End, Signal, Usage};
use unspin_sys::{clock, process};

/// How long the master waits for the next process to fall asleep before it gives up. A loaded machine may need seconds
/// until a thousand new processes have run once, but never this long for one.
const SLEEPERS_TIMEOUT: Duration = Duration::from_secs(60);

/// The report of a process that has completed its repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Time of completion: `CLOCK_MONOTONIC`, nanoseconds.
    pub finished_ns: u64,
    /// Number of posts.
    pub posts: u64,
    /// CPU use between its first wait and its last post.
    pub usage: Usage,
}

const WORDS: usize = 6;
const RECORD_BYTES: usize = WORDS * 8;

/// The master's handle on all processes of all groups. Kills the remaining processes when dropped.
pub struct Ring<'a> {
    options: &'a Options,
    sets: Vec<i32>,
    keeper: u32,
    /// One record per process, at its index. The processes write them, and the master reads them after the end. The
    /// file has no name, so it disappears with its users.
    records: File,
    /// Pid of each process; 0 once it has ended.
    pids: Vec<u32>,
}

impl<'a> Ring<'a> {
    /// Forks a process for each semaphore.
    pub fn fork_processes(options: &'a Options, keeper: &mut Keeper) -> Result<Ring<'a>, Error> {
        let records = tempfile::tempfile()
            .map_err(|e| Error::System("cannot make a file for the processes' records".into(), e))?;
        let mut ring = Ring {
            options,
            sets: keeper.sets.clone(),
            keeper: keeper.pid,
            records,
            pids: Vec::with_capacity(options.processes()),
        };
        let master = process::pid();
        for index in 0..options.processes() {
            let forked = child::fork(|| {
                keeper.close_release_pipe();
                if child::die_with_parent(master).is_err() {
                    return 1;
                }
                ring.run_process(index)
            });
            let pid = forked.map_err(|e| {
                let all = options.processes();
                Error::System(
                    format!(
                        "cannot fork process {} of {all} (fewer -g or -s, or a higher ulimit -u)",
                        index + 1
                    ),
                    e.into(),
                )
            })?;
            ring.pids.push(pid);
        }
        Ok(ring)
    }

    fn place(&self, index: usize) -> (usize, usize) {
        (index / self.options.semaphores, index % self.options.semaphores)
    }

    /// The main function of one process; returns its exit code.
    fn run_process(&self, index: usize) -> i32 {
        let (group, gate) = self.place(index);
        let before = Usage::of_self();
        let mut posts = 0;
        let outcome = self.take_turns(group, gate, &mut posts);
        let finished_ns = clock::monotonic_ns();
        let usage = Usage::of_self().since(&before);
        let stored = outcome.and_then(|()| self.store(index, &Record { finished_ns, posts, usage }));
        match stored {
            Ok(()) => 0,
            Err(e) => {
                eprintln!("semopbench: process {gate} of group {group} after {posts} posts: {e}");
                1
            }
        }
    }

    /// The benchmark loop.
    fn take_turns(&self, group: usize, gate: usize, posts: &mut u64) -> std::io::Result<()> {
        let id = self.sets[group];
        let next = (gate + 1) % self.options.semaphores;
        for _ in 0..self.options.repetitions {
            libc_sem::wait(id, gate)?;
            libc_sem::reset(id, gate)?;
            libc_sem::post(id, next)?;
            *posts += 1;
        }
        Ok(())
    }

    fn store(&self, index: usize, record: &Record) -> std::io::Result<()> {
        let Usage { user_us, system_us, voluntary, involuntary } = record.usage;
        let words = [record.finished_ns, record.posts, user_us, system_us, voluntary, involuntary];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        self.records.write_all_at(&bytes, (index * RECORD_BYTES) as u64)
    }

    fn load(&self, index: usize) -> std::io::Result<Record> {
        let mut bytes = [0; RECORD_BYTES];
        self.records.read_exact_at(&mut bytes, (index * RECORD_BYTES) as u64)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().expect("chunks of 8"));
        }
        let [finished_ns, posts, user_us, system_us, voluntary, involuntary] = words;
        Ok(Record { finished_ns, posts, usage: Usage { user_us, system_us, voluntary, involuntary } })
    }

    /// Waits until every process sleeps on its semaphore, so that forking is not part of the measurement.
    pub fn await_sleepers(&mut self) -> Result<(), Error> {
        for index in 0..self.pids.len() {
            let (group, gate) = self.place(index);
            let since = Instant::now();
            while libc_sem::waiting(self.sets[group], gate)
                .map_err(|e| Error::System(format!("cannot ask who waits in group {group}"), e))?
                == 0
            {
                if let Ok(Some(ended)) = child::try_wait_any() {
                    return Err(self.early_end(&ended));
                }
                if since.elapsed() > SLEEPERS_TIMEOUT {
                    return Err(Error::Process(format!(
                        "process {gate} of group {group} does not sleep on its semaphore after {} s",
                        SLEEPERS_TIMEOUT.as_secs()
                    )));
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        self.options.debug(|| format!("all {} processes are asleep", self.pids.len()));
        Ok(())
    }

    /// Posts the first semaphore of each group. Returns the time just before, in `CLOCK_MONOTONIC` nanoseconds.
    pub fn start(&self) -> Result<u64, Error> {
        let started_ns = clock::monotonic_ns();
        for (group, &id) in self.sets.iter().enumerate() {
            libc_sem::post(id, 0).map_err(|e| Error::System(format!("cannot start group {group}"), e))?;
            self.options.debug(|| format!("group {group} is started"));
        }
        Ok(started_ns)
    }

    /// Waits until every process has ended and returns their records.
    pub fn finish(&mut self) -> Result<Vec<Record>, Error> {
        for _ in 0..self.pids.len() {
            let ended = child::wait_any()
                .map_err(|e| Error::System("cannot wait for the processes".into(), e.into()))?;
            if ended.end != End::Exited(0) || ended.pid == self.keeper {
                return Err(self.early_end(&ended));
            }
            let index = self.forget(ended.pid);
            self.options.debug(|| match index {
                Some(index) => format!("process {} has ended, number {index} of the rings", ended.pid),
                None => format!("process {} has ended, which is in no ring", ended.pid),
            });
        }
        let records: Result<Vec<Record>, _> = (0..self.pids.len()).map(|i| self.load(i)).collect();
        records.map_err(|e| Error::System("cannot read the processes' records".into(), e))
    }

    fn forget(&mut self, pid: u32) -> Option<usize> {
        let index = self.pids.iter().position(|&p| p == pid)?;
        self.pids[index] = 0;
        Some(index)
    }

    fn early_end(&mut self, ended: &child::Ended) -> Error {
        let how = match ended.end {
            End::Exited(code) => format!("ended with code {code}"),
            End::Killed(signal) => format!("was killed by signal {signal}"),
        };
        match self.forget(ended.pid) {
            Some(index) => {
                let (group, gate) = self.place(index);
                Error::Process(format!(
                    "process {gate} of group {group} {how} before its {} repetitions were complete",
                    self.options.repetitions
                ))
            }
            None => Error::Process(format!("the keeper of the semaphore sets {how}")),
        }
    }

    /// Checks the tokens: in each ring the token is where it must be after the last hop, at the first gate, which is
    /// open; and all processes together have made the expected number of posts.
    pub fn check_tokens(&self, records: &[Record]) -> Result<(), Error> {
        let posts: u64 = records.iter().map(|r| r.posts).sum();
        if posts != self.options.hand_offs() {
            let expected = self.options.hand_offs();
            return Err(Error::Tokens(format!("{posts} hand-offs were made, {expected} were asked for")));
        }
        for index in 0..self.options.processes() {
            let (group, gate) = self.place(index);
            let expected = if gate == 0 { OPEN } else { SHUT };
            let value = libc_sem::value(self.sets[group], gate)
                .map_err(|e| Error::System(format!("cannot read the semaphores of group {group}"), e))?;
            if value != expected {
                return Err(Error::Tokens(format!(
                    "semaphore {gate} of group {group} ended at {value}, not at {expected}: a post was lost or doubled"
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        let left = || self.pids.iter().copied().filter(|&pid| pid != 0);
        for pid in left() {
            // The child has not been waited for yet, so the pid is still its own.
            let _ = child::signal(pid, Signal::Kill);
        }
        for pid in left() {
            while let Ok(None) = child::wait_for(pid, Duration::from_secs(1)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Debug, ProfileReset, Verbosity};
    use super::*;

    #[test]
    fn lost_and_doubled_tokens_are_detected() {
        let options = Options {
            groups: 1,
            semaphores: 2,
            repetitions: 3,
            profile_reset: ProfileReset::No,
            debug: Debug::Off,
            verbosity: Verbosity::Summary,
        };
        let set = libc_sem::create(2).unwrap();
        let records = tempfile::tempfile().unwrap();
        let ring = Ring { options: &options, sets: vec![set], keeper: 0, records, pids: Vec::new() };
        let posts = |posts| Record { finished_ns: 0, posts, usage: Usage::default() };
        let complaint = |records: &[Record]| ring.check_tokens(records).unwrap_err().to_string();

        assert!(complaint(&[posts(3), posts(3)]).contains("semaphore 0 of group 0 ended at 1, not at 0"));
        libc_sem::post(set, 0).unwrap();
        assert!(ring.check_tokens(&[posts(3), posts(3)]).is_ok());
        assert!(complaint(&[posts(3), posts(2)]).contains("5 hand-offs were made, 6 were asked for"));
        libc_sem::post(set, 1).unwrap();
        assert!(complaint(&[posts(3), posts(3)]).contains("semaphore 1 of group 0 ended at 0, not at 1"));
        libc_sem::remove(set);
    }
}
