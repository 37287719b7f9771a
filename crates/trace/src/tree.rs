//! The processes that descend from one.

use crate::record::{Payload, Record};
use std::collections::{HashMap, HashSet};
use std::fs;

/// A running process with its present and future descendants.
#[derive(Debug)]
pub struct Tree {
    processes: HashSet<u32>,
    /// A process that is not in the tree, but its children are.
    starter: Option<u32>,
}

impl Tree {
    /// The process and its present descendants; none if it does not exist. Call it when events are already recorded: a
    /// process that is created meanwhile is then in a record, if it is not in `/proc`. The number of a thread means its
    /// process.
    pub fn of(root: u32) -> Option<Tree> {
        let root = process_of(root)?;
        let mut children = HashMap::<u32, Vec<u32>>::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some((pid, parent)) = pid.and_then(|pid| Some((pid, parent(pid)?))) {
                children.entry(parent).or_default().push(pid);
            }
        }
        let (mut processes, mut next) = (HashSet::new(), vec![root]);
        while let Some(pid) = next.pop() {
            if processes.insert(pid) {
                next.extend(children.get(&pid).into_iter().flatten());
            }
        }
        Some(Tree { processes, starter: None })
    }

    /// The processes that this one creates from now on, and their descendants.
    pub fn started_by(starter: u32) -> Tree {
        Tree { processes: HashSet::new(), starter: Some(starter) }
    }

    /// Whether a process belongs to the tree.
    pub fn has(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    /// Whether a record is of one of the processes. Takes in those that they create, so records must come in the order
    /// of time. A process that has ended stays in the tree until another one gets its number: its first thread may end
    /// before the others.
    pub fn contains(&mut self, record: &Record) -> bool {
        if let Payload::Fork { parent } = record.payload {
            let is_process = record.pid == record.tid;
            if self.processes.contains(&parent) || is_process && self.starter == Some(parent) {
                self.processes.insert(record.pid);
            } else if is_process {
                self.processes.remove(&record.pid);
            }
        }
        self.processes.contains(&record.pid)
    }
}

/// The process of a thread; that of a process is itself. None if there is no such thread.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    // proc_pid_status(5).
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The parent of a process: the fourth field of its `stat`, after the name in parentheses.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pid: u32, tid: u32, payload: Payload) -> Record {
        Record { time: 1, pid, tid, payload }
    }

    #[test]
    fn descendants_belong_to_the_tree() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut tree = Tree::of(std::process::id()).unwrap();
        assert!(tree.contains(&record(
            child.id(),
            child.id(),
            Payload::Comm { name: "sleep".into(), exec: true }
        )));
        assert!(!tree.contains(&record(1, 1, Payload::Exit)));
        child.kill().unwrap();
        child.wait().unwrap();
        let own = std::process::id();
        let (new, newer) = (u32::MAX - 1, u32::MAX - 2);
        assert!(tree.contains(&record(new, new, Payload::Fork { parent: own })));
        assert!(tree.contains(&record(newer, newer, Payload::Fork { parent: new })));
        assert!(tree.contains(&record(new, new, Payload::Exit)));
        assert!(tree.contains(&record(new, newer, Payload::Exit)), "another thread, which ends later");
        assert!(!tree.contains(&record(new, new, Payload::Fork { parent: 1 })), "the number is used again");
        assert!(tree.contains(&record(newer, newer, Payload::Exit)));
    }

    #[test]
    fn starter_does_not_belong_to_the_tree_of_what_it_starts() {
        let (starter, child, grandchild) = (u32::MAX - 1, u32::MAX - 2, u32::MAX - 3);
        let mut tree = Tree::started_by(starter);
        assert!(!tree.contains(&record(child, child, Payload::Exit)));
        assert!(!tree.contains(&record(starter, starter + 1, Payload::Fork { parent: starter })), "a thread");
        assert!(!tree.contains(&record(starter, starter, Payload::Exit)));
        assert!(tree.contains(&record(child, child, Payload::Fork { parent: starter })));
        assert!(tree.contains(&record(grandchild, grandchild, Payload::Fork { parent: child })));
    }

    #[test]
    fn number_of_a_thread_means_its_process() {
        let own = std::process::id();
        // proc(5): PID/task/TID.
        let thread = fs::read_link("/proc/thread-self").unwrap();
        let thread = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_ne!(thread, own, "a test runs in a thread of its own");
        assert!(Tree::of(thread).unwrap().contains(&record(own, own, Payload::Exit)));
    }

    #[test]
    fn process_that_does_not_exist_has_no_tree() {
        assert!(Tree::of(u32::MAX).is_none());
    }
}
