//! Reading an arena from outside, without joining it.

use super::error::ArenaError;
use super::layout::PARTICIPANTS_AT;
use super::open::validate;
use super::outside::open_to_read;
use crate::Kind;
use crate::store::Arena;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use unspin_sys::mem::Mapping;

/// A copy of an arena's header and slots, without the participants' records. Participants do not notice that it is
/// made. It cannot fault if the arena is damaged or truncated meanwhile, and writes to it do not reach the arena.
#[derive(Debug)]
pub(crate) struct HeaderCopy {
    arena: Arena,
    /// The memory behind `arena`.
    _memory: Mapping,
    /// The engine that the arena was made for.
    pub kind: Kind,
    /// The arena's own file, to read its heap: see [`super::load_objects`].
    pub file: File,
}

impl HeaderCopy {
    /// Reads the arena at `path`.
    pub fn of(path: &Path) -> Result<HeaderCopy, ArenaError> {
        let failed = |error| ArenaError::io(path, error);
        let file = open_to_read(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.size();
        if bytes < PARTICIPANTS_AT {
            return Err(ArenaError::Corrupt(path.into()));
        }
        let memory = copy(&file).map_err(failed)?;
        // SAFETY: the memory is in the same value as the arena, which is not handed out without it.
        let arena = unsafe { Arena::over(&memory) };
        let kind = validate(path, arena.header(), bytes)?;
        Ok(HeaderCopy { arena, _memory: memory, kind, file })
    }

    /// The copy. It ends after the slots.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
}

fn copy(file: &File) -> Result<Mapping, std::io::Error> {
    let memory = Mapping::map_wiped_on_fork(PARTICIPANTS_AT as usize)
        .map_err(|errno| std::io::Error::from_raw_os_error(errno.0))?;
    // SAFETY: 1. memory of that size, mapped just now: no other reference to it exists; 2. it is zeroed, so the bytes
    // are initialised.
    let bytes = unsafe { core::slice::from_raw_parts_mut(memory.start().as_ptr(), memory.len()) };
    file.read_exact_at(bytes, 0)?;
    Ok(memory)
}
