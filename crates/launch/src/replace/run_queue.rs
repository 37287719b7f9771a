//! The run queues by name: those of programs that are built on the crate `unspin-runqueue`.
//!
//! Their executors read the variable `UNSPIN_RUNQUEUE` themselves, so no hook is involved. An executor that has started
//! counts itself in the tally.

use std::ffi::OsString;
use unspin_runqueue::queue::Policy;

pub use unspin_wire::environment::RUN_QUEUE as VARIABLE;

/// What to do about a program that has no run queue of unspin.
pub const NEEDS_THE_CRATE: &str =
    "--runqueue needs a program that is built on the crate unspin-runqueue, such as `volano --model tasks`";

/// A run queue of the crate `unspin-runqueue`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunQueue {
    /// One queue and one lock for all workers.
    Global,
    /// A queue and a lock for each worker.
    Percpu,
}

impl RunQueue {
    /// Each of them.
    pub const ALL: [RunQueue; 2] = [RunQueue::Global, RunQueue::Percpu];

    /// The run queue as the library names it.
    pub fn policy(self) -> Policy {
        match self {
            RunQueue::Global => Policy::Global,
            RunQueue::Percpu => Policy::PerCpu,
        }
    }

    /// The one that it is compared with.
    pub fn other(self) -> RunQueue {
        match self {
            RunQueue::Global => RunQueue::Percpu,
            RunQueue::Percpu => RunQueue::Global,
        }
    }

    /// What it is, for readers who do not know its name.
    pub fn summary(self) -> &'static str {
        match self {
            RunQueue::Global => "one queue and one lock for all workers",
            RunQueue::Percpu => "a queue and a lock for each worker",
        }
    }

    /// The run queue's name on command lines, and in `UNSPIN_RUNQUEUE`.
    pub fn name(self) -> &'static str {
        self.policy().name()
    }
}

/// The list of run queues among the arguments of the workload volano, and the command without it.
pub fn list_behind_workload(command: &[OsString]) -> Option<(OsString, Vec<OsString>)> {
    const OPTION: &str = "--runqueue";
    command.first().filter(|name| *name == "volano")?;
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    let is_list = |value: &String| value.contains(',');
    for (at, word) in command.iter().enumerate() {
        let word = text(word).unwrap_or_default();
        let next = (word == OPTION).then(|| command.get(at + 1).and_then(text)).flatten();
        let joined = word.strip_prefix(OPTION).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned);
        let (list, words) = match (next.filter(is_list), joined.filter(is_list)) {
            (Some(list), _) => (list, 2),
            (None, Some(list)) => (list, 1),
            (None, None) => continue,
        };
        let mut rest = command.to_vec();
        rest.drain(at..at + words);
        return Some((list.into(), rest));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hoist(line: &str) -> Option<(String, String)> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (list, command) = list_behind_workload(&words)?;
        Some((list.into_string().unwrap(), command.join(" ".as_ref()).into_string().unwrap()))
    }

    #[test]
    fn run_queues_are_those_of_the_library() {
        assert_eq!(RunQueue::ALL.map(RunQueue::policy), Policy::ALL);
    }

    #[test]
    fn list_behind_volano_is_found() {
        let found = |line: &str| hoist(line).map(|(list, command)| format!("{list} | {command}"));
        let expected = Some("global,percpu | volano --workers 8".to_owned());
        assert_eq!(found("volano --runqueue global,percpu --workers 8"), expected);
        assert_eq!(found("volano --workers 8 --runqueue=global,percpu"), expected);
        assert_eq!(found("volano --runqueue global"), None, "volano's own");
        assert_eq!(found("volano --runqueue"), None);
        assert_eq!(found("./server --runqueue global,percpu"), None, "another program's option");
    }
}
