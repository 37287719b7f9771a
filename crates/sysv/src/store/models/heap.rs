//! Replaces the heap in models. Models do not kill threads that allocate; the tests that kill after every instruction
//! do.

use crate::participant::ParticipantRecord;
use crate::store::Arena;
use unspin_sys::Errno;

pub(crate) fn allocate(arena: &Arena, _: &ParticipantRecord, bytes: u64) -> Result<u64, Errno> {
    arena.allocate(bytes).ok_or(Errno::ENOMEM)
}

pub(crate) fn publish(_: &ParticipantRecord) {}

pub(crate) fn unpublish(_: &ParticipantRecord, _: u64) {}
