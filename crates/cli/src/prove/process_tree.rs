//! CPU time and threads of the processes that a run has started, while they run.

use std::collections::HashMap;
use std::fs;
use unspin_sys::child::Usage;

/// Microseconds of a tick: proc_pid_stat(5) counts in 1/100 s (USER_HZ, fixed by the ABI of x86-64).
const TICK_US: u64 = 10_000;

/// CPU time so far of all descendants of this process that live, and of the children that they have waited for. A server's
/// processes are its children, and orphans are ours ([`unspin_sys::child::become_subreaper`]).
pub fn cpu_of_descendants() -> Usage {
    usage(&processes(), std::process::id())
}

/// What the processes of a run do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// As of [`cpu_of_descendants`].
    pub usage: Usage,
    /// What their threads do.
    pub threads: Threads,
}

/// What the threads of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Each sleeps until an event, is stopped, or has ended.
    Asleep,
    /// At least one is ready to run, or in a sleep that no signal ends, as that for a disk.
    Active,
}

/// The CPU time so far, and what the threads do, of all descendants of this process.
pub fn activity_of_descendants() -> Activity {
    let (processes, root) = (processes(), std::process::id());
    let is_active = descendants(&processes, root).any(|(pid, _)| has_active_thread(*pid));
    Activity {
        usage: usage(&processes, root),
        threads: if is_active { Threads::Active } else { Threads::Asleep },
    }
}

fn has_active_thread(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let states = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    states.filter_map(|stat| state(&stat)).any(|state| matches!(state, 'R' | 'D'))
}

/// The state of a thread in proc_pid_stat(5).
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

fn processes() -> HashMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all = pids.filter_map(|pid| {
        // A process that has ended meanwhile counts with its parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, Process::parse(&stat)?))
    });
    all.collect()
}

fn descendants(processes: &HashMap<u32, Process>, root: u32) -> impl Iterator<Item = (&u32, &Process)> {
    let descends = move |mut pid: u32| {
        // A chain of parents is no longer than the list.
        for _ in 0..processes.len() {
            match processes.get(&pid) {
                Some(process) if process.parent == root => return true,
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.iter().filter(move |(pid, _)| descends(**pid))
}

fn usage(processes: &HashMap<u32, Process>, root: u32) -> Usage {
    let mut usage = Usage::default();
    for (_, process) in descendants(processes, root) {
        usage.user_us += process.user * TICK_US;
        usage.system_us += process.system * TICK_US;
    }
    usage
}

/// What proc_pid_stat(5) says of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Process {
    parent: u32,
    /// Ticks, with those of the children that it has waited for.
    user: u64,
    system: u64,
}

impl Process {
    fn parse(stat: &str) -> Option<Process> {
        // The name of the program may contain blanks and parentheses. Fields 4 and 14 to 17 of the manual page.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Process {
            parent: fields.get(1)?.parse().ok()?,
            user: ticks(14)? + ticks(16)?,
            system: ticks(15)? + ticks(17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_count() {
        let process = |parent, user, system| Process { parent, user, system };
        let processes: HashMap<u32, Process> = [
            (1, process(0, 1000, 1000)),
            (7, process(1, 500, 500)),
            (8, process(7, 10, 1)),
            (9, process(8, 20, 2)),
            (10, process(1, 300, 300)),
        ]
        .into();
        let usage = usage(&processes, 7);
        assert_eq!((usage.user_us, usage.system_us), (300_000, 30_000));
    }

    #[test]
    fn name_of_a_program_may_look_like_fields() {
        let stat = "7 (a ) R 1) S 3 7 7 0 -1 4194560 100 0 0 0 150 25 10 15 20 0 3 0 1 0";
        assert_eq!(Process::parse(stat), Some(Process { parent: 3, user: 160, system: 40 }));
        assert_eq!((Process::parse(""), state(""), state(stat)), (None, None, Some('S')));
    }
}
