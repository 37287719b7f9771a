//! The end of an arena: its file, and the kernel's segments that have names in it.
//!
//! The file is read, not mapped and not joined: it may be damaged, of another engine, or without any process that uses
//! it. Who has it mapped, or a segment attached, keeps that, as after `IPC_RMID`.

use super::Making;
use super::segment::{Name, Segment};
use crate::arena::{self, ArenaError, HEAP_AT, Header, MAGIC};
use crate::heap::{self, Block};
use crate::ipc::Class;
use core::mem::offset_of;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use unspin_sync::atomic::AtomicU64;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::file;
use unspin_sys::ipc::{shm_remove, shm_stat_any};
use unspin_sys::namespace::{Ipc, Relation};

/// What the removal of an arena came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Shared memory segments that were removed from the kernel with it.
    pub segments: usize,
    /// Those that stay: made by another user than the arena's owner, or not ours to remove.
    pub refused: usize,
}

/// Removes the arena at `path`, those that other IPC namespaces have beside it, and what they have in the kernel. They need
/// not be whole; what cannot be read of one is not looked for. Segments of another IPC namespace than ours are left alone:
/// they go with it.
///
/// [`ArenaError::Corrupt`] if the file is no arena: then it stays.
pub fn remove_arena(path: &Path) -> Result<Removed, ArenaError> {
    let mut removed = remove_one(path)?;
    // One that cannot be removed is in nobody's way.
    for other in beside(path).filter_map(|path| remove_one(&path).ok()) {
        removed.segments += other.segments;
        removed.refused += other.refused;
    }
    Ok(removed)
}

fn remove_one(path: &Path) -> Result<Removed, ArenaError> {
    let file = arena::open_to_read(path).map_err(|e| ArenaError::io(path, e))?;
    if !arena::is_arena(&file) {
        return Err(ArenaError::Corrupt(path.into()));
    }
    // First the file: whoever comes now makes another one.
    fs::remove_file(path).map_err(|e| ArenaError::io(path, e))?;
    Ok(remove_segments(&file))
}

/// The arenas that other IPC namespaces have beside the one at `path`.
fn beside(path: &Path) -> impl Iterator<Item = PathBuf> {
    let mut beginning = path.file_name().unwrap_or_default().to_owned();
    beginning.push(arena::BESIDE);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().as_encoded_bytes().starts_with(beginning.as_encoded_bytes()))
        .map(|entry| entry.path())
}

/// Removes the kernel's segments that have names in an arena's file, as far as it can be read.
pub(crate) fn remove_segments(file: &File) -> Removed {
    try_remove_segments(file).unwrap_or_default()
}

fn try_remove_segments(file: &File) -> io::Result<Removed> {
    if arena::namespace(file).relation(&Ipc::current()) != Relation::Same {
        return Ok(Removed::default());
    }
    let names = names(file)?;
    let making: Making = arena::load(file, offset_of!(Header, making) as u64)?;
    let orphan = making.orphan(&|id| names.iter().any(|name| name.id == id));
    let about = file.metadata()?;
    let named = names.iter().filter(|name| is_there(name)).map(|name| name.id);
    let ids: BTreeSet<i32> = named.chain(orphan).collect();
    let mut removed = Removed::default();
    for id in ids {
        match is_of_owner(&about, id) && shm_remove(id).is_ok() {
            true => removed.segments += 1,
            false => removed.refused += 1,
        }
    }
    Ok(removed)
}

/// Whether the kernel has the segment: not another one under the same id.
fn is_there(name: &Name) -> bool {
    shm_stat_any(name.id).is_ok_and(|(id, status)| name.is(id, &status))
}

/// Whether the arena's owner has made it. The kernel is asked: what an arena says can have been written by anybody who may, and
/// root may remove what is not theirs.
fn is_of_owner(arena: &Metadata, id: i32) -> bool {
    shm_stat_any(id).is_ok_and(|(_, status)| status.shm_perm.cuid == arena.uid())
}

/// The segments that have names: those in the table, and those that lie about in the heap, if the table can have been
/// overwritten.
fn names(file: &File) -> io::Result<Vec<Name>> {
    let magic: AtomicU64 = arena::load(file, offset_of!(Header, magic) as u64)?;
    // Relaxed: a copy, which nobody else has.
    let in_table =
        arena::load_objects::<Segment>(file, Class::Shm).map(|all| all.map(|it| it.name()).collect());
    match (magic.load(Relaxed), in_table) {
        (MAGIC, Ok(names)) => Ok(names),
        (_, names) => Ok(names.unwrap_or_else(|_| Vec::new()).into_iter().chain(scattered(file)?).collect()),
    }
}

/// Bytes that are looked through at a time.
const PAGE: usize = 4096;

/// All names in the heap, whether anything leads to them or not: blocks of that size with what a name consists of. Whether it
/// is one the kernel says, who has such a segment or has not.
fn scattered(file: &File) -> io::Result<Vec<Name>> {
    const BLOCK: usize = heap::HEAD as usize + size_of::<Segment>();
    let mut names = Vec::new();
    let mut at = HEAP_AT;
    while let Some(data) = file::next_data(file, at).map_err(|e| io::Error::from_raw_os_error(e.0))? {
        at = data - data % PAGE as u64;
        let mut page = [0; PAGE + BLOCK];
        // What is missing at the end is no name.
        let _ = read_up_to(file, &mut page, at)?;
        for place in (0..PAGE).step_by(align_of::<Segment>()) {
            let head = arena::read::<Block>(&page[place..])
                .filter(|it| heap::is_head_of(it, size_of::<Segment>() as u64));
            let segment = head.and_then(|_| arena::read::<Segment>(&page[place + heap::HEAD as usize..]));
            names.extend(segment.map(|segment| segment.name()).filter(Name::is_of_here));
        }
        at += PAGE as u64;
    }
    Ok(names)
}

fn read_up_to(file: &File, page: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < page.len() {
        match file.read_at(&mut page[done..], at + done as u64)? {
            0 => break,
            more => done += more,
        }
    }
    Ok(done)
}
