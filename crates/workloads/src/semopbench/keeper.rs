//! The process that owns the semaphore sets.
//!
//! Kernel semaphores outlive their users. If the master removed its sets at its end, a killed master would leave them
//! behind, and SIGKILL cannot be caught. So a separate process, the keeper, owns the sets. It has its own session, so
//! that neither a terminal's ^C nor a signal to the process group reaches it. The keeper creates the sets, waits until
//! the master closes a pipe, by finishing or by dying, and removes the sets. There is only one clean-up path, and every
//! run takes it.

use super::{Error, Options};
use crate::libc_sem;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::Duration;
use unspin_sys::{child, process};

/// The master's side.
pub struct Keeper {
    /// The keeper's pid.
    pub pid: u32,
    /// The sets, one per group.
    pub sets: Vec<i32>,
    /// The keeper waits until every process has closed this end of the pipe.
    hold: Option<PipeWriter>,
}

impl Keeper {
    /// Forks the keeper, which creates the sets.
    pub fn create_sets(options: &Options) -> Result<Keeper, Error> {
        let pipes = || Ok::<_, std::io::Error>((std::io::pipe()?, std::io::pipe()?));
        let ((mut answers, answer), (release, hold)) =
            pipes().map_err(|e| Error::System("cannot make a pipe".into(), e))?;
        let mut hold = Some(hold);
        let (groups, gates) = (options.groups, options.semaphores);
        let mut answer = Some(answer);
        let pid = child::fork(|| {
            drop(hold.take());
            keeper_main(groups, gates, answer.take(), release)
        })
        .map_err(|e| Error::System("cannot fork the keeper of the semaphore sets".into(), e.into()))?;
        drop(answer);
        let mut keeper = Keeper { pid, sets: Vec::with_capacity(groups), hold };
        for group in 0..groups {
            match read_answer(&mut answers) {
                Ok(id) => keeper.sets.push(id),
                Err(e) => {
                    return Err(Error::System(format!("cannot create set {group} of {groups}"), e));
                }
            }
        }
        options.debug(|| {
            let sets: Vec<String> = keeper.sets.iter().map(i32::to_string).collect();
            format!("sets {}, kept by process {pid}", sets.join(", "))
        });
        Ok(keeper)
    }

    /// In a forked child: closes the inherited end of the pipe, which only the master may hold.
    pub fn close_release_pipe(&mut self) {
        self.hold = None;
    }
}

impl Drop for Keeper {
    /// Closes the pipe and waits until the sets are removed. Other children have been waited for by then.
    fn drop(&mut self) {
        // The byte distinguishes an orderly end from the master's death. If the keeper is dead, the write fails, and
        // that is ignored.
        let _ = self.hold.as_mut().map(|pipe| pipe.write_all(b"."));
        self.close_release_pipe();
        while let Ok(ended) = child::wait_any() {
            if ended.pid == self.pid {
                break;
            }
        }
    }
}

/// A set's id, or a negated error number: four bytes in the pipe.
fn read_answer(answers: &mut PipeReader) -> std::io::Result<i32> {
    let mut bytes = [0; 4];
    answers.read_exact(&mut bytes)?;
    let answer = i32::from_ne_bytes(bytes);
    if answer < 0 { Err(std::io::Error::from_raw_os_error(-answer)) } else { Ok(answer) }
}

/// The keeper's main function.
fn keeper_main(groups: usize, gates: usize, answer: Option<PipeWriter>, mut release: PipeReader) -> i32 {
    // The process was just forked, so it is not a group leader, and this cannot fail.
    let _ = child::new_session();
    let master = process::parent();
    let sets = create_and_answer(groups, gates, answer);
    // Returns with the master's byte, or without one when the last writer has closed its end.
    if !matches!(release.read(&mut [0]), Ok(1)) {
        wait_for_end_of(master);
    }
    for id in sets {
        libc_sem::remove(id);
    }
    0
}

/// A dying master closes its pipes before its children are killed. Processes whose sets vanish in between would report
/// errors. The children are killed by the time the keeper has a new parent, so this waits for that.
fn wait_for_end_of(master: u32) {
    for _ in 0..1000 {
        if process::parent() != master {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn create_and_answer(groups: usize, gates: usize, mut answer: Option<PipeWriter>) -> Vec<i32> {
    let mut sets = Vec::with_capacity(groups);
    for _ in 0..groups {
        let created = libc_sem::create(gates);
        let word = match &created {
            Ok(id) => *id,
            Err(e) => -e.raw_os_error().unwrap_or(unspin_sys::Errno::EIO.0),
        };
        sets.extend(created.as_ref().ok());
        let is_answered = answer.as_mut().is_some_and(|pipe| pipe.write_all(&word.to_ne_bytes()).is_ok());
        if created.is_err() || !is_answered {
            break;
        }
    }
    sets
}
