//! Reading an arena's file without joining the arena. The file may be damaged, or not be an arena.

use super::layout::{Footer, Header, MAGIC, POISONED};
use crate::class::Class;
use crate::registry::{Root, Table};
use crate::store::{PAGE, Shared};
use core::mem::offset_of;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use unspin_sync::atomic::AtomicU64;
use unspin_sync::atomic::Ordering::Acquire;
use unspin_sys::file;
use unspin_sys::namespace::Ipc;

// fcntl.h, x86-64
const O_NONBLOCK: i32 = 0o4000;
pub(super) const O_NOFOLLOW: i32 = 0o400000;

/// Opens a file that may or may not be an arena. Does not block on a pipe that has no writer.
pub(crate) fn open_to_read(path: &Path) -> Result<File, Error> {
    OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)
}

/// Reads a value of an arena from its file, without joining the arena.
pub(crate) fn load<T: Shared>(file: &File, offset: u64) -> Result<T, Error> {
    fill_in(|bytes| file.read_exact_at(bytes, offset))
}

/// Decodes a value of an arena from its bytes; `None` if there are too few.
pub(crate) fn read<T: Shared>(from: &[u8]) -> Option<T> {
    let from = from.get(..size_of::<T>())?;
    fill_in(|bytes| {
        bytes.copy_from_slice(from);
        Ok(())
    })
    .ok()
}

fn fill_in<T: Shared>(with: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<T, Error> {
    let mut thing = core::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: 1. the bytes are those of `thing`, to which no other reference exists; 2. zeroed, so that they are
    // initialised.
    let bytes = unsafe { core::slice::from_raw_parts_mut(thing.as_mut_ptr().cast::<u8>(), size_of::<T>()) };
    with(bytes)?;
    // SAFETY: `Shared` promises that any bits are a T.
    Ok(unsafe { thing.assume_init() })
}

/// The objects of a class, as far as they can be read.
pub(crate) fn load_objects<T: Shared>(file: &File, class: Class) -> Result<impl Iterator<Item = T>, Error> {
    let root: Root = load(file, Header::root_offset(class))?;
    let table = root.table.into_inner();
    let count = load::<Table>(file, table)?.capacity();
    Ok((0..count as usize).filter_map(move |index| {
        let entry: AtomicU64 = load(file, Table::entry_offset(table, index)?).ok()?;
        load(file, Some(entry.into_inner()).filter(|&at| at != 0)?).ok()
    }))
}

/// The IPC namespace of an arena, from its header, or from its footer if the header was overwritten. The default value
/// (unknown) if the file is not an arena of this version.
pub(crate) fn namespace(file: &File) -> Ipc {
    let word = |at: u64| load::<AtomicU64>(file, at).map_or(0, AtomicU64::into_inner);
    let at = |namespace: u64| Ipc { inode: word(namespace), id: word(namespace + size_of::<u64>() as u64) };
    let foot = foot(file);
    match (word(offset_of!(Header, magic) as u64), word(foot)) {
        (MAGIC | POISONED, _) => at(offset_of!(Header, namespace) as u64),
        (_, MAGIC) => at(foot + offset_of!(Footer, namespace) as u64),
        _ => Ipc::default(),
    }
}

/// Whether a file is an arena, of any version and in any state: judged by its first word, or by its footer if the first
/// word was overwritten.
pub(crate) fn is_arena(file: &File) -> bool {
    let is_magic_at = |at| load(file, at).is_ok_and(|word| is_magic(&word));
    is_magic_at(offset_of!(Header, magic) as u64) || is_magic_at(foot(file))
}

/// Offset of an arena's footer; for a file that is too short, an offset beyond its end.
fn foot(file: &File) -> u64 {
    file::bytes(file).ok().and_then(|bytes| bytes.checked_sub(PAGE)).unwrap_or(u64::MAX / 2)
}

/// Whether the first word of a file is that of an arena of any version.
pub(super) fn is_magic(word: &AtomicU64) -> bool {
    // Acquire: partner of the Release in `file::fill`. Linking the file into place orders as well.
    word.load(Acquire) & !(0xFF << 56) == MAGIC & !(0xFF << 56)
}

/// How many times a thread has joined the arena at `path`. A thread joins with its first call. 0 if no System V call
/// reached the engine, or if there is no arena.
pub fn times_joined(path: &Path) -> Result<u64, Error> {
    match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(0),
        opened => load(&opened?, offset_of!(Header, joined) as u64).map(AtomicU64::into_inner),
    }
}
