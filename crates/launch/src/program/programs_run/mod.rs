//! The programs that ran, and into which of them the preload library was loaded.
//!
//! A program that is started without `LD_PRELOAD` in its environment, that is static or set-uid, or that has another root
//! folder, does its work unseen. So "no mutex was used" may be said only of the programs that the library reached, and the
//! others have to be named. The kernel tells which programs ran: an event of perf_event_open(2) that takes no samples
//! reports each execve(2) and the code that is mapped then, the library's among it.
//!
//! **Cost.** The events are those of all CPUs where that is permitted: then a context switch costs nothing. Otherwise the
//! processes inherit them, one for each CPU, and the kernel switches them with the threads. Therefore they are used on a machine with few CPUs only (`INHERITED_MAX`).

mod text;

pub use text::{HAND_ON, processes};

use crate::library;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use unspin_trace::{Config, Event, Fullness, Losses, Payload, Record, RingSize, Target, Tracer, cpus};

/// Bytes of a ring. An executed program takes some 1.5 KiB of it, so two hundred between two readings fit.
const RING: RingSize = RingSize::AtMost(512 << 10);
/// Events that each thread of the program inherits, at most: creating a thread takes a few microseconds for each.
const INHERITED_MAX: usize = 16;
/// How long the observation goes on after the program's end, while descendants run.
const TAIL: Duration = Duration::from_millis(100);
/// The time between two readings then.
const PAUSE: Duration = Duration::from_millis(5);
/// Prefix of the file names of AddressSanitizer's runtime.
const ASAN: &[u8] = b"libasan.so";

/// The processes that are observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The children that the calling thread will start.
    Children,
    /// A process that is about to execute the program.
    Process(u32),
}

/// The programs that a process and its descendants have executed.
pub struct ProgramsRun {
    /// None if the kernel forbids the observation, and after it has ended.
    tracer: Option<Tracer>,
    seen: SeenPrograms,
    /// Why the programs are not known, if so.
    unknown: Option<String>,
    /// The descendants that ran on when the observation ended. What they started since is not known.
    unobserved: Vec<u32>,
}

/// What the kernel's records tell.
#[derive(Debug, Default)]
struct SeenPrograms {
    /// The program's process, once it is known.
    root: Option<u32>,
    /// The program's descendants, those that have ended included.
    descendants: HashSet<u32>,
    /// Those of them that have ended.
    ended: HashSet<u32>,
    /// What they execute, by process.
    running: HashMap<u32, ExecutedProgram>,
    /// What they have executed before.
    past: Vec<ExecutedProgram>,
}

/// One execution of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct ExecutedProgram {
    /// The program's name, cut off after 15 bytes.
    name: String,
    /// The program's file, as the process saw it, with the inode.
    file: Option<(PathBuf, u64)>,
    /// The second file: its dynamic linker, if it has one.
    linker: Option<PathBuf>,
    /// Whether a third file was mapped. The dynamic linker maps preloaded libraries before all others.
    has_libraries: bool,
    /// Whether the preload library was loaded.
    is_reached: bool,
    /// Whether AddressSanitizer's runtime was loaded.
    has_asan: bool,
}

/// Whether the preload library was loaded into what ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Into every program.
    All,
    /// Not into all: a sentence that names the others.
    Some(String),
    /// The programs that ran are not known: the reason.
    Unknown(String),
}

impl ProgramsRun {
    /// Begins to observe. Call it in the thread that will start the program.
    pub fn observe(start: Start) -> ProgramsRun {
        let (inherited, root) = match start {
            Start::Children => (Target::Children, None),
            Start::Process(pid) => (Target::Executing(pid), Some(pid)),
        };
        let config = |target| Config { target, events: vec![Event::nothing()], ring: RING, processes: true };
        let open = |target| {
            let mut tracer = Tracer::open(&config(target))?;
            tracer.start().map(|()| tracer)
        };
        let opened = match open(Target::System) {
            Err(_) if cpus() <= INHERITED_MAX => open(inherited),
            opened => opened,
        };
        let (tracer, unknown) = match opened {
            Ok(tracer) => (Some(tracer), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let seen = SeenPrograms { root, ..SeenPrograms::default() };
        ProgramsRun { tracer, seen, unknown, unobserved: Vec::new() }
    }

    /// Reads what has happened. `root` is the program's process. Returns how full the fullest ring was.
    pub fn read(&mut self, root: u32) -> Fullness {
        self.seen.root = Some(root);
        let ProgramsRun { tracer, seen, .. } = self;
        tracer.as_mut().map_or(Fullness(0.0), |tracer| tracer.read(&mut |record, _| seen.note(record)))
    }

    /// Reads the remaining records, and ends the observation. Call it when the program has ended, or is no longer
    /// observed.
    pub fn finish(&mut self) {
        let ProgramsRun { tracer, seen, unknown, unobserved } = self;
        let Some(mut tracer) = tracer.take() else { return };
        // A service that has just been started forks once more and becomes another program. A reading lacks the records
        // of the last moment, so read again after a pause to learn whether a descendant runs.
        let began = Instant::now();
        loop {
            thread::sleep(PAUSE);
            tracer.read(&mut |record, _| seen.note(record));
            if seen.survivors().next().is_none() || began.elapsed() >= TAIL {
                break;
            }
        }
        let (_, Losses { records, unreadable, .. }) = tracer.finish(&mut |record, _| seen.note(record));
        if records + unreadable > 0 {
            *unknown = Some(format!("{} records of the kernel were lost", records + unreadable));
        }
        // Take these from the kernel's records: a process that ran at the time of the last record may have ended since,
        // and its child is not known.
        unobserved.extend(seen.survivors());
        unobserved.sort_unstable();
        seen.look_at_unreached();
    }

    /// Whether the preload library was loaded into what ran so far.
    pub fn reach(&self) -> Reach {
        match &self.unknown {
            Some(why) => return Reach::Unknown(why.clone()),
            None if self.seen.programs().next().is_none() => {
                return Reach::Unknown("the kernel reported no program".into());
            }
            None => {}
        }
        match (text::reach(&self.seen), self.unobserved_clause()) {
            (Reach::All, Some(unobserved)) => Reach::Unknown(unobserved),
            (reach, _) => reach,
        }
    }

    /// The processes that ran on when the observation ended, in a clause; none if there was none.
    pub fn unobserved_clause(&self) -> Option<String> {
        (!self.unobserved.is_empty()).then(|| text::describe_unobserved(&self.unobserved))
    }

    /// What to do about a program with AddressSanitizer, which may have refused to start because of the library.
    pub fn asan_remedy(&self) -> Option<String> {
        text::asan_remedy(&self.seen)
    }

    /// Whether there is anything to read.
    pub fn is_observed(&self) -> bool {
        self.tracer.is_some()
    }

    /// The descendants of the program's process that still run.
    pub fn survivors(&self) -> Vec<u32> {
        let descendants = self.seen.descendants.iter().copied();
        let mut running: Vec<u32> = descendants.filter(|&pid| is_running(pid)).collect();
        running.sort_unstable();
        running
    }
}

/// The files in lines of `/proc/PID/maps` that contain code, with their inodes. A line has address, mode, offset, device, inode, and
/// path.
fn code(maps: &[u8]) -> impl Iterator<Item = (&Path, u64)> {
    maps.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut words = line.split(|&byte| byte == b' ').skip(1);
        let is_code = words.next()?.contains(&b'x');
        let inode = std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()?;
        let path = line.iter().position(|&byte| byte == b'/')?;
        is_code.then(|| (Path::new(OsStr::from_bytes(&line[path..])), inode))
    })
}

/// Whether a process exists and is no zombie.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

impl SeenPrograms {
    /// Takes in a record. They come in the order of time.
    fn note(&mut self, record: &Record) {
        let pid = record.pid;
        match &record.payload {
            Payload::Fork { parent } if pid == record.tid => {
                self.ended.remove(&pid);
                if self.contains(*parent) {
                    self.descendants.insert(pid);
                } else if self.descendants.remove(&pid) {
                    // The number is used again, for a process that is not ours.
                    self.past.extend(self.running.remove(&pid));
                }
            }
            Payload::Exit if pid == record.tid && self.descendants.contains(&pid) => {
                self.ended.insert(pid);
            }
            Payload::Comm { name, exec: true } if self.contains(pid) => {
                let program = ExecutedProgram { name: name.clone(), ..ExecutedProgram::default() };
                self.past.extend(self.running.insert(pid, program));
            }
            Payload::Mmap(mapping) => {
                if let Some(program) = self.running.get_mut(&pid) {
                    program.note_mapping(Path::new(OsStr::from_bytes(&mapping.path)), mapping.inode);
                }
            }
            _ => {}
        }
    }

    fn contains(&self, pid: u32) -> bool {
        self.root == Some(pid) || self.descendants.contains(&pid)
    }

    /// The descendants that had not ended at the time of the last record.
    fn survivors(&self) -> impl Iterator<Item = u32> {
        self.descendants.difference(&self.ended).copied()
    }

    /// Looks at what the running programs without the library have mapped: the last records may be older than that.
    fn look_at_unreached(&mut self) {
        for (pid, program) in self.running.iter_mut().filter(|(_, program)| !program.is_reached) {
            // A process that has ended, or that may not be inspected, shows nothing.
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            code(&maps).for_each(|(file, inode)| program.note_mapping(file, inode));
        }
    }

    fn programs(&self) -> impl Iterator<Item = &ExecutedProgram> {
        self.past.iter().chain(self.running.values())
    }
}

impl ExecutedProgram {
    fn note_mapping(&mut self, file: &Path, inode: u64) {
        let name = file.file_name().unwrap_or_default().as_bytes();
        self.is_reached |= name.starts_with(library::NAME.as_bytes());
        self.has_asan |= name.starts_with(ASAN);
        // The kernel maps the executable before the dynamic linker.
        if !file.is_absolute() || inode == 0 {
            return;
        }
        match (&self.file, &self.linker) {
            (None, _) => self.file = Some((file.to_owned(), inode)),
            (Some((executable, _)), _) if executable == file => {}
            (Some(_), None) => self.linker = Some(file.to_owned()),
            (Some(_), Some(linker)) => self.has_libraries |= linker != file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_trace::Mapping;

    fn record(pid: u32, payload: Payload) -> Record {
        Record { time: 1, pid, tid: pid, payload }
    }

    fn exec(pid: u32, name: &str) -> Record {
        record(pid, Payload::Comm { name: name.into(), exec: true })
    }

    fn mmap_record(pid: u32, path: &str) -> Record {
        let path = path.as_bytes().to_vec();
        let mapping = Mapping { start: 0, length: 1, offset: 0, major: 8, minor: 1, inode: 7, path };
        record(pid, Payload::Mmap(mapping))
    }

    #[test]
    fn library_is_looked_for_in_each_executed_program() {
        let mut seen = SeenPrograms { root: Some(7), ..SeenPrograms::default() };
        let library = format!("/c/lib/{}-1.so", library::NAME);
        for record in [
            record(7, Payload::Fork { parent: 1 }),
            exec(7, "env"),
            mmap_record(7, "/bin/env"),
            mmap_record(7, &library),
            exec(7, "server"),
            mmap_record(7, "/srv/server"),
            mmap_record(7, "/lib/libasan.so.8"),
            record(8, Payload::Fork { parent: 7 }),
            mmap_record(8, &library),
            exec(8, "child"),
            mmap_record(8, "//anon"),
            exec(9, "stranger"),
        ] {
            seen.note(&record);
        }
        let program = |name: &str| seen.programs().find(|program| program.name == name);
        assert!(program("env").is_some_and(|env| env.is_reached && !env.has_asan));
        let server = program("server").unwrap();
        assert!(!server.is_reached && server.has_asan);
        assert_eq!(server.file, Some((PathBuf::from("/srv/server"), 7)));
        assert!(program("child").is_some_and(|child| !child.is_reached), "what its parent has is gone");
        assert_eq!(program("stranger"), None);
    }

    #[test]
    fn descendant_without_an_end_has_survived() {
        let mut seen = SeenPrograms { root: Some(7), ..SeenPrograms::default() };
        let survivors = |seen: &SeenPrograms| seen.survivors().collect::<Vec<_>>();
        seen.note(&record(7, Payload::Fork { parent: 1 }));
        seen.note(&record(8, Payload::Fork { parent: 7 }));
        seen.note(&Record { time: 1, pid: 8, tid: 80, payload: Payload::Exit });
        assert_eq!(survivors(&seen), [8], "another thread of it ended");
        seen.note(&record(7, Payload::Exit));
        seen.note(&record(9, Payload::Fork { parent: 8 }));
        seen.note(&record(8, Payload::Exit));
        assert_eq!(survivors(&seen), [9]);
        seen.note(&record(9, Payload::Exit));
        assert!(survivors(&seen).is_empty());
        seen.note(&record(8, Payload::Fork { parent: 7 }));
        assert_eq!(survivors(&seen), [8], "the number is used again");
    }

    #[test]
    fn programs_are_not_known_if_a_process_runs_on() {
        let observed = |unobserved: &[u32]| {
            let mut seen = SeenPrograms { root: Some(7), ..SeenPrograms::default() };
            let library = format!("/c/lib/{}-1.so", library::NAME);
            [exec(7, "sh"), mmap_record(7, "/bin/sh"), mmap_record(7, &library)]
                .iter()
                .for_each(|record| seen.note(record));
            ProgramsRun { tracer: None, seen, unknown: None, unobserved: unobserved.to_vec() }.reach()
        };
        assert_eq!(observed(&[]), Reach::All);
        let Reach::Unknown(why) = observed(&[std::process::id()]) else { panic!("a process ran on") };
        assert!(why.contains(&format!("({})", std::process::id())), "{why}");
    }

    #[test]
    fn running_program_is_looked_at_again() {
        let own = std::process::id();
        let mut seen = SeenPrograms { root: Some(own), ..SeenPrograms::default() };
        seen.note(&exec(own, "this"));
        seen.look_at_unreached();
        let this = &seen.running[&own];
        let executable = std::fs::read_link("/proc/self/exe").unwrap();
        assert_eq!(this.file.as_ref().map(|(file, _)| file), Some(&executable));
        assert!(this.has_libraries && !this.is_reached, "{this:?}");
    }

    #[test]
    fn code_is_found_in_maps() {
        let maps = b"55d0-55d1 r-xp 00001000 08:01 42    /srv/a server\n55d1-55d2 rw-p 00002000 08:01 42    /srv/a server\n\
            7ffd-7ffe r-xp 00000000 00:00 0    [vdso]\n";
        assert_eq!(code(maps).collect::<Vec<_>>(), [(Path::new("/srv/a server"), 42)]);
    }

    #[test]
    fn process_of_another_parent_with_a_number_that_was_ours_does_not_count() {
        let mut seen = SeenPrograms { root: Some(7), ..SeenPrograms::default() };
        seen.note(&record(8, Payload::Fork { parent: 7 }));
        seen.note(&record(8, Payload::Fork { parent: 1 }));
        seen.note(&exec(8, "stranger"));
        assert_eq!(seen.programs().count(), 0);
    }
}
