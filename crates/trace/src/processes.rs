//! What is known of the observed processes: their names and what they have mapped.

use crate::record::{Payload, Record};
use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use unspin_sys::printable;

/// The processes and threads that records have named, and those that run.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    names: HashMap<u32, String>,
    /// The text of each process's maps, as of `/proc/PID/maps`. A child shares it until one of them maps something.
    maps: HashMap<u32, Arc<Vec<u8>>>,
}

impl Processes {
    /// Nothing is known yet. Processes that run already are looked up in `/proc` when they are asked for.
    pub fn new() -> Processes {
        Processes::default()
    }

    /// Takes in a record.
    pub fn note(&mut self, record: &Record) {
        match &record.payload {
            Payload::Comm { name, exec } => {
                self.names.insert(record.tid, name.clone());
                if *exec {
                    self.maps.insert(record.pid, Arc::default());
                }
            }
            Payload::Fork { parent } if record.pid == record.tid => {
                // Read them once for all children, because each reading takes the parent's mmap_lock.
                self.look_up(*parent);
                // The known data of this number belonged to an earlier process.
                match self.maps.get(parent).filter(|maps| !maps.is_empty()).cloned() {
                    Some(maps) => self.maps.insert(record.pid, maps),
                    None => self.maps.remove(&record.pid),
                };
                match self.names.get(parent).cloned() {
                    Some(name) => self.names.insert(record.tid, name),
                    None => self.names.remove(&record.tid),
                };
            }
            Payload::Mmap(mapping) => {
                // A process that already ran has more than what it maps now.
                let maps =
                    self.maps.entry(record.pid).or_insert_with(|| read_maps(record.pid).unwrap_or_default());
                Arc::make_mut(maps).extend(mapping.line());
            }
            _ => {}
        }
    }

    /// Looks up the maps of a process that runs already, if nothing is known of it yet. Call it while the process runs.
    pub fn look_up(&mut self, pid: u32) {
        if pid != 0 && !self.maps.contains_key(&pid) {
            self.maps.insert(pid, read_maps(pid).unwrap_or_default());
        }
    }

    /// Forgets the maps of a process that has ended.
    pub fn forget_maps(&mut self, pid: u32) {
        self.maps.remove(&pid);
    }

    /// The name of a thread, or of a process by its first thread.
    pub fn name(&self, tid: u32) -> Option<String> {
        let running = || {
            let name = fs::read(format!("/proc/{tid}/comm")).ok()?;
            let name = String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name));
            Some(printable::line(&name).into_owned())
        };
        self.names.get(&tid).cloned().or_else(running)
    }

    /// The text of a process's maps: what is known of it, in the form of `/proc/PID/maps`.
    pub fn maps(&self, pid: u32) -> Arc<Vec<u8>> {
        self.maps.get(&pid).cloned().unwrap_or_default()
    }
}

fn read_maps(pid: u32) -> Option<Arc<Vec<u8>>> {
    fs::read(format!("/proc/{pid}/maps")).ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Mapping;

    #[test]
    fn maps_of_a_running_parent_are_read_once() {
        let mut processes = Processes::new();
        let (own, child) = (std::process::id(), u32::MAX - 1);
        let fork = Record { time: 0, pid: child, tid: child, payload: Payload::Fork { parent: own } };
        processes.note(&fork);
        assert!(!processes.maps(own).is_empty());
        assert!(Arc::ptr_eq(&processes.maps(own), &processes.maps(child)));
    }

    #[test]
    fn reused_number_has_nothing_of_the_earlier_process() {
        let mut processes = Processes::new();
        let (pid, gone) = (u32::MAX - 1, u32::MAX - 2);
        let record = |payload| Record { time: 0, pid, tid: pid, payload };
        processes.note(&record(Payload::Comm { name: "earlier".into(), exec: true }));
        processes.note(&record(Payload::Fork { parent: gone }));
        assert_eq!(processes.name(pid), None);
        assert!(processes.maps(pid).is_empty());
    }

    #[test]
    fn exec_replaces_maps_and_fork_copies_them() {
        let mut processes = Processes::new();
        let record = |pid, payload| Record { time: 0, pid, tid: pid, payload };
        let (parent, child) = (u32::MAX - 1, u32::MAX - 2);
        let mapping = |path: &str| {
            let path = path.as_bytes().to_vec();
            Payload::Mmap(Mapping {
                start: 0x1000,
                length: 0x1000,
                offset: 0,
                major: 8,
                minor: 1,
                inode: 7,
                path,
            })
        };
        processes.note(&record(parent, Payload::Comm { name: "sh".into(), exec: true }));
        processes.note(&record(parent, mapping("/bin/sh")));
        processes.note(&record(child, Payload::Fork { parent }));
        assert_eq!(processes.name(child).as_deref(), Some("sh"));
        assert_eq!(processes.maps(child).as_slice(), b"1000-2000 r-xp 00000000 08:01 7 /bin/sh\n");
        processes.note(&record(child, Payload::Comm { name: "ls".into(), exec: true }));
        processes.note(&record(child, mapping("/bin/ls")));
        assert_eq!(processes.maps(child).as_slice(), b"1000-2000 r-xp 00000000 08:01 7 /bin/ls\n");
        assert_eq!(processes.name(parent).as_deref(), Some("sh"));
        assert!(processes.maps(1 << 31).is_empty());
        processes.look_up(std::process::id());
        assert!(!processes.maps(std::process::id()).is_empty());
        processes.forget_maps(child);
        assert!(processes.maps(child).is_empty());
    }
}
