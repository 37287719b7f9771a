//! Processes that a program under test has started.

use crate::eventually;
use std::fs;

/// A process, told from later ones with its id by the time at which it started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    pid: u32,
    started: String,
}

impl Process {
    /// The process with this id; none if there is none, or if it is a zombie.
    pub fn find(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // proc_pid_stat(5): the name is in parentheses and may hold anything; the state is field 3, the start time field 22.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let alive = !matches!(fields.first(), None | Some(&"Z" | &"X"));
        alive.then(|| Process { pid, started: fields[19].to_owned() })
    }

    /// The children of a process, oldest first.
    pub fn children_of(pid: u32) -> Vec<Process> {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().filter_map(|pid| Process::find(pid.parse().ok()?)).collect()
    }

    /// The id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended yet. A zombie has.
    pub fn runs(&self) -> bool {
        Process::find(self.pid).as_ref() == Some(self)
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&self, signal: i32) {
        // SAFETY: takes no pointer; the descriptor, if there is one, is ours and closed once.
        unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, self.pid, 0);
            if descriptor < 0 {
                return;
            }
            // The descriptor refers to the process that has the id now, and to no later process with that id.
            if self.runs() {
                libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal, 0, 0);
            }
            libc::close(descriptor as i32);
        }
    }

    /// Waits until it has ended.
    pub fn await_end(&self) {
        eventually(format!("the end of process {}", self.pid), || (!self.runs()).then_some(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_killed_and_gone() {
        let mut sleep = Command::new("sleep").arg("1000").spawn().expect("every system has it");
        let process = Process::find(sleep.id()).expect("it sleeps");
        assert!(process.runs());
        process.signal(libc::SIGKILL);
        process.await_end();
        assert!(!process.runs(), "a zombie has ended");
        sleep.wait().expect("it is our child");
        assert_eq!(Process::find(process.pid()), None);
    }
}
