//! Making and joining an arena's file.

use super::{Arena, ArenaError, HEAP_AT, Header, MAGIC, PEOPLE_AT, SLOTS_AT};
use crate::Kind;
use crate::participant::Participant;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::mem::Mapping;

/// How to make an arena that is not there yet.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of the file, which is sparse: address space, not memory. A semaphore takes 64 bytes of it.
    pub bytes: u64,
    /// Permission bits of the file. Whoever may write it may do to its semaphores what he likes: permission
    /// checks among those who share an arena are cooperative.
    pub mode: u32,
}

impl Default for Options {
    /// 512 MiB, of which 370 MiB are left for some six million semaphores; for its owner only.
    fn default() -> Self {
        Options { bytes: 512 << 20, mode: 0o600 }
    }
}

/// Room for the fixed part and a MiB of heap.
pub(super) const SMALLEST: u64 = HEAP_AT + (1 << 20);

const O_NOFOLLOW: i32 = 0o400000; // fcntl.h, x86-64

impl Arena {
    /// Joins the arena at `path`, or makes it.
    pub fn open(path: &Path, kind: Kind, options: &Options) -> Result<Arena, ArenaError> {
        if options.bytes < SMALLEST {
            return Err(ArenaError::TooSmall(options.bytes));
        }
        loop {
            match open_file(path) {
                Ok(file) => return join(path, file, kind),
                Err(e) if e.kind() == ErrorKind::NotFound => match create(path, kind, options) {
                    Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                    Err(e) => return Err(ArenaError::io(path, e)),
                    Ok(()) => continue,
                },
                Err(e) => return Err(ArenaError::io(path, e)),
            }
        }
    }
}

fn open_file(path: &Path) -> Result<File, Error> {
    OpenOptions::new().read(true).write(true).custom_flags(O_NOFOLLOW).open(path)
}

fn join(path: &Path, file: File, kind: Kind) -> Result<Arena, ArenaError> {
    let bytes = file.metadata().map_err(|e| ArenaError::io(path, e))?.size();
    if bytes < SLOTS_AT {
        return Err(ArenaError::Corrupt(path.into()));
    }
    let map = Mapping::shared(&file, bytes as usize).map_err(|e| os_error(path, e))?;
    let arena = Arena::new(map);
    check(path, arena.header(), bytes, kind)?;
    Ok(arena)
}

fn check(path: &Path, header: &Header, bytes: u64, kind: Kind) -> Result<(), ArenaError> {
    // Acquire: partner of the Release in `fill`, although linking the file into place orders as well.
    let magic = header.magic.load(Acquire);
    if magic & !(0xFF << 56) != MAGIC & !(0xFF << 56) {
        return Err(ArenaError::Corrupt(path.into()));
    }
    // Relaxed (all): immutable.
    if magic != MAGIC || header.layout.load(Relaxed) as usize != size_of::<Participant>() {
        return Err(ArenaError::Version(path.into()));
    }
    if header.bytes.load(Relaxed) != bytes || bytes < SMALLEST {
        return Err(ArenaError::CutShort(path.into()));
    }
    match Kind::from_number(header.kind.load(Relaxed)) {
        Some(made_for) if made_for == kind => Ok(()),
        Some(made_for) => Err(ArenaError::Engine(path.into(), made_for.name())),
        None => Err(ArenaError::Corrupt(path.into())),
    }
}

fn create(path: &Path, kind: Kind, options: &Options) -> Result<(), Error> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".new.{}.{}", unspin_sys::process::tid(), unspin_sys::clock::monotonic_ns()));
    let temporary = PathBuf::from(temporary);
    let result = fill(&temporary, kind, options).and_then(|()| std::fs::hard_link(&temporary, path));
    let _ = std::fs::remove_file(&temporary);
    result
}

fn fill(path: &Path, kind: Kind, options: &Options) -> Result<(), Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(options.mode)
        .custom_flags(O_NOFOLLOW)
        .open(path)?;
    // The mode that was asked for, whatever the umask.
    file.set_permissions(std::fs::Permissions::from_mode(options.mode))?;
    let bytes = options.bytes.next_multiple_of(4096);
    // Asked first: beyond the limit the kernel sends SIGXFSZ, which kills.
    if bytes > unspin_sys::limits::file_size() {
        return Err(ErrorKind::FileTooLarge.into());
    }
    file.set_len(bytes)?;
    let map = Mapping::shared(&file, bytes as usize).map_err(into_io)?;
    let arena = Arena::new(map);
    arena.reserve(0, PEOPLE_AT).map_err(into_io)?;
    let header = arena.header();
    // Relaxed (all): nobody else knows the file; the Release below, and link(2), publish it.
    header.bytes.store(bytes, Relaxed);
    header.kind.store(kind.number(), Relaxed);
    header.layout.store(size_of::<Participant>() as u32, Relaxed);
    header.heap.0.init(HEAP_AT);
    crate::ipc::Registry::init(&arena).map_err(into_io)?;
    // Release: partner of the Acquire in `check`.
    header.magic.store(MAGIC, Release);
    Ok(())
}

fn into_io(e: unspin_sys::Errno) -> Error {
    Error::from_raw_os_error(e.0)
}

fn os_error(path: &Path, e: unspin_sys::Errno) -> ArenaError {
    ArenaError::io(path, into_io(e))
}

/// What an arena's engine was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// How often a thread made its first call. None: no System V semaphore call came to the engine.
    pub joined: u64,
    /// Calls that it refused because it cannot do them yet (`SEM_UNDO`): whoever made them did something else than under
    /// the kernel.
    pub refused: u64,
}

/// The account of the arena at `path`. Reads the file without joining the arena; without a file nobody asked for anything.
pub fn account(path: &Path) -> Result<Account, Error> {
    use std::os::unix::fs::FileExt;
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Account::default()),
        opened => opened?,
    };
    let word = |offset: usize| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, offset as u64).map(|()| u64::from_ne_bytes(bytes))
    };
    Ok(Account {
        joined: word(core::mem::offset_of!(Header, joined))?,
        refused: word(core::mem::offset_of!(Header, refused))?,
    })
}
