//! The removal of an arena: its file, and the kernel's segments that have names in it.
//!
//! The file is read; it is not mapped, and the arena is not joined. The arena may be damaged, of another engine, or in
//! use by no process. A process that has it mapped, or has a segment attached, keeps that, as after `IPC_RMID`.

use super::SegmentInCreation;
use super::segment::{SegmentEntry, SegmentName};
use crate::arena_file::{self, ArenaError, HEAP_AT, Header, MAGIC};
use crate::class::Class;
use crate::store::heap::{self, Block};
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

/// The result of removing an arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Number of shared memory segments that were removed from the kernel.
    pub segments: usize,
    /// Number of segments that were not removed: another user than the arena's owner has made them, or we may not
    /// remove them.
    pub refused: usize,
}

/// Removes the arena at `path`, the arenas of other IPC namespaces beside it, and their segments in the kernel. The
/// arenas may be damaged; segments whose entries cannot be read are not removed. Segments of another IPC namespace than
/// ours are not removed either: they end with their namespace.
///
/// [`ArenaError::Corrupt`] if the file is not an arena: then it is not removed.
pub fn remove_arena(path: &Path) -> Result<Removed, ArenaError> {
    let mut removed = remove_one(path)?;
    // An arena of another namespace that cannot be removed disturbs no process, so errors are ignored.
    for other in sibling_arenas(path).filter_map(|path| remove_one(&path).ok()) {
        removed.segments += other.segments;
        removed.refused += other.refused;
    }
    Ok(removed)
}

fn remove_one(path: &Path) -> Result<Removed, ArenaError> {
    let file = arena_file::open_to_read(path).map_err(|e| ArenaError::io(path, e))?;
    if !arena_file::is_arena(&file) {
        return Err(ArenaError::Corrupt(path.into()));
    }
    // The file goes first, so that a process that starts now makes a new arena.
    fs::remove_file(path).map_err(|e| ArenaError::io(path, e))?;
    Ok(remove_segments(&file))
}

/// The paths of the arenas of other IPC namespaces beside the one at `path`.
fn sibling_arenas(path: &Path) -> impl Iterator<Item = PathBuf> {
    let mut beginning = path.file_name().unwrap_or_default().to_owned();
    beginning.push(arena_file::BESIDE);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().as_encoded_bytes().starts_with(beginning.as_encoded_bytes()))
        .map(|entry| entry.path())
}

/// Removes the kernel's segments that have names in an arena's file, as far as the file can be read.
pub(crate) fn remove_segments(file: &File) -> Removed {
    try_remove_segments(file).unwrap_or_default()
}

fn try_remove_segments(file: &File) -> io::Result<Removed> {
    if arena_file::namespace(file).relation(&Ipc::current()) != Relation::Same {
        return Ok(Removed::default());
    }
    let names = names(file)?;
    let making: SegmentInCreation = arena_file::load(file, offset_of!(Header, making) as u64)?;
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

/// Whether the kernel still has this segment, and not another one with the same id.
fn is_there(name: &SegmentName) -> bool {
    shm_stat_any(name.id).is_ok_and(|(id, status)| name.is(id, &status))
}

/// Whether the arena's owner has made the segment, according to the kernel. The arena's own data is not trusted: any
/// user with write permission may have written it, and root may remove segments of other users.
fn is_of_owner(arena: &Metadata, id: i32) -> bool {
    shm_stat_any(id).is_ok_and(|(_, status)| status.shm_perm.cuid == arena.uid())
}

/// The segments that have names: those in the table. If the table may have been overwritten, also those found anywhere
/// in the heap.
fn names(file: &File) -> io::Result<Vec<SegmentName>> {
    let magic: AtomicU64 = arena_file::load(file, offset_of!(Header, magic) as u64)?;
    // Relaxed: a private copy.
    let in_table = arena_file::load_objects::<SegmentEntry>(file, Class::Shm)
        .map(|all| all.map(|it| it.name()).collect());
    match (magic.load(Relaxed), in_table) {
        (MAGIC, Ok(names)) => Ok(names),
        (_, names) => {
            Ok(names.unwrap_or_else(|_| Vec::new()).into_iter().chain(names_in_heap(file)?).collect())
        }
    }
}

/// Bytes that are searched at a time.
const PAGE: usize = 4096;

/// All names in the heap, whether the table leads to them or not: blocks of the right size that contain a name. The
/// kernel then tells whether such a segment exists.
fn names_in_heap(file: &File) -> io::Result<Vec<SegmentName>> {
    const BLOCK: usize = heap::HEAD as usize + size_of::<SegmentEntry>();
    let mut names = Vec::new();
    let mut at = HEAP_AT;
    while let Some(data) = file::next_data(file, at).map_err(|e| io::Error::from_raw_os_error(e.0))? {
        at = data - data % PAGE as u64;
        let mut page = [0; PAGE + BLOCK];
        // An incomplete name at the end of the file is ignored.
        let _ = read_up_to(file, &mut page, at)?;
        for place in (0..PAGE).step_by(align_of::<SegmentEntry>()) {
            let head = arena_file::read::<Block>(&page[place..])
                .filter(|it| heap::is_head_of(it, size_of::<SegmentEntry>() as u64));
            let segment =
                head.and_then(|_| arena_file::read::<SegmentEntry>(&page[place + heap::HEAD as usize..]));
            names.extend(segment.map(|segment| segment.name()).filter(SegmentName::is_other_copy));
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
