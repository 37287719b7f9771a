//! The arenas of a machine, inspected from outside: which exist, what they contain, which processes use them. Also
//! their removal.
//!
//! The inspecting process does not join an arena. It copies as much of the arena as it needs, and no participant
//! notices.

use crate::arena_file::default_path::PREFIX;
use crate::arena_file::{ArenaError, HeaderCopy, is_arena, load_objects, open_to_read};
use crate::class::Class;
use crate::kind::Kind;
use crate::msg::MsgQueue;
use crate::shm::{self, Removed};
use crate::store::PAGE;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unspin_rcu::Rcu;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::process::{self, Liveness};

/// A file that is an arena, or is named like one.
#[derive(Debug)]
pub struct Found {
    /// Path of the file.
    pub path: PathBuf,
    /// Uid of its owner.
    pub uid: u32,
    /// Bytes that it takes on the file system. It is sparse, so these are fewer than its length.
    pub on_disk: u64,
    /// What the arena contains, or the reason that it cannot be read.
    pub contents: Result<Contents, ArenaError>,
    /// Pids of processes of our pid namespace that use it: those with a participating thread, and those that have it
    /// mapped. The calling process is not included.
    pub processes: BTreeSet<u32>,
    /// Number of participating threads of other pid namespaces. It cannot be determined from here whether they are
    /// alive.
    pub elsewhere: usize,
}

/// The contents of an arena, counted while participants may be changing them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contents {
    /// The engine that it was made for.
    pub kind: Kind,
    /// The IPC namespace that it was made in, by its inode number.
    pub ipc_namespace: u64,
    /// Number of semaphore sets.
    pub sets: u32,
    /// Number of semaphores in all sets.
    pub semaphores: u64,
    /// Number of message queues.
    pub queues: u32,
    /// Bytes of text of the messages in all queues.
    pub message_bytes: u64,
    /// Number of shared memory segments.
    pub segments: u32,
    /// Bytes of all segments, in whole pages.
    pub segment_bytes: u64,
}

impl Found {
    /// The file at `path`. `None` if there is none; an error if no engine made the file, or it cannot be read.
    pub fn at(path: &Path) -> Result<Option<Found>, ArenaError> {
        let about = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            about => about.map_err(|error| ArenaError::io(path, error))?,
        };
        if !about.is_file() || !(is_named_as_one(path) || is_like_arena(path)) {
            // A file that may not be read may be an arena.
            if about.is_file() {
                open_to_read(path).map_err(|error| ArenaError::io(path, error))?;
            }
            return Err(ArenaError::Corrupt(path.into()));
        }
        let mut all = [Found::of(path, &about)];
        add_those_who_map(&mut all, &[about]);
        let [found] = all;
        Ok(Some(found))
    }

    /// All arenas in a folder, sorted by name, of any owner: files that are named as engines name arenas, and files
    /// that begin or end like an arena.
    pub fn all_in(folder: &Path) -> io::Result<Vec<Found>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            // A file that was removed meanwhile is skipped.
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_file() && (is_named_as_one(&path) || is_like_arena(&path)) {
                files.push((path, about));
            }
        }
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let mut all: Vec<Found> = files.iter().map(|(path, about)| Found::of(path, about)).collect();
        let abouts: Vec<Metadata> = files.into_iter().map(|(_, about)| about).collect();
        add_those_who_map(&mut all, &abouts);
        Ok(all)
    }

    fn of(path: &Path, about: &Metadata) -> Found {
        let glimpse = HeaderCopy::of(path);
        let (processes, elsewhere) = glimpse.as_ref().map(participants).unwrap_or_default();
        Found {
            path: path.into(),
            uid: about.uid(),
            // stat(2): blocks of 512 bytes, whatever the file system's own block size.
            on_disk: about.blocks() * 512,
            contents: glimpse.map(|glimpse| count(&glimpse)),
            processes,
            elsewhere,
        }
    }

    /// Whether a process uses it, or may use it.
    pub fn is_in_use(&self) -> bool {
        !self.processes.is_empty() || self.elsewhere > 0
    }

    /// The IPC namespace that it was made in: an inode number, as in `/proc/PID/ns/ipc`. If the arena cannot be read,
    /// the number in its name; `None` if the name has another form.
    pub fn ipc_namespace(&self) -> Option<u64> {
        if let Ok(contents) = &self.contents {
            return Some(contents.ipc_namespace);
        }
        let name = self.path.file_name()?.to_str()?;
        name.strip_prefix(PREFIX)?.split('-').nth(1)?.parse().ok()
    }

    /// Removes the file, and its segments from the kernel. Processes that use the arena continue with it, but no other
    /// process finds it any more; new processes make another arena.
    pub fn remove(&self) -> io::Result<Removed> {
        let file = open_to_read(&self.path);
        fs::remove_file(&self.path)?;
        Ok(file.map(|file| shm::remove_segments(&file)).unwrap_or_default())
    }
}

fn is_named_as_one(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
}

/// Whether the file begins or ends like an arena, of any version.
fn is_like_arena(path: &Path) -> bool {
    open_to_read(path).is_ok_and(|file| is_arena(&file))
}

fn count(glimpse: &HeaderCopy) -> Contents {
    let header = glimpse.arena().header();
    // Relaxed: a private copy.
    let objects = |class| header.root(class).in_use.load(Relaxed);
    let units = |class| header.root(class).units.load(Relaxed);
    Contents {
        kind: glimpse.kind,
        ipc_namespace: header.namespace[0].load(Relaxed),
        sets: objects(Class::Sem),
        semaphores: units(Class::Sem),
        queues: objects(Class::Msg),
        message_bytes: message_bytes(&glimpse.file).unwrap_or(0),
        segments: objects(Class::Shm),
        segment_bytes: units(Class::Shm).saturating_mul(PAGE),
    }
}

/// Each queue counts its bytes; there is no total in the arena.
fn message_bytes(file: &File) -> io::Result<u64> {
    let queues = load_objects::<MsgQueue>(file, Class::Msg)?;
    Ok(queues.map(|queue| queue.contended.bytes.into_inner()).fold(0, u64::saturating_add))
}

/// The living participating processes of our pid namespace, and the number of participating threads of other
/// namespaces.
fn participants(glimpse: &HeaderCopy) -> (BTreeSet<u32>, usize) {
    let arena = glimpse.arena();
    let registry = Rcu::new(&arena.header().domain.0, arena.slots()).registry();
    let here = process::pid_namespace();
    let (mut processes, mut elsewhere) = (BTreeSet::new(), 0);
    for participant in (0..registry.high_water_mark()).filter_map(|index| registry.participant(index)) {
        // This is a copy of the slots, so finding a participant dead does not mark it as dead in the arena.
        let Some(who) = registry.identity(participant) else { continue };
        if who.liveness() == Liveness::Dead {
            continue;
        }
        match who.namespace == here || who.namespace == 0 {
            true => drop(processes.insert(who.pid)),
            false => elsewhere += 1,
        }
    }
    processes.remove(&process::pid());
    (processes, elsewhere)
}

/// Adds the processes that have one of the files mapped, as far as `/proc` shows their memory. A process that has not
/// called the engine yet is not a participant.
fn add_those_who_map(all: &mut [Found], files: &[Metadata]) {
    let marks: Vec<Mark> = files.iter().map(Mark::of).collect();
    for pid in processes().filter(|&pid| pid != process::pid()) {
        let Ok(maps) = fs::read(format!("/proc/{pid}/maps")) else { continue };
        for line in maps.split(|&byte| byte == b'\n') {
            for (found, mark) in all.iter_mut().zip(&marks) {
                if mark.is_on(line, &found.path) {
                    found.processes.insert(pid);
                }
            }
        }
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// How proc_pid_maps(5) identifies a file.
struct Mark {
    device: String,
    inode: String,
}

impl Mark {
    fn of(about: &Metadata) -> Mark {
        // makedev(3): the bits of `st_dev`.
        let (major, minor) = (about.dev() >> 8 & 0xfff, about.dev() & 0xff | about.dev() >> 12 & 0xf_ff00);
        Mark { device: format!("{major:02x}:{minor:02x}"), inode: about.ino().to_string() }
    }

    /// Whether a line is about the file. Its fields are range, permissions, offset, device, inode, name. Some file
    /// systems show another device there than stat(2) returns; then the name decides.
    fn is_on(&self, line: &[u8], path: &Path) -> bool {
        let mut fields = line.splitn(6, |&byte| byte == b' ').skip(3);
        let (Some(device), Some(inode)) = (fields.next(), fields.next()) else { return false };
        let name = fields.next().unwrap_or_default().trim_ascii_start();
        inode == self.inode.as_bytes()
            && (device == self.device.as_bytes() || name == path.as_os_str().as_encoded_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Options};
    use std::io::Write as _;
    use std::os::unix::fs::FileExt;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    fn make_arena(path: &Path) -> Engine {
        Engine::open(Kind::Rcu, path, &Options::default(), None).unwrap()
    }

    #[test]
    fn inspection_counts_contents_without_joining() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any name");
        let engine = make_arena(&path);
        for nsems in [3, 4] {
            engine.semget(IPC_PRIVATE, nsems, 0o600).unwrap();
        }
        let queue = engine.msgget(IPC_PRIVATE, 0o600).unwrap();
        let message = [1_u64, 2, 3];
        // SAFETY: type and text of a message, in a live array.
        unsafe { engine.msgsnd(queue, &raw const message as usize, 16, 0) }.unwrap();
        let before = (engine.participants().unwrap(), crate::times_joined(&path).unwrap());
        let found = Found::at(&path).unwrap().unwrap();
        let contents = found.contents.unwrap();
        assert_eq!((contents.kind, contents.sets, contents.semaphores), (Kind::Rcu, 2, 7));
        assert_eq!((contents.queues, contents.message_bytes), (1, 16));
        assert_eq!((engine.participants().unwrap(), crate::times_joined(&path).unwrap()), before);
        assert!(found.on_disk > 0 && found.on_disk < Options::default().bytes);
        assert!(found.processes.is_empty(), "the calling process is not listed");
    }

    #[test]
    fn arenas_are_found_by_name_or_magic() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        make_arena(&file("b"));
        fs::write(file("unspin-sysv-0-4026531839-rcu"), "noise").unwrap();
        fs::write(file("x"), "unspinA\x7fof another version").unwrap();
        fs::write(file("other"), "something else").unwrap();
        std::os::unix::fs::symlink(file("b"), file("unspin-sysv-link")).unwrap();
        let all = Found::all_in(folder.path()).unwrap();
        let names: Vec<&str> =
            all.iter().map(|found| found.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["b", "unspin-sysv-0-4026531839-rcu", "x"]);
        assert!(all[0].contents.is_ok() && all[1].contents.is_err() && all[2].contents.is_err());
        let ours = unspin_sys::namespace::Ipc::current().inode;
        assert_eq!((all[0].ipc_namespace(), all[1].ipc_namespace()), (Some(ours), Some(4_026_531_839)));
        assert_eq!(all[2].ipc_namespace(), None);
        assert!(matches!(Found::at(&file("other")), Err(ArenaError::Corrupt(_))));
        assert!(matches!(Found::at(&file("unspin-sysv-link")), Err(ArenaError::Corrupt(_))));
        assert!(Found::at(&file("absent")).unwrap().is_none());
    }

    /// Everything that leads to the segments is in the overwritten first pages. The names are found by searching the
    /// heap.
    #[test]
    fn removing_arena_without_header_removes_its_segments() {
        use unspin_sys::ipc::{shm_remove, shm_stat_any};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any name");
        let engine = make_arena(&path);
        let segments = [100, 5000].map(|size| engine.shmget(IPC_PRIVATE, size, 0o600).unwrap());
        let stranger = unspin_sys::ipc::shmget(IPC_PRIVATE, 100, 0o600).unwrap();
        // A segment whose entry is still there, but which no longer exists.
        let gone = engine.shmget(IPC_PRIVATE, 77, 0o600).unwrap();
        shm_remove(gone).unwrap();
        let noise: Vec<u8> = (0..1 << 21).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&noise, 0).unwrap();
        let all = Found::all_in(folder.path()).unwrap();
        assert!(matches!(all[0].contents, Err(ArenaError::Corrupt(_))), "{all:?}");
        assert_eq!(all[0].remove().unwrap(), Removed { segments: 2, refused: 0 });
        assert!(segments.into_iter().all(|id| shm_stat_any(id).is_err()) && !path.exists());
        shm_remove(stranger).expect("it is there still");
        // Neither header nor footer: the file cannot be identified.
        fs::write(&path, &noise).unwrap();
        assert!(matches!(Found::at(&path), Err(ArenaError::Corrupt(_))));
    }

    /// The creator of an arena can write any segment's name into it. Root removes only segments that the arena's owner
    /// has made.
    #[test]
    fn removing_forged_arena_keeps_segments_of_others() {
        use std::os::unix::fs::{PermissionsExt, chown};
        use unspin_sys::ipc::shm_stat_any;
        if unspin_sys::creds::Creds::current().uid != 0 {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED removing_forged_arena_keeps_segments_of_others: only root gives files away"
            );
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any name");
        let segment = make_arena(&path).shmget(IPC_PRIVATE, 100, 0o600).unwrap();
        let removed = |owner: u32, mode: u32| {
            let copy = folder.path().join("copy");
            fs::copy(&path, &copy).unwrap();
            fs::set_permissions(&copy, PermissionsExt::from_mode(mode)).unwrap();
            chown(&copy, Some(owner), None).unwrap();
            Found::at(&copy).unwrap().unwrap().remove().unwrap()
        };
        for mode in [0o600, 0o666] {
            assert_eq!(removed(65_534, mode), Removed { segments: 0, refused: 1 });
            assert!(shm_stat_any(segment).is_ok());
        }
        assert_eq!(removed(0, 0o600), Removed { segments: 1, refused: 0 });
        assert!(shm_stat_any(segment).is_err());
    }

    /// The parts that are read from outside: header and slots.
    #[test]
    fn inspection_of_overwritten_header_reports_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arena");
        make_arena(&path);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let noise: Vec<u8> = (0..1 << 16).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        // After the magic, the length, the kind and the layout.
        file.write_all_at(&noise, 24).unwrap();
        let found = Found::at(&path).unwrap().unwrap();
        assert!(found.contents.is_ok(), "what the header says cannot be checked from outside");
        file.write_all_at(&noise, 8).unwrap();
        assert!(matches!(
            Found::at(&path).unwrap().unwrap().contents,
            Err(ArenaError::Truncated(_) | ArenaError::Version(_))
        ));
        file.set_len(1 << 20).unwrap();
        assert!(matches!(Found::at(&path).unwrap().unwrap().contents, Err(ArenaError::Corrupt(_))));
    }
}
