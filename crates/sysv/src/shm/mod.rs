//! System V shared memory: the memory is the kernel's, the ids and keys are managed here.
//!
//! The kernel makes each segment, without a key (`IPC_PRIVATE`), and the segment keeps the kernel's id. So attachments,
//! their count and times, owner and mode, `SHM_DEST`, `SHM_LOCK`, huge pages, and the end at the last detachment are
//! the kernel's own. They are right whatever processes do and however they end. An id also means the same to a program
//! outside, such as an X server that is given one. The arena has the *names*: which segments there are, and which key
//! each has.
//!
//! No state is cached here that the kernel may change. A thread that finds a name asks the kernel about the segment
//! ([`SegmentName::ask`]). The segment may be gone, by its last detachment or by a removal from outside; it may have
//! lost its key, by `IPC_RMID`. The thread that finds a segment gone takes its name out of the table.
//!
//! | module | contents |
//! |---|---|
//! | `segment` | a segment's name in the arena; how the segment is told from later ones with its id |
//! | `creation` | the note by which a segment without a name is found if its creator dies |
//! | `shmget`, `attach`, `shmctl` | the calls |
//! | `listing` | the kernel's own list of segments, `/proc/sysvipc/shm` |
//! | `removal` | the removal of an arena |

mod attach;
mod creation;
mod listing;
mod removal;
mod segment;
mod shmctl;
mod shmget;

pub(crate) use creation::{SegmentInCreation, recover};
pub(crate) use listing::usage_of;
pub(crate) use removal::remove_segments;
pub use removal::{Removed, remove_arena};
pub(crate) use segment::SegmentEntry;

use crate::class::Class;
use crate::registry::{self, Id, Perm, Registry};
use crate::store::Arena;
use crate::store::part::Part;
use core::mem::offset_of;
use segment::{KernelState, SegmentName};
use unspin_sys::Errno;
use unspin_sys::ipc::ShmidDs;

/// The segment at an offset that the table gave. `None` for 0 and for an offset that cannot be a segment.
fn find_segment(arena: &Arena, at: u64) -> Option<&SegmentEntry> {
    if at == 0 { None } else { arena.get::<SegmentEntry>(at) }
}

/// The name of the segment with this index. The caller is in a read-side section, or holds the registry lock.
fn find_index(arena: &Arena, index: usize) -> Option<SegmentName> {
    find_segment(arena, registry::find_index(arena, Class::Shm, index)).map(SegmentEntry::name)
}

/// The name of the segment of `id`. The caller is in a read-side section, or holds the registry lock.
fn find_id(arena: &Arena, id: i32) -> Option<SegmentName> {
    find_index(arena, Id(id).index()).filter(|name| name.id == id)
}

/// Updates the arena's entry for a segment to the kernel's state. Returns the segment's status if it can still be found
/// by its key. The caller holds the registry lock.
fn refresh(registry: &Registry<'_>, at: u64) -> Result<Option<ShmidDs>, Errno> {
    let Some(segment) = find_segment(registry.arena, at) else { return Ok(None) };
    match segment.name().ask()? {
        KernelState::Live(status) => return Ok(Some(status)),
        KernelState::MarkedForRemoval(_) => registry.forget_key(at),
        KernelState::Gone => registry.remove(at, evict(registry.arena, at)),
    }
    Ok(None)
}

/// Marks the segment at an offset as removed. Returns the size of its entry in the arena, in bytes.
pub(crate) fn evict(arena: &Arena, at: u64) -> u64 {
    if let Some(segment) = find_segment(arena, at) {
        segment.perm.delete();
    }
    size_of::<SegmentEntry>() as u64
}

/// Locations of the entry of a segment at an offset, and of its id.
pub(crate) fn parts(at: u64) -> [Part; 2] {
    let id = at + (offset_of!(SegmentEntry, perm) + offset_of!(Perm, id)) as u64;
    [Part::new("id of a segment", id, 4), Part::new("segment", at, size_of::<SegmentEntry>())]
}

/// Size in pages of the segment at an offset.
pub(crate) fn units_of(arena: &Arena, at: u64) -> u64 {
    find_segment(arena, at).map_or(0, |segment| segment.name().pages())
}
