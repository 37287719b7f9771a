//! Names for the stacks of programs.

use super::spaces::{ProcessSpace, SpaceId, Spaces};
use std::cell::RefCell;
use std::collections::HashMap;
use unspin_symbols::{AddressSpace, Symbols};

/// A frame of a program's stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UserFrame {
    /// Function and offset.
    pub place: String,
    /// The function.
    pub function: String,
    /// The program or library.
    pub module: String,
}

impl UserFrame {
    /// The function, or where it is if it has no name.
    pub fn function_or_place(self) -> String {
        if self.function.is_empty() { self.place } else { self.function }
    }
}

/// Finds the functions of addresses.
pub struct Callers<'s> {
    symbols: &'s Symbols,
    spaces: Vec<(ProcessSpace, AddressSpace)>,
    known: RefCell<HashMap<(SpaceId, u64), Vec<UserFrame>>>,
}

/// Libraries in which a program waits: those of libc, of unspin, and the kernel's page in each process.
const WAITING_MODULES: [&str; 7] =
    ["libc.so", "libc-", "libpthread", "ld-linux", "libunspin", "libstdc++", "[vdso]"];
/// Functions by which runtimes wait: of Go, of Rust's standard library, of parking_lot.
const WAITING_FUNCTIONS: [&str; 16] = [
    "runtime.",
    "runtime/",
    "internal/",
    "sync.",
    "syscall.",
    "time.Sleep",
    "std::",
    "<std::",
    "core::",
    "<core::",
    "alloc::",
    "parking_lot",
    "<parking_lot",
    "lock_api",
    "<lock_api",
    "__rust",
];

impl<'s> Callers<'s> {
    /// For these address spaces.
    pub fn new(spaces: &Spaces, symbols: &'s Symbols) -> Callers<'s> {
        Callers { symbols, spaces: spaces.all(), known: RefCell::default() }
    }

    /// The process of an address space.
    pub fn space(&self, space: SpaceId) -> &ProcessSpace {
        &self.spaces[space.0].0
    }

    /// The static variable at an address, and the file that holds it.
    pub fn variable(&self, space: SpaceId, address: u64) -> Option<String> {
        let found = self.symbols.variable(&self.spaces[space.0].1, address)?;
        Some(found.to_string())
    }

    /// The frames of a stack, innermost first, as far as they lie in mapped files. Code without frame pointers uses their
    /// register for other values, which are no frames.
    pub fn frames(&self, space: SpaceId, stack: &[u64]) -> Vec<UserFrame> {
        let return_address = |(n, &address): (usize, &u64)| match n {
            // The program counter after the system call's instruction, which belongs to the same function.
            0 => address.wrapping_add(1),
            _ => address,
        };
        let frames = stack.iter().enumerate().map(return_address).map(|address| self.at(space, address));
        frames.take_while(|frames| frames.iter().all(|frame| !frame.module.is_empty())).flatten().collect()
    }

    fn at(&self, space: SpaceId, return_address: u64) -> Vec<UserFrame> {
        let mut known = self.known.borrow_mut();
        let found = known.entry((space, return_address)).or_insert_with(|| {
            let frames = self.symbols.code(&self.spaces[space.0].1, return_address);
            frames
                .into_iter()
                .map(|frame| UserFrame {
                    place: frame.with_offset(),
                    function: frame.short,
                    module: frame.module,
                })
                .collect()
        });
        found.clone()
    }
}

/// The part of a stack from the function that wanted to wait: without libc and the functions of runtimes. If nothing
/// else is left, without the functions that only make the system call.
pub fn from_caller(frames: &[UserFrame]) -> &[UserFrame] {
    let waits = |frame: &UserFrame| {
        WAITING_MODULES.iter().any(|module| frame.module.starts_with(module))
            || WAITING_FUNCTIONS.iter().any(|function| frame.function.starts_with(function))
    };
    let makes_call =
        |frame: &UserFrame| ["futex", "syscall"].iter().any(|word| frame.place.to_lowercase().contains(word));
    let caller = frames.iter().position(|frame| !waits(frame));
    let start = caller.or_else(|| frames.iter().position(|frame| !makes_call(frame))).unwrap_or(0);
    &frames[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, module: &str) -> UserFrame {
        UserFrame { place: format!("{function}+0x1"), function: function.into(), module: module.into() }
    }

    #[test]
    fn caller_is_outside_of_libc_and_runtimes() {
        let stack = [frame("__lll_lock_wait", "libc.so.6"), frame("work", "prog"), frame("main", "prog")];
        assert_eq!(from_caller(&stack)[0].function, "work");
        let go = [
            frame("runtime.futex", "prog"),
            frame("runtime.notesleep", "prog"),
            frame("runtime.stopm", "prog"),
        ];
        assert_eq!(from_caller(&go)[0].function, "runtime.notesleep", "the runtime's own wait");
        let rust = [frame("std::sys::futex_wait", "prog"), frame("prog::work", "prog")];
        assert_eq!(from_caller(&rust)[0].function, "prog::work");
        assert!(from_caller(&[]).is_empty());
    }
}
