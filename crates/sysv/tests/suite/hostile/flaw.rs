//! Mistakes of an engine that trusts the contents of its arena. The test must detect each of them; otherwise it could
//! not detect a defect of the engine either.

use std::fs::File;
use std::os::unix::fs::FileExt;
use unspin_sys::ipc::shm_remove;
use unspin_sysv::arena_parts::Part;

/// A mistake made on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// No mistake: the engine itself is tested.
    None,
    /// Follows a list to its end, although the list may have none.
    FollowsLinks,
    /// Copies as many bytes as the message's length field says.
    BelievesSizes,
    /// Removes the segment that a name says is its own.
    TrustsIds,
}

/// More links than there is room for.
const LONGEST: usize = 1 << 20;

impl Flaw {
    /// All mistakes.
    pub const FLAWS: [Flaw; 3] = [Flaw::FollowsLinks, Flaw::BelievesSizes, Flaw::TrustsIds];

    /// Makes it in an arena.
    pub fn commit(self, arena: &File, parts: &[Part]) -> Result<(), String> {
        let word = |at: u64| {
            let mut bytes = [0; 4];
            let _ = arena.read_exact_at(&mut bytes, at);
            u32::from_ne_bytes(bytes)
        };
        let named = |what: &'static str| parts.iter().filter(move |part| part.what == what);
        match self {
            Flaw::None => {}
            Flaw::FollowsLinks => {
                for slab in named("next slab") {
                    let links = std::iter::successors(Some(slab.at), |&at| Some(word(at).into()));
                    // A C program would go on.
                    let ends = links.take(LONGEST).any(|at| at == 0);
                    ends.then_some(()).ok_or("hostile: a list was followed for ever")?;
                }
            }
            Flaw::BelievesSizes => {
                for size in named("size of a message") {
                    let mut room = [0u8; 256];
                    // A C program would go on.
                    let copied = room.get_mut(..word(size.at) as usize);
                    copied.ok_or("hostile: a message was written beside the memory of its receiver")?.fill(1);
                }
            }
            Flaw::TrustsIds => named("id of a segment").for_each(|id| {
                let _ = shm_remove(word(id.at) as i32);
            }),
        }
        Ok(())
    }
}
