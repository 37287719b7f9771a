//! The address spaces of the observed processes.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use unspin_symbols::AddressSpace;
use unspin_trace::{Payload, Processes, Record};

/// An address space: a process from one exec to the next. An index into [`Spaces::all`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SpaceId(pub usize);

/// A process from one exec to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessSpace {
    /// The process.
    pub pid: u32,
    /// The process's name.
    pub name: String,
    maps: Arc<Vec<u8>>,
}

/// Tells the address spaces apart, and keeps their maps when they end.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    processes: Processes,
    current: HashMap<u32, SpaceId>,
    spaces: Vec<ProcessSpace>,
}

impl Spaces {
    /// Takes in a record that is no sample.
    pub fn note(&mut self, record: &Record) {
        let begins = match record.payload {
            Payload::Fork { .. } => record.pid == record.tid,
            Payload::Comm { exec, .. } => exec,
            _ => false,
        };
        // The maps stay when the first thread ends: others may go on.
        if begins && let Some(SpaceId(space)) = self.current.remove(&record.pid) {
            self.spaces[space].maps = self.processes.maps(record.pid);
        }
        self.processes.note(record);
    }

    /// The address space of a process now.
    pub fn of(&mut self, pid: u32) -> SpaceId {
        if let Some(&space) = self.current.get(&pid) {
            return space;
        }
        self.processes.look_up(pid);
        let name = self.processes.name(pid).unwrap_or_else(|| pid.to_string());
        let space = SpaceId(self.spaces.len());
        self.spaces.push(ProcessSpace { pid, name, maps: Arc::default() });
        self.current.insert(pid, space);
        space
    }

    /// The process of an address space.
    pub fn pid(&self, space: SpaceId) -> u32 {
        self.spaces[space.0].pid
    }

    /// All address spaces, each with its process and what it has mapped.
    pub fn all(&self) -> Vec<(ProcessSpace, AddressSpace)> {
        let mut spaces = self.spaces.clone();
        for (&pid, space) in &self.current {
            spaces[space.0].maps = self.processes.maps(pid);
        }
        let parsed = |space: ProcessSpace| {
            let parsed = AddressSpace::parse(&space.maps);
            (space, parsed)
        };
        spaces.into_iter().map(parsed).collect()
    }
}

/// A place in memory that processes share: the file by device and inode, and the offset in it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SharedPlace {
    device: String,
    inode: u64,
    /// Offset of the byte in the file.
    pub offset: u64,
    /// The file, as the process that was looked up first has it.
    pub path: String,
}

/// The shared place at an address of a running process; none if the memory is the process's own, or if the process has
/// ended.
pub fn shared_place(pid: u32, address: u64) -> Option<SharedPlace> {
    find_shared(&fs::read_to_string(format!("/proc/{pid}/maps")).ok()?, address)
}

/// `7f10-7f20 rw-s 00000000 00:01 1234   /dev/shm/ring (deleted)`
fn find_shared(maps: &str, address: u64) -> Option<SharedPlace> {
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let hexadecimal = |word: &str| u64::from_str_radix(word, 16).ok();
        let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
        if !(start..end).contains(&address) {
            return None;
        }
        let is_shared = words.next()?.ends_with('s');
        let offset = hexadecimal(words.next()?)? + (address - start);
        let (device, inode) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let path = words.collect::<Vec<_>>().join(" ");
        is_shared.then_some(SharedPlace { device, inode, offset, path })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_known_by_file_and_offset() {
        let maps = "1000-2000 rw-p 00000000 00:00 0 [heap]\n\
                    7000-9000 rw-s 00001000 00:01 77 /dev/shm/ring (deleted)\n";
        let place = find_shared(maps, 0x8010).unwrap();
        assert_eq!((place.inode, place.offset, &*place.path), (77, 0x2010, "/dev/shm/ring (deleted)"));
        assert_eq!(find_shared(maps, 0x1010), None, "private memory");
        assert_eq!(find_shared(maps, 0x9000), None, "nothing is mapped");
    }

    #[test]
    fn exec_begins_another_space_and_the_end_of_a_thread_does_not() {
        let mut spaces = Spaces::default();
        let pid = u32::MAX - 1;
        let record = |payload| Record { time: 0, pid, tid: pid, payload };
        let first = spaces.of(pid);
        spaces.note(&record(Payload::Exit));
        assert_eq!(spaces.of(pid), first);
        spaces.note(&record(Payload::Comm { name: "ls".into(), exec: true }));
        assert_ne!(spaces.of(pid), first);
        assert_eq!(spaces.all()[1].0.name, "ls");
    }
}
