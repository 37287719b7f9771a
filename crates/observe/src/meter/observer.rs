//! Finds out why a program records nothing.

use std::fs;
use std::path::{Path, PathBuf};
use unspin_launch::library;
use unspin_launch::program::programs_run::{HAND_ON, ProgramsRun, Reach, Start, processes};
use unspin_launch::program::reach;
use unspin_launch::program::runtime::Runtime;
use unspin_sys::creds::Creds;
use unspin_wire::{Event, Recording, Snapshot};

use super::recorded_program::maps_contain;

/// Observes the program until a process joins the recording. Until the program's end, observes which programs it
/// executes.
pub struct Observer {
    /// As the user named it.
    named: PathBuf,
    /// The program's file without symbolic links.
    program: PathBuf,
    found: Option<ObservedImage>,
    programs: ProgramsRun,
}

struct ObservedImage {
    /// The file that the process runs: after an exec, another one than the file that was started.
    executable: PathBuf,
    /// Whether the preload library is loaded into it.
    reached: bool,
}

impl Observer {
    /// For a program that the calling thread will start.
    pub fn before_start(program: &Path) -> Observer {
        let file = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        let programs = ProgramsRun::observe(Start::Children);
        Observer { named: program.to_owned(), program: file, found: None, programs }
    }

    /// The program has ended, or is observed no longer.
    pub fn finish(&mut self) {
        self.programs.finish();
    }

    /// The programs that the preload library did not reach, in a sentence; none if it reached all, or if they are not known.
    pub fn unreached_programs(&self) -> Option<String> {
        match self.programs.reach() {
            Reach::Some(sentence) => Some(sentence),
            Reach::All | Reach::Unknown(_) => None,
        }
    }

    /// Whether a program ran that the preload library did not reach, as far as is known.
    pub fn has_missed(&self) -> bool {
        match self.programs.reach() {
            Reach::Some(_) => true,
            Reach::All => false,
            Reach::Unknown(_) => self.found.as_ref().is_some_and(|found| !found.reached),
        }
    }

    /// Observes once. A process that is ending shows nothing: the previous observation stays.
    pub fn check(&mut self, pid: u32, recording: &Recording) {
        self.programs.read(pid);
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
        if !recorded && has_filter(snapshot) {
            return Some(FILTERED.into());
        }
        if recorded || !snapshot.unrecorded.is_nothing() {
            return None;
        }
        Some(match &self.found {
            Some(found) if !found.reached && snapshot.images.is_empty() && !self.is_known_better(found) => {
                self.explain_unreached(found)
            }
            // It ended before it was observed.
            None if snapshot.images.is_empty()
                && let Err(why) = reach::check(&self.named, &Creds::current()) =>
            {
                format!("Nothing was recorded: {why}.")
            }
            _ => self.without_lock(&Runtime::advice_on(snapshot).unwrap_or_else(|| NOT_SEEN.into())),
        })
    }

    /// Whether the kernel's records tell more than this look at one moment: the program became another one.
    fn is_known_better(&self, found: &ObservedImage) -> bool {
        found.executable != self.program && matches!(self.programs.reach(), Reach::Some(_))
    }

    /// No lock was recorded: what that means depends on what the library reached.
    fn without_lock(&self, not_seen: &str) -> String {
        if let Some(remedy) = self.programs.asan_remedy() {
            return format!("No lock was recorded: {remedy}");
        }
        match self.programs.reach() {
            Reach::Unknown(_) if let Some(unobserved) = self.programs.unobserved_clause() => format!(
                "No lock was recorded until the program ended. What its processes did later is not known: {unobserved}. \
                 Run a service in the foreground to meter it. {not_seen}"
            ),
            Reach::All => format!("No lock was recorded: no program that ran {CALLED} {not_seen}"),
            // Their locks come later.
            Reach::Some(sentence) if !self.programs.survivors().is_empty() => {
                format!(
                    "No lock was recorded until the program ended. {sentence} Still running: {}.",
                    self.still_running()
                )
            }
            Reach::Some(sentence) => format!("No lock was recorded. {sentence} No other program {CALLED}"),
            Reach::Unknown(why) => format!(
                "No lock was recorded: no program that the preload library reached {CALLED} Which programs it did not reach \
                 is not known ({why}). {not_seen}"
            ),
        }
    }

    fn still_running(&self) -> String {
        processes(&self.programs.survivors())
    }

    fn explain_unreached(&self, found: &ObservedImage) -> String {
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
                 the environment, or the dynamic linker refused it. To have it loaded, {HAND_ON}."
            ),
        }
    }
}

/// Whether a program has installed a seccomp filter.
pub fn has_filter(snapshot: &Snapshot) -> bool {
    snapshot.images.iter().any(|image| image.events[Event::SeccompFilter as usize] > 0)
}

const FILTERED: &str = "No lock was recorded: the program installed a seccomp filter before its first lock. After that the \
preload library makes no system call, because the filter could kill the program for it, so locks, callers and threads that \
come later are not recorded. Meter the program without its filter, if it has an option for that.";
const CALLED: &str = "called a lock function of libc (pthread mutexes, read-write locks, spin locks, conditions, barriers, \
POSIX semaphores).";
const NOT_SEEN: &str = "Not seen are statically linked programs, and locks that are not libc's, such as those of Go and of \
Rust's standard library.";
