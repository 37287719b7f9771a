//! The options that replace locks and wait policies.

use super::list::split;
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;
use unspin_launch::plan::kind;
use unspin_launch::plan::{Choice, WaitChoice, WaitPolicy};
use unspin_launch::replace::run_queue::RunQueue;
use unspin_locks::{LockKind, RwLockKind, SpinKind};

fn mutex_help() -> String {
    format!(
        "Replace every mutex by a lock of this kind, or with @LOCK only the one of this name, as `unspin meter` prints it: \
         `adaptive`, `adaptive@cache_lock`, `steal@queue.c:57`. Kinds: {}. Can be given several times",
        kind::list(kind::offer::<LockKind>(), kind::describe)
    )
}

fn rwlock_help() -> String {
    format!(
        "Replace every read-write lock by a lock of this kind, or with @LOCK only the one of this name, as `unspin meter` prints it: \
         `rw-biased`, `rw-biased@table_lock`, `rw-fair@table.c:57`. Kinds: {}. Can be given several times",
        kind::list(kind::offer::<RwLockKind>(), kind::describe)
    )
}

fn spin_help() -> String {
    format!(
        "Replace every spin lock (pthread_spinlock_t) by a lock of this kind, or with @LOCK only the one of this name, as `unspin meter` \
         prints it: `adaptive`, `adaptive@pool.lock`. Kinds: {}. Can be given several times",
        kind::list(kind::offer::<SpinKind>(), kind::describe)
    )
}

/// Replacements of locks, and policies of waits.
#[derive(Args, Debug, Default)]
pub struct Replace {
    #[arg(long, value_name = "KIND[@LOCK]", help = mutex_help())]
    pub mutex: Vec<Choice>,

    #[arg(long, value_name = "KIND[@LOCK]", help = rwlock_help())]
    pub rwlock: Vec<Choice<RwLockKind>>,

    #[arg(long, value_name = "KIND[@LOCK]", help = spin_help())]
    pub spin: Vec<Choice<SpinKind>>,

    /// What a thread does before it sleeps in a wait: `poll` checks repeatedly for as long as a wake-up costs, where that has paid
    /// lately; `system` sleeps at once (the control). It applies to every wait, or with @SITE to those of one call site, as
    /// `unspin meter` prints it: `poll`, `poll@worker_loop+0x2d`, `system@queue.c:88`. Separated by commas, or given several times
    #[arg(long, value_name = "POLICY[@SITE]")]
    pub waits: Vec<WaitChoices>,

    /// The run queue of a program that is built on the crate unspin-runqueue, whatever the program chooses
    #[arg(long, value_name = "KIND", value_parser = super::run_queue::parser())]
    pub runqueue: Option<RunQueue>,

    /// A plan file for locks and waits, as `unspin prove --plan` writes it. --mutex, --rwlock, --spin and --waits take precedence over it
    #[arg(long, value_name = "FILE", alias = "mutex-plan")]
    pub use_plan: Option<PathBuf>,
}

impl From<&Replace> for unspin_launch::replace::Replace {
    fn from(options: &Replace) -> unspin_launch::replace::Replace {
        let Replace { mutex, rwlock, spin, waits, runqueue, use_plan } = options;
        unspin_launch::replace::Replace {
            mutex: mutex.clone(),
            rwlock: rwlock.clone(),
            spin: spin.clone(),
            waits: waits.iter().flat_map(|choices| choices.0.clone()).collect(),
            run_queue: *runqueue,
            use_plan: use_plan.clone(),
        }
    }
}

/// A list of policies, each for all waits or for one call site: `poll,system@worker_loop+0x2d`.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitChoices(pub Vec<WaitChoice>);

impl FromStr for WaitChoices {
    type Err = String;

    fn from_str(text: &str) -> Result<WaitChoices, String> {
        let parts = split(text, |word| word.parse::<WaitPolicy>().is_ok());
        parts.into_iter().map(str::parse).collect::<Result<_, _>>().map(WaitChoices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_within_a_name_does_not_split_the_list() {
        let written = |text: &str| {
            let choices = text.parse::<WaitChoices>().unwrap().0;
            choices.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(written("poll"), ["poll"]);
        assert_eq!(written("poll,system@Queue<int, long>::pop"), ["poll", "system@Queue<int, long>::pop"]);
        assert_eq!(written("poll@f+0x2d,system"), ["poll@f+0x2d", "system"]);
        assert!("poll,pol".parse::<WaitChoices>().unwrap_err().contains("(meant: poll?)"));
    }
}
