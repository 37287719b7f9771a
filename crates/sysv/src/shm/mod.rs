//! System V shared memory: the memory is the kernel's, the names are ours.
//!
//! A segment is made by the kernel, without a key (`IPC_PRIVATE`), and keeps the kernel's id. So attachments, their count
//! and times, owner and mode, `SHM_DEST`, `SHM_LOCK`, huge pages, and the end at the last detachment are the kernel's own,
//! and right whatever processes do and however they end; and an id means the same to a program outside, such as an X
//! server that is handed one. The arena has the *names*: which segment has which key, and which segments there are.
//!
//! Here nothing is remembered that the kernel may change. Whoever finds a name asks the kernel what has become of the
//! segment ([`Name::ask`]): it may be gone, by its last detachment or by a removal from outside; it may have lost its
//! key, by `IPC_RMID`. What is found gone is taken out of the table then.
//!
//! | module | what |
//! |---|---|
//! | `segment` | a segment's name in the arena; how it is told from later ones |
//! | `making` | the note that a creator leaves, by which a segment without a name is found if he dies |
//! | `get`, `attach`, `shmctl` | the calls |
//! | `listing` | the kernel's own list of segments, `/proc/sysvipc/shm` |
//! | `removal` | the end of an arena |

mod attach;
mod get;
mod listing;
mod making;
mod removal;
mod segment;
mod shmctl;

pub(crate) use listing::usage_of;
pub(crate) use making::{Making, recover};
pub(crate) use removal::remove_segments;
pub use removal::{Removed, remove_arena};
pub(crate) use segment::Segment;

use crate::anatomy::Part;
use crate::arena::Arena;
use crate::ipc::{self, Class, Id, Perm, Registry};
use core::mem::offset_of;
use segment::{Name, Now};
use unspin_sys::Errno;
use unspin_sys::ipc::ShmidDs;

/// The segment at an offset that the table gave; `None` for 0 and for what cannot be one.
fn find_segment(arena: &Arena, at: u64) -> Option<&Segment> {
    if at == 0 { None } else { arena.get::<Segment>(at) }
}

/// The segment under an index. In a read-side section, or under the registry lock.
fn find_index(arena: &Arena, index: usize) -> Option<Name> {
    find_segment(arena, ipc::find_index(arena, Class::Shm, index)).map(Segment::name)
}

/// The segment of `id`. In a read-side section, or under the registry lock.
fn find_id(arena: &Arena, id: i32) -> Option<Name> {
    find_index(arena, Id(id).index()).filter(|name| name.id == id)
}

/// Brings what the arena says of a segment up to what the kernel says; the segment, if it can be found by its key. Under
/// the registry lock.
fn settle(registry: &Registry<'_>, at: u64) -> Result<Option<ShmidDs>, Errno> {
    let Some(segment) = find_segment(registry.arena, at) else { return Ok(None) };
    match segment.name().ask()? {
        Now::Live(status) => return Ok(Some(status)),
        Now::Doomed(_) => registry.forget_key(at),
        Now::Gone => registry.remove(at, evict(registry.arena, at)),
    }
    Ok(None)
}

/// Marks the segment at an offset as removed; returns its bytes in the arena.
pub(crate) fn evict(arena: &Arena, at: u64) -> u64 {
    if let Some(segment) = find_segment(arena, at) {
        segment.perm.delete();
    }
    size_of::<Segment>() as u64
}

/// The name of a segment at an offset, and where in it the id stands.
pub(crate) fn parts(at: u64) -> [Part; 2] {
    let id = at + (offset_of!(Segment, perm) + offset_of!(Perm, id)) as u64;
    [Part::new("id of a segment", id, 4), Part::new("segment", at, size_of::<Segment>())]
}

/// Pages of the segment at an offset.
pub(crate) fn units_of(arena: &Arena, at: u64) -> u64 {
    find_segment(arena, at).map_or(0, |segment| segment.name().pages())
}
