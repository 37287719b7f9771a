//! CPU time and threads of the processes that a run has started, while they run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use unspin_sys::blocked;
use unspin_sys::child::Usage;

/// Microseconds of a tick: proc_pid_stat(5) counts in 1/100 s (USER_HZ, fixed by the ABI of x86-64).
const TICK_US: u64 = 10_000;

/// CPU time so far of all descendants of this process that live, and of the children that they have waited for. A server's
/// processes are its children, and orphans are ours ([`unspin_sys::child::become_subreaper`]). `spared` and its descendants do not
/// count: they are no part of the run.
pub fn cpu_of_descendants(spared: Option<u32>) -> Usage {
    usage(&processes(), std::process::id(), spared)
}

/// The threads of a run, by number.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RunThreads(BTreeMap<u32, ThreadActivity>);

/// A thread at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadActivity {
    /// How often it has left a CPU so far.
    pub switches: u64,
    /// What it does.
    pub state: ThreadState,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// It sleeps until another thread or a signal wakes it, or has ended.
    Asleep,
    /// A timeout or an event outside the run may wake it, or the kernel does not show what may.
    AsleepUntil,
    /// It is ready to run, or in an uninterruptible sleep, such as a wait for a disk.
    Active,
}

impl RunThreads {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether no thread runs, or may run again without another thread of the run.
    pub fn can_sleep_for_ever(&self) -> bool {
        self.0.values().all(|thread| thread.state == ThreadState::Asleep)
    }
}

impl FromIterator<(u32, ThreadActivity)> for RunThreads {
    fn from_iter<I: IntoIterator<Item = (u32, ThreadActivity)>>(threads: I) -> RunThreads {
        RunThreads(threads.into_iter().collect())
    }
}

/// The threads of all descendants of this process, without those of `spared` and its descendants.
pub fn threads_of_descendants(spared: Option<u32>) -> RunThreads {
    let processes = processes();
    descendants(&processes, std::process::id(), spared).flat_map(|(pid, _)| threads_of(*pid)).collect()
}

fn threads_of(pid: u32) -> impl Iterator<Item = (u32, ThreadActivity)> {
    let process = Path::new("/proc").join(pid.to_string());
    let folders = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let has_timer = has_timer(&process);
    folders.filter_map(move |folder| {
        let tid = folder.file_name().to_str()?.parse().ok()?;
        let mut thread = thread(&folder.path())?;
        if has_timer && thread.state == ThreadState::Asleep {
            thread.state = ThreadState::AsleepUntil;
        }
        Some((tid, thread))
    })
}

/// Whether a timer may send a process a signal: it has a timer of timer_create(2), or it handles SIGALRM. The kernel
/// does not show whether an alarm(2) is set.
fn has_timer(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let timers = fs::read_to_string(process.join("timers"));
    field(&status, "SigCgt:").is_some_and(blocked::has_alarm) || timers.is_ok_and(|timers| !timers.is_empty())
}

/// A thread, from its folder in proc(5); none if it has ended meanwhile.
fn thread(folder: &Path) -> Option<ThreadActivity> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let letter = field(&status, "State:")?.chars().next()?;
    let state = match letter {
        'R' | 'D' => ThreadState::Active,
        'Z' | 'X' => ThreadState::Asleep,
        'S' if can_last_for_ever(folder) => ThreadState::Asleep,
        _ => ThreadState::AsleepUntil,
    };
    let switches = |name| field(&status, name)?.parse::<u64>().ok();
    Some(ThreadActivity {
        switches: switches("voluntary_ctxt_switches:")? + switches("nonvoluntary_ctxt_switches:")?,
        state,
    })
}

/// Whether only another thread or a signal ends the call in which a thread sleeps. Where the kernel does not show the call, nothing
/// proves a hang.
fn can_last_for_ever(folder: &Path) -> bool {
    let is_pipe = |descriptor: u32| {
        let target = fs::read_link(folder.join(format!("fd/{descriptor}")));
        target.is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"pipe:"))
    };
    let call = fs::read_to_string(folder.join("syscall")).unwrap_or_default();
    blocked::can_last_for_ever(&call, is_pipe).unwrap_or(false)
}

/// A field of proc_pid_status(5).
fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn processes() -> HashMap<u32, ProcessStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all = pids.filter_map(|pid| {
        // A process that has ended meanwhile counts with its parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, ProcessStat::parse(&stat)?))
    });
    all.collect()
}

fn descendants(
    processes: &HashMap<u32, ProcessStat>,
    root: u32,
    spared: Option<u32>,
) -> impl Iterator<Item = (&u32, &ProcessStat)> {
    let descends = move |mut pid: u32| {
        // A chain of parents is no longer than the list.
        for _ in 0..processes.len() {
            match processes.get(&pid) {
                _ if spared == Some(pid) => return false,
                Some(process) if process.parent == root => return true,
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.iter().filter(move |(pid, _)| descends(**pid))
}

fn usage(processes: &HashMap<u32, ProcessStat>, root: u32, spared: Option<u32>) -> Usage {
    let mut usage = Usage::default();
    for (_, process) in descendants(processes, root, spared) {
        usage.user_us += process.user * TICK_US;
        usage.system_us += process.system * TICK_US;
    }
    usage
}

/// What proc_pid_stat(5) says of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ProcessStat {
    parent: u32,
    /// Ticks, with those of the children that it has waited for.
    user: u64,
    system: u64,
}

impl ProcessStat {
    fn parse(stat: &str) -> Option<ProcessStat> {
        // The name of the program may contain blanks and parentheses. Fields 4 and 14 to 17 of the manual page.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(ProcessStat {
            parent: fields.get(1)?.parse().ok()?,
            user: ticks(14)? + ticks(16)?,
            system: ticks(15)? + ticks(17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    #[test]
    fn children_of_children_count() {
        let process = |parent, user, system| ProcessStat { parent, user, system };
        let processes: HashMap<u32, ProcessStat> = [
            (1, process(0, 1000, 1000)),
            (7, process(1, 500, 500)),
            (8, process(7, 10, 1)),
            (9, process(8, 20, 2)),
            (10, process(1, 300, 300)),
        ]
        .into();
        let of = |spared| {
            let usage = usage(&processes, 7, spared);
            (usage.user_us, usage.system_us)
        };
        assert_eq!(of(None), (300_000, 30_000));
        assert_eq!((of(Some(9)), of(Some(8))), ((100_000, 10_000), (0, 0)));
    }

    #[test]
    fn name_of_a_program_may_look_like_fields() {
        let stat = "7 (a ) R 1) S 3 7 7 0 -1 4194560 100 0 0 0 150 25 10 15 20 0 3 0 1 0";
        assert_eq!(ProcessStat::parse(stat), Some(ProcessStat { parent: 3, user: 160, system: 40 }));
        assert_eq!(ProcessStat::parse(""), None);
    }

    #[test]
    fn thread_that_waits_for_a_time_differs_from_one_that_waits_for_an_event() {
        let asleep = |wait: Box<dyn FnOnce(Receiver<()>) + Send>| {
            let ((end, ended), (tell, told)) = (channel::<()>(), channel());
            let thread = std::thread::spawn(move || {
                tell.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
                wait(ended);
            });
            let folder = Path::new("/proc").join(told.recv().unwrap());
            // The thread may not have begun to wait. Nothing ends the wait before the end of the test.
            let found = loop {
                let found = super::thread(&folder).unwrap();
                if found.state != ThreadState::Active {
                    break found;
                }
                std::thread::yield_now();
            };
            end.send(()).unwrap();
            thread.join().unwrap();
            found
        };
        let event = asleep(Box::new(|ended| ended.recv().unwrap()));
        let time = asleep(Box::new(|ended| ended.recv_timeout(Duration::from_secs(600)).unwrap()));
        assert_eq!((event.state, time.state), (ThreadState::Asleep, ThreadState::AsleepUntil));
        assert!(event.switches > 0 && time.switches > 0);
    }
}
