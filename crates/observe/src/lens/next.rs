//! What to do next about a row of a lens.

use super::subject::Subject;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::Write;
use unspin_meter::{WORTH_IT, add_note};

/// What to do next about a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Next {
    /// In words.
    pub next: String,
    /// The command that goes on from there, as it can be typed; none if no command of unspin does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The next look at the same processes, or the next run of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// No command of unspin goes on from here.
    None,
    /// The futex lens.
    Futex,
    /// The kernel lens.
    Kernel,
    /// The off-cpu lens: the callers in the program.
    OffCpu,
    /// Samples of the kernel's functions.
    Profile,
    /// Samples of the program's functions too.
    ProfileUser,
    /// Samples of all CPUs: what else runs.
    ProfileAll,
    /// The pthread lens, which needs a program that unspin starts.
    Pthread,
    /// The same lens with an allocator of libc that keeps its memory.
    KeepMemory,
    /// A comparison of the System V engines.
    ProveSysv,
    /// A comparison of run queues, if the program is known to have one of unspin's; else the callers.
    ProveRunQueue,
}

/// libc's allocator neither gives memory back nor maps large blocks apart. 32 MiB is the greatest threshold that libc accepts.
const KEEP_MEMORY: &str = "env MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432 \
                           unspin meter --lens kernel";

impl Step {
    /// The command of this step; none if the subject allows none.
    pub fn command(self, subject: &Subject) -> Option<String> {
        match self {
            Step::None => None,
            Step::Futex => Some(subject.observed_by("meter --lens futex")),
            Step::Kernel => Some(subject.observed_by("meter --lens kernel")),
            Step::OffCpu => Some(subject.observed_by("meter --lens off-cpu")),
            Step::Profile => Some(subject.observed_by("profile")),
            Step::ProfileUser => Some(subject.observed_by("profile --user")),
            Step::ProfileAll => Some(Subject::System(Vec::new()).observed_by("profile --user")),
            Step::Pthread => subject.started_by("unspin meter"),
            Step::KeepMemory => subject.started_by(KEEP_MEMORY),
            Step::ProveSysv => subject.started_by("unspin prove --sysv rcu"),
            Step::ProveRunQueue if has_run_queue(subject.words()) => {
                subject.started_by("unspin prove --runqueue global,percpu")
            }
            Step::ProveRunQueue => Some(subject.observed_by("meter --lens off-cpu")),
        }
    }
}

/// Whether `unspin prove --runqueue` accepts the program: the workload volano, unless its own options choose the threads or
/// the queue. Of other programs it is not known before they run.
fn has_run_queue(words: &[OsString]) -> bool {
    let starts = |word: &OsString, option: &str| word.as_encoded_bytes().starts_with(option.as_bytes());
    let chooses = |word: &OsString| ["--model", "--runqueue"].iter().any(|option| starts(word, option));
    words.first().is_some_and(|name| name == "volano") && !words.iter().any(chooses)
}

impl Next {
    /// In words, with the command for what is observed. The colon at the end is dropped if there is no command.
    pub fn new(text: &str, step: Step, subject: &Subject) -> Next {
        let command = step.command(subject);
        // A colon announces the command.
        let next = if command.is_none() { text.trim_end_matches(':') } else { text };
        Next { next: next.to_owned(), command }
    }
}

/// Whether the program would be faster by enough if these seconds were not spent: the bound on the speed-up is at least
/// [`WORTH_IT`]. While one of several threads waits the others go on, so the program's time is the elapsed time, as for
/// `CEIL` of the pthread lens.
pub fn is_worth_it(lost: f64, elapsed: f64) -> bool {
    elapsed > 0.0 && 1.0 + lost / elapsed >= WORTH_IT
}

/// The same of a part of the time of all threads.
pub fn is_worth_share(part: f64, all: f64) -> bool {
    part > 0.0 && (all - part) * WORTH_IT <= all
}

/// Columns before what is to be done next.
const INDENT: usize = 4;

/// What was said under the rows of a table, so that nothing is said twice.
#[derive(Default)]
pub struct Said(Vec<(Next, String)>);

impl Said {
    /// Writes what to do next under a row. If an earlier row has the same, names that row instead.
    pub fn write(&mut self, next: &Next, row: &str, width: usize, text: &mut String) {
        match self.0.iter().find(|(said, _)| said == next) {
            Some((_, earlier)) => {
                let _ = writeln!(text, "{:INDENT$}-> as under {earlier}", "");
            }
            None => {
                write(next, width, text);
                self.0.push((next.clone(), row.to_owned()));
            }
        }
    }
}

/// Writes it as a paragraph, and the command in a line of its own that can be copied.
pub fn write(next: &Next, width: usize, text: &mut String) {
    let mut lines = String::new();
    add_note(&next.next, width.saturating_sub(INDENT + 3).max(40), &mut lines);
    for (number, line) in lines.lines().enumerate() {
        let mark = if number == 0 { "->" } else { "  " };
        let _ = writeln!(text, "{:INDENT$}{mark} {line}", "");
    }
    if let Some(command) = &next.command {
        let _ = writeln!(text, "{:INDENT$}   {command}", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &[&str]) -> Subject {
        Subject::Program(words.iter().map(|word| word.into()).collect())
    }

    #[test]
    fn steps_are_commands_that_the_subject_allows() {
        let server = program(&["./server", "-t", "2"]);
        let command = |step: Step, subject: &Subject| step.command(subject).unwrap_or_default();
        assert_eq!(command(Step::Futex, &server), "unspin meter --lens futex ./server -t 2");
        assert_eq!(command(Step::ProveSysv, &server), "unspin prove --sysv rcu ./server -t 2");
        assert_eq!(command(Step::ProfileAll, &server), "unspin profile --user -a --seconds 10");
        let process = Subject::Process(7);
        assert_eq!(command(Step::Futex, &process), "unspin meter --lens futex -p 7");
        for step in [Step::ProveSysv, Step::KeepMemory, Step::Pthread] {
            assert_eq!(step.command(&process), None, "{step:?} starts the program");
        }
    }

    #[test]
    fn run_queues_are_compared_where_the_program_has_one() {
        let command = |words: &[&str]| Step::ProveRunQueue.command(&program(words)).unwrap();
        assert_eq!(
            command(&["volano", "--rooms", "2"]),
            "unspin prove --runqueue global,percpu volano --rooms 2"
        );
        assert_eq!(command(&["./volano"]), "unspin meter --lens off-cpu ./volano");
        let threads = ["volano", "--model", "threads"];
        assert_eq!(command(&threads), "unspin meter --lens off-cpu volano --model threads");
    }

    #[test]
    fn small_gains_are_not_worth_a_sentence() {
        assert!(is_worth_it(0.051, 1.0) && !is_worth_it(0.049, 1.0) && !is_worth_it(0.0, 0.0));
        assert!(is_worth_share(0.05, 1.0) && !is_worth_share(0.04, 1.0) && !is_worth_share(0.0, 0.0));
    }

    #[test]
    fn same_hint_is_written_once() {
        let (mut text, mut said) = (String::new(), Said::default());
        let subject = Subject::Process(7);
        let hints =
            [Step::Profile, Step::Profile, Step::OffCpu].map(|step| Next::new("look:", step, &subject));
        for (hint, row) in hints.iter().zip(["first", "second", "third"]) {
            said.write(hint, row, 80, &mut text);
        }
        let other = "    -> look:\n       unspin meter --lens off-cpu -p 7\n";
        assert_eq!(text, format!("    -> look:\n       unspin profile -p 7\n    -> as under first\n{other}"));
    }

    #[test]
    fn command_has_a_line_of_its_own() {
        let mut text = String::new();
        write(&Next::new("look at its callers", Step::Profile, &Subject::Process(7)), 80, &mut text);
        assert_eq!(text, "    -> look at its callers\n       unspin profile -p 7\n");
    }
}
