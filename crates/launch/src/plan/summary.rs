//! What a plan does, in words: for readers who do not know the names of kinds and policies.

use super::entry::{Entry, Plan, WaitEntry, Which};
use super::kind;
use super::policy::WaitPolicy;
use std::fmt::Display;

/// Number of entries that are described.
const DESCRIBED: usize = 3;

impl Plan {
    /// `cache_lock: waiters sleep and get it in their order`. Entries that leave locks and waits to libc are left out.
    pub fn summary(&self) -> String {
        let locks = self.locks.iter().filter(|entry| !kind::is_libcs(entry.kind)).map(describe_locks);
        let waits = self.waits.iter().filter(|entry| entry.policy != WaitPolicy::System);
        let entries: Vec<String> = locks.chain(waits.map(describe_waits)).collect();
        let shown = entries.iter().take(DESCRIBED).map(String::as_str).collect::<Vec<_>>().join("; ");
        match entries.len().saturating_sub(DESCRIBED) {
            _ if entries.is_empty() => "libc's own locks and waits".into(),
            0 => shown,
            more => format!("{shown}; and {more} more"),
        }
    }
}

fn describe_locks(entry: &Entry) -> String {
    let locks = named(&entry.which).unwrap_or_else(|| format!("every {}", entry.family().noun()));
    format!("{locks}: {}", kind::summary(entry.kind))
}

fn describe_waits(entry: &WaitEntry) -> String {
    let waits = match named(&entry.which) {
        None => "a thread that waits".to_owned(),
        Some(site) => format!("a thread that waits at {site}"),
    };
    format!("{waits} {}", entry.policy.summary())
}

/// The name of the locks or the call site; none for all.
fn named<Name: Display>(which: &Which<Name>) -> Option<String> {
    match which {
        Which::All => None,
        Which::Named { name, .. } => Some(name.to_string()),
        Which::Located(located) => Some(located.name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, KindOfFamily, WaitChoice};
    use super::*;
    use unspin_locks::{LockKind, RwLockKind};

    #[test]
    fn entries_are_described_in_words() {
        let of = |choice: &str| Plan::of(Entry::from(&choice.parse::<Choice<LockKind>>().unwrap())).summary();
        assert_eq!(of("fair@cache_lock"), "cache_lock: waiters sleep and get it in their order");
        assert_eq!(of("mcs"), format!("every mutex: {}", LockKind::Mcs.summary()));
        let poll = Plan::of_wait(WaitEntry::from(&"poll@worker_loop+0x2d".parse::<WaitChoice>().unwrap()));
        assert!(
            poll.summary().starts_with("a thread that waits at worker_loop+0x2d polls before it sleeps"),
            "{}",
            poll.summary()
        );
    }

    #[test]
    fn what_is_left_to_libc_is_not_described() {
        let plan = Plan::all(RwLockKind::Fair).before(Plan::all(LockKind::LIBCS));
        assert_eq!(plan.summary(), "every read-write lock: readers and writers get it in turns");
        assert_eq!(Plan::all(LockKind::LIBCS).summary(), "libc's own locks and waits");
    }

    #[test]
    fn long_plans_are_cut() {
        let entry = |name: &str| Entry::from(&format!("steal@{name}").parse::<Choice<LockKind>>().unwrap());
        let plan = Plan { locks: ["a", "b", "c", "d", "e"].map(entry).into(), waits: Vec::new() };
        assert!(plan.summary().ends_with("; and 2 more"), "{}", plan.summary());
    }
}
