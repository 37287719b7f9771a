//! The object that a hook was called for, and its keys.

use unspin_wire::{Key, RecordKind};

/// The object that a hook was called for.
#[derive(Clone, Copy)]
pub struct Object {
    /// The kind of object, or how it is used.
    pub kind: RecordKind,
    /// The address of the object.
    pub address: usize,
}

impl Object {
    /// The object at a pointer.
    #[inline(always)]
    pub fn new<T>(kind: RecordKind, pointer: *const T) -> Object {
        Object { kind, address: pointer as usize }
    }

    /// The key of the object in the list of locks that a thread holds.
    #[inline(always)]
    pub fn held(self) -> u64 {
        Key::new(self.kind, self.address, 0).lock
    }

    #[inline(always)]
    /// The key of the row that counts the uses of the object by this caller.
    pub fn used_by(self, caller: usize) -> Key {
        Key::new(self.kind, self.address, caller)
    }
}
