//! The next look at what a lens observed, as a command.

use super::subject::Subject;
use std::ffi::OsString;

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
    /// Observe by this lens again with an allocator of libc that keeps its memory.
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
}
