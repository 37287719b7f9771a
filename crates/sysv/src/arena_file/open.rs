//! Creating an arena's file, and joining one.

use super::default_path::is_usual;
use super::error::ArenaError;
use super::layout::{Footer, HEAP_AT, Header, MAGIC, PARTICIPANTS_AT, POISONED, SLOTS_AT, SMALLEST};
use super::outside::{O_NOFOLLOW, is_magic, namespace};
use crate::Kind;
use crate::class::Class;
use crate::participant::ParticipantRecord;
use crate::registry::Registry;
use crate::store::{Arena, PAGE};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::creds::Creds;
use unspin_sys::mem::Mapping;
use unspin_sys::namespace::{Ipc, Relation};
use unspin_sys::{Errno, file, file_lock};
use unspin_waiting::PollParameters;

/// How to open an engine, and how to create its arena if that does not exist yet.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of the file in bytes. The file is sparse, so this is address space, not memory. A semaphore takes 64
    /// bytes of it.
    pub bytes: u64,
    /// Permission bits of the file; only 0777 is used. A user who may write the file may change its semaphores at will:
    /// permission checks between users of one arena are cooperative.
    pub mode: u32,
    /// What it costs on this machine to wake a thread that sleeps, in nanoseconds. A waiting thread polls about as long
    /// before it sleeps. `unspin run` measures it. 0: no thread polls.
    pub wake_up_ns: u64,
}

impl Default for Options {
    /// 512 MiB, of which 230 MiB are left for some three million semaphores; accessible to its owner only; the cost of a
    /// wake-up on a virtual machine, 40 µs.
    fn default() -> Self {
        Options { bytes: 512 << 20, mode: 0o600, wake_up_ns: PollParameters::ASSUMED_WAKE_UP_NS }
    }
}

impl Arena {
    /// Joins the arena at `path`, or creates it. If that one belongs to another IPC namespace, it uses the arena of our
    /// namespace beside it: see [`sibling_path`]. An arena whose namespace no longer exists is replaced.
    pub fn open(path: &Path, kind: Kind, options: &Options) -> Result<Arena, ArenaError> {
        if options.bytes < SMALLEST {
            return Err(ArenaError::TooSmall(options.bytes));
        }
        let here = Ipc::current();
        match open_in(path, kind, options, &here)? {
            Some(arena) => Ok(arena),
            None => {
                let path = sibling_path(path, &here);
                open_in(&path, kind, options, &here)?.ok_or(ArenaError::Corrupt(path))
            }
        }
    }

    /// Joins the arena that [`Arena::open`] would join; `None` if there is none.
    pub fn find(path: &Path, kind: Kind) -> Result<Option<Arena>, ArenaError> {
        let here = Ipc::current();
        let found = match seek(path, &here)? {
            SearchResult::Elsewhere => {
                let path = sibling_path(path, &here);
                (seek(&path, &here)?, path)
            }
            sought => (sought, path.into()),
        };
        match found {
            (SearchResult::Here(file), path) => join(&path, file, kind).map(Some),
            (SearchResult::Nothing | SearchResult::Outlived(_), _) => Ok(None),
            (SearchResult::Elsewhere, path) => Err(ArenaError::Corrupt(path)),
        }
    }
}

/// Path of the arena of an IPC namespace if `path` has the arena of another namespace.
fn sibling_path(path: &Path, here: &Ipc) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(format!("{BESIDE}{}", here.inode));
    path.into()
}

/// Separates the path of an arena and the inode number of another IPC namespace.
pub(crate) const BESIDE: &str = ".ns-";

/// What a path leads to.
enum SearchResult {
    Nothing,
    /// An arena of this IPC namespace, or a file that is not an arena.
    Here(File),
    /// An arena whose namespace no longer exists, and whose inode number ours has now.
    Outlived(File),
    /// An arena of another namespace.
    Elsewhere,
}

fn seek(path: &Path, here: &Ipc) -> Result<SearchResult, ArenaError> {
    match open_file(path) {
        // Checked before any content is trusted, and on the opened file: its owner is fixed, whereas the name may be
        // given to another file.
        Ok(file) if is_usual(path) && !is_ours(&file).map_err(|e| ArenaError::io(path, e))? => {
            Err(ArenaError::DefaultPathTaken(path.into()))
        }
        Ok(file) => Ok(match namespace(&file).relation(here) {
            Relation::Same => SearchResult::Here(file),
            Relation::Successor => SearchResult::Outlived(file),
            Relation::Other => SearchResult::Elsewhere,
        }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(SearchResult::Nothing),
        Err(e) => Err(ArenaError::io(path, e)),
    }
}

/// Joins the arena at `path`, or creates it; `None` if it belongs to another namespace.
fn open_in(path: &Path, kind: Kind, options: &Options, here: &Ipc) -> Result<Option<Arena>, ArenaError> {
    loop {
        match seek(path, here)? {
            SearchResult::Here(file) => return join(path, file, kind).map(Some),
            SearchResult::Elsewhere => return Ok(None),
            SearchResult::Outlived(file) => clear(path, &file).map_err(|e| ArenaError::io(path, e))?,
            SearchResult::Nothing => match create(path, kind, options, here) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                    return Err(ArenaError::Io(path.into(), e));
                }
                _ => {}
            },
        }
    }
}

/// Removes a file, unless another process has removed it and there may be a new one under the name. A process must hold
/// the lock of the very file that it removes, so only one removes it.
fn clear(path: &Path, file: &File) -> Result<(), Error> {
    file_lock::lock(file).map_err(into_io)?;
    match file::is_named(file, path) {
        Ok(true) => file::remove(path).map_err(into_io),
        Err(e) if e != Errno::ENOENT => Err(into_io(e)),
        _ => Ok(()),
    }
}

fn open_file(path: &Path) -> Result<File, Error> {
    OpenOptions::new().read(true).write(true).custom_flags(O_NOFOLLOW).open(path)
}

/// Whether the calling user owns a file. Being able to open it proves nothing: root may open files of any user.
fn is_ours(file: &File) -> Result<bool, Error> {
    Ok(file.metadata()?.uid() == Creds::current().uid)
}

fn join(path: &Path, file: File, kind: Kind) -> Result<Arena, ArenaError> {
    let bytes = file::bytes(&file).map_err(|e| os_error(path, e))?;
    if bytes < SLOTS_AT {
        return Err(ArenaError::Corrupt(path.into()));
    }
    let map = Mapping::map_shared(&file, bytes as usize).map_err(|e| os_error(path, e))?;
    let arena = Arena::new(map);
    check(path, arena.header(), bytes, kind)?;
    Ok(arena)
}

fn check(path: &Path, header: &Header, bytes: u64, kind: Kind) -> Result<(), ArenaError> {
    match validate(path, header, bytes)? {
        made_for if made_for == kind => Ok(()),
        made_for => Err(ArenaError::Engine(path.into(), made_for.name())),
    }
}

/// Checks that this is the first page of an arena of `bytes` bytes that this version made. Returns its engine.
pub(super) fn validate(path: &Path, header: &Header, bytes: u64) -> Result<Kind, ArenaError> {
    if !is_magic(&header.magic) {
        return Err(ArenaError::Corrupt(path.into()));
    }
    // Relaxed (all): immutable; `is_magic` has acquired.
    if header.magic.load(Relaxed) == POISONED {
        return Err(ArenaError::Overwritten(path.into()));
    }
    if header.magic.load(Relaxed) != MAGIC
        || header.layout.load(Relaxed) as usize != size_of::<ParticipantRecord>()
    {
        return Err(ArenaError::Version(path.into()));
    }
    if header.bytes.load(Relaxed) != bytes || bytes < SMALLEST {
        return Err(ArenaError::Truncated(path.into()));
    }
    Kind::from_number(header.kind.load(Relaxed)).ok_or_else(|| ArenaError::Corrupt(path.into()))
}

fn create(path: &Path, kind: Kind, options: &Options, here: &Ipc) -> Result<(), Error> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".new.{}.{}", unspin_sys::process::tid(), unspin_sys::clock::monotonic_ns()));
    let temporary = PathBuf::from(temporary);
    let result = fill(&temporary, kind, options, here).and_then(|()| std::fs::hard_link(&temporary, path));
    let _ = file::remove(&temporary);
    result
}

fn fill(path: &Path, kind: Kind, options: &Options, here: &Ipc) -> Result<(), Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(options.mode & 0o777)
        .custom_flags(O_NOFOLLOW)
        .open(path)?;
    // Set the requested mode whatever the umask.
    file::set_mode(&file, options.mode & 0o777).map_err(into_io)?;
    let bytes = options.bytes.checked_next_multiple_of(PAGE).ok_or(ErrorKind::FileTooLarge)?;
    // Checked first: beyond the limit the kernel sends SIGXFSZ, which kills the process.
    if bytes > unspin_sys::limits::file_size() {
        return Err(ErrorKind::FileTooLarge.into());
    }
    file.set_len(bytes)?;
    let map = Mapping::map_shared(&file, bytes as usize).map_err(into_io)?;
    let arena = Arena::new(map);
    arena.reserve(0, PARTICIPANTS_AT).map_err(into_io)?;
    arena.reserve(bytes - PAGE, PAGE).map_err(into_io)?;
    let header = arena.header();
    // Relaxed (all): no other process knows the file yet; the Release below and link(2) publish it.
    header.bytes.store(bytes, Relaxed);
    header.kind.store(kind.number(), Relaxed);
    if let Some(footer) = arena.get::<Footer>(bytes - PAGE) {
        footer.magic.store(MAGIC, Relaxed);
        footer.namespace[0].store(here.inode, Relaxed);
        footer.namespace[1].store(here.id, Relaxed);
    }
    header.namespace[0].store(here.inode, Relaxed);
    header.namespace[1].store(here.id, Relaxed);
    header.layout.store(size_of::<ParticipantRecord>() as u32, Relaxed);
    header.heap.0.init(HEAP_AT);
    for class in Class::ALL {
        Registry::init(&arena, class).map_err(into_io)?;
    }
    // Release: partner of the Acquire in `is_magic`.
    header.magic.store(MAGIC, Release);
    Ok(())
}

fn into_io(e: unspin_sys::Errno) -> Error {
    Error::from_raw_os_error(e.0)
}

fn os_error(path: &Path, e: unspin_sys::Errno) -> ArenaError {
    ArenaError::io(path, into_io(e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;
    use std::io::Write as _;
    use std::os::unix::fs::{FileExt, MetadataExt};

    fn make_arena(path: &Path) -> u64 {
        Arena::open(path, Kind::Rcu, &Options::default()).unwrap();
        std::fs::metadata(path).unwrap().ino()
    }

    /// Of the mode only the permission bits are used: a set-uid file that every user may write would be dangerous.
    /// Impossible sizes are refused.
    #[test]
    fn open_uses_permission_bits_and_refuses_impossible_sizes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arena");
        let asked = Options { mode: 0o7640, ..Options::default() };
        Arena::open(&path, Kind::Rcu, &asked).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        let asked = Options { bytes: u64::MAX, ..Options::default() };
        let refused = Arena::open(&dir.path().join("b"), Kind::Rcu, &asked);
        assert!(matches!(refused, Err(ArenaError::Io(_, e)) if e.kind() == ErrorKind::FileTooLarge));
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn arena_of_ended_namespace_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arena");
        let (first, again) = (make_arena(&path), make_arena(&path));
        assert_eq!(first, again);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let Ipc { inode, id } = namespace(&file);
        let at = offset_of!(Header, namespace) as u64;
        for other in [id + 1, id + 2] {
            let before = make_arena(&path);
            OpenOptions::new()
                .write(true)
                .open(&path)
                .unwrap()
                .write_all_at(&other.to_ne_bytes(), at + 8)
                .unwrap();
            if id == 0 {
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED an_arena_that_has_outlived_its_namespace: Linux before 6.18 has no ids of namespaces"
                );
                return;
            }
            assert!(Arena::find(&path, Kind::Rcu).unwrap().is_none(), "its namespace has ended");
            assert!(path.exists(), "find removes nothing");
            assert_ne!(make_arena(&path), before);
        }
        // An arena of another namespace that still exists is left alone.
        let theirs = make_arena(&path);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&(inode + 1).to_ne_bytes(), at).unwrap();
        Arena::open(&path, Kind::Rcu, &Options::default()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), theirs);
        assert!(sibling_path(&path, &Ipc::current()).exists());
    }
}
