//! Finds out why a program records nothing.

use crate::library;
use crate::reach;
use crate::runtime::Runtime;
use std::fs;
use std::path::{Path, PathBuf};
use unspin_meter::{Recording, Snapshot};
use unspin_sys::creds::Creds;

use super::recorded_program::maps_contain;

/// Observes the program as long as no process has joined the recording.
pub struct Observer {
    /// As the user named it.
    named: PathBuf,
    /// The same without symbolic links.
    program: PathBuf,
    found: Option<ObservedImage>,
}

struct ObservedImage {
    /// The file that the process runs: after an exec, another one than the file that was started.
    executable: PathBuf,
    /// Whether the preload library is loaded into it.
    reached: bool,
}

impl Observer {
    /// For a program that is being started.
    pub fn new(program: &Path) -> Observer {
        let file = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        Observer { named: program.to_owned(), program: file, found: None }
    }

    /// Observes once. A process that is ending shows nothing: the previous observation stays.
    pub fn check(&mut self, pid: u32, recording: &Recording) {
        if recording.is_joined() {
            return;
        }
        if let Ok(executable) = fs::read_link(format!("/proc/{pid}/exe"))
            && let Some(reached) = maps_contain(pid, Path::new(library::NAME))
        {
            self.found = Some(ObservedImage { executable, reached });
        }
    }

    /// A sentence, if the snapshot contains no record.
    pub fn explain(&self, snapshot: &Snapshot) -> Option<String> {
        let recorded = snapshot.images.iter().any(|image| !image.rows.is_empty());
        if recorded || !snapshot.unrecorded.is_nothing() {
            return None;
        }
        Some(match &self.found {
            Some(found) if !found.reached && snapshot.images.is_empty() => self.unreached(found),
            // It ended before it was observed.
            None if snapshot.images.is_empty()
                && let Err(why) = reach::check(&self.named, &Creds::current()) =>
            {
                format!("Nothing was recorded: {why}.")
            }
            _ => format!("{NO_LOCK} {}", Runtime::advice_on(snapshot).unwrap_or_else(|| NOT_SEEN.into())),
        })
    }

    fn unreached(&self, found: &ObservedImage) -> String {
        let is_the_same = found.executable == self.program;
        let executable = if is_the_same { &self.named } else { &found.executable };
        let became = match is_the_same {
            true => String::new(),
            false => format!("{} became {}. ", self.named.display(), executable.display()),
        };
        let shown = executable.display();
        match reach::check(executable, &Creds::current()) {
            Err(why) => format!("Nothing was recorded: {became}{why}."),
            Ok(()) => format!(
                "Nothing was recorded: {became}The preload library is not in {shown}: LD_PRELOAD was removed from \
                 the environment, or the dynamic linker refused it."
            ),
        }
    }
}

const NO_LOCK: &str = "No lock was recorded: nothing that ran called a lock function of libc (pthread mutexes, read-write \
locks, spin locks, conditions, barriers, POSIX semaphores).";
const NOT_SEEN: &str = "Not seen are statically linked programs, and locks that are not libc's, such as those of Go and of \
Rust's standard library.";
