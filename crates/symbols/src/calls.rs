//! Finds a file's calls of functions of other files, by the forms that linkers and compilers give such calls on x86-64:
//!
//! ```text
//! e8 rel32                call STUB       with a stub of the procedure linkage table:  [endbr64] [bnd] ff 25 rel32   jmp [SLOT]
//! [67] ff 15 rel32        call [SLOT]     (-fno-plt, Rust)
//! ```
//!
//! A function that ends with a jump to such a function (`e9 rel32` to a stub, `ff 25 rel32` to a slot) leaves no frame of its
//! own: libc's function returns to the caller of the function that jumps. So a direct call of that function counts as a call.
//!
//! The code is not disassembled. The chance that four other bytes lead to a slot is less than one in a billion.

use std::collections::HashSet;
use std::ops::Range;

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf};

use crate::elf::{Elf, Segment};
use crate::unwind::Rules;

/// Jumps that may follow each other between a call and the function that it reaches.
const JUMPS: usize = 4;

/// The last byte of each call of a function for which `is_meant` is true, in ascending order. The unwind tables tell where a
/// function that jumps begins.
pub(crate) fn find(
    elf: &Elf,
    code: &[Segment],
    rules: Option<&Rules>,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<u64> {
    let slots = slots(elf, is_meant);
    if slots.is_empty() {
        return Vec::new();
    }
    let pieces: Vec<(u64, Vec<u8>)> =
        code.iter().filter_map(|segment| Some((segment.address, elf.bytes(segment)?))).collect();
    let mut stubs: HashSet<u64> =
        pieces.iter().flat_map(|(address, bytes)| stubs(*address, bytes, &slots)).collect();
    if let Some(rules) = rules {
        let linkage = [".plt", ".plt.got", ".plt.sec"].map(|name| elf.section(name));
        // The unwind tables describe all stubs as one function.
        let is_stub = |at: u64| {
            linkage.iter().flatten().any(|(from, bytes)| at >= *from && at - from < bytes.len() as u64)
        };
        let start = |address| (!is_stub(address)).then(|| rules.function_start(address)).flatten();
        add_jumping_functions(&mut stubs, &pieces, &slots, &start);
    }
    let mut calls = Vec::new();
    for (address, bytes) in &pieces {
        for at in 0..bytes.len() {
            let call = match bytes[at..] {
                [0xe8, ..] => leads(*address, bytes, at + 1).filter(|to| stubs.contains(to)).map(|_| at + 4),
                [0xff, 0x15, ..] => {
                    leads(*address, bytes, at + 2).filter(|to| slots.contains(to)).map(|_| at + 5)
                }
                _ => None,
            };
            calls.extend(call.map(|last| address + last as u64));
        }
    }
    calls.sort_unstable();
    calls
}

/// Adds the start of each function that jumps to one of these stubs, through a slot, or to a function that was added. `start` is
/// none for an address outside functions.
fn add_jumping_functions(
    stubs: &mut HashSet<u64>,
    pieces: &[(u64, Vec<u8>)],
    slots: &HashSet<u64>,
    start: &dyn Fn(u64) -> Option<u64>,
) {
    // Each round adds a function or is the last one. A chain of more jumps than this is not looked for.
    for _ in 0..JUMPS {
        let mut new = Vec::new();
        for (address, bytes) in pieces {
            for at in 0..bytes.len() {
                let is_jump = match bytes[at..] {
                    [0xe9, ..] => leads(*address, bytes, at + 1).is_some_and(|to| stubs.contains(&to)),
                    [0xff, 0x25, ..] => leads(*address, bytes, at + 2).is_some_and(|to| slots.contains(&to)),
                    _ => false,
                };
                let from = address + at as u64;
                if is_jump {
                    new.extend(start(from));
                }
            }
        }
        let before = stubs.len();
        stubs.extend(new);
        if stubs.len() == before {
            break;
        }
    }
}

/// Whether the bytes before this address are a call: direct, or through a register or memory in any addressing form.
pub(crate) fn ends_at(elf: &Elf, code: &[Segment], address: u64) -> bool {
    code.iter().any(|segment| {
        let length = address.checked_sub(segment.address).and_then(|length| usize::try_from(length).ok());
        let before = length.and_then(|length| Some(elf.bytes(segment)?.get(..length)?.to_vec()));
        before.is_some_and(|before| ends_in_call(&before))
    })
}

/// Whether bytes in this range look like a call through a register or memory other than a slot. The code is not disassembled, so
/// that a part of another instruction can look like one.
pub(crate) fn has_call_through_pointer(elf: &Elf, code: &[Segment], range: &Range<u64>) -> bool {
    code.iter().any(|segment| {
        let offset = |address: u64| usize::try_from(address.saturating_sub(segment.address)).ok();
        let bytes = || {
            let bytes = elf.bytes(segment)?;
            let end = offset(range.end)?.min(bytes.len());
            Some(bytes.get(offset(range.start)?..end)?.to_vec())
        };
        bytes().is_some_and(|bytes| (2..=bytes.len()).any(|end| ends_in_call_through_pointer(&bytes[..end])))
    })
}

/// Whether the last bytes are a call instruction: `e8 rel32`, or `ff /2` with its operand.
fn ends_in_call(bytes: &[u8]) -> bool {
    let from = |length: usize| bytes.len().checked_sub(length).map(|at| &bytes[at..]);
    let through_slot = |call: &[u8]| call.starts_with(&[0xff, 0x15]);
    from(5).is_some_and(|call| call[0] == 0xe8)
        || from(6).is_some_and(through_slot)
        || ends_in_call_through_pointer(bytes)
}

/// Whether the bytes end in a call by `ff /2` through another operand than a slot, which is an address relative to the
/// instruction.
fn ends_in_call_through_pointer(bytes: &[u8]) -> bool {
    let from = |length: usize| bytes.len().checked_sub(length).map(|at| &bytes[at..]);
    // ModRM, SIB byte and displacement together are 1 to 6 bytes.
    (2..=7).filter_map(from).any(|call| {
        let operand = call[1];
        let displacement = match operand >> 6 {
            0 | 3 => 0,
            1 => 1,
            _ => 4,
        };
        let sib = usize::from(operand >> 6 != 3 && operand & 7 == 4);
        let is_relative = operand & 0xc7 == 0x05;
        call[0] == 0xff && operand >> 3 & 7 == 2 && !is_relative && call.len() == 2 + sib + displacement
    })
}

/// The words (GOT slots) that the dynamic linker fills with the addresses of these functions.
fn slots(elf: &Elf, is_meant: &dyn Fn(&str) -> bool) -> HashSet<u64> {
    let slots = elf.read(|headers| {
        let symbols = headers.dynamic_symbol_table()?;
        let slots = headers.dynamic_relocations()?.filter_map(|(slot, relocation)| {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let name = symbols.symbol_by_index(index).ok()?.name().ok()?;
            let is_slot = [elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT].contains(&r_type);
            (is_slot && is_meant(name)).then_some(slot)
        });
        Some(slots.collect())
    });
    slots.unwrap_or_default()
}

/// The starts of the stubs that jump through a slot. A stub that begins with ENDBR64 can be called at the mark or after
/// it.
fn stubs(address: u64, bytes: &[u8], slots: &HashSet<u64>) -> Vec<u64> {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    const BND: u8 = 0xf2;
    let mut stubs = Vec::new();
    for at in 0..bytes.len() {
        let is_jump = bytes[at..].starts_with(&[0xff, 0x25]);
        if !is_jump || !leads(address, bytes, at + 2).is_some_and(|to| slots.contains(&to)) {
            continue;
        }
        let mut before = &bytes[..at];
        stubs.push(address + before.len() as u64);
        if let Some(rest) = before.strip_suffix(&[BND]) {
            before = rest;
            stubs.push(address + before.len() as u64);
        }
        if let Some(rest) = before.strip_suffix(&ENDBR64) {
            stubs.push(address + rest.len() as u64);
        }
    }
    stubs
}

/// The target of a four-byte relative displacement, which counts from its end.
fn leads(address: u64, bytes: &[u8], at: usize) -> Option<u64> {
    let distance = i32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?);
    address.checked_add(at as u64 + 4)?.checked_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plt_stubs_of_all_forms_are_recognised() {
        let jump = |at: u64| {
            let distance = (0x1000 - (at + 6)) as u32;
            [&[0xff, 0x25][..], &distance.to_le_bytes()].concat()
        };
        let mut bytes = vec![0x90; 8];
        bytes.extend(jump(0x408));
        bytes.extend([0xf3, 0x0f, 0x1e, 0xfa, 0xf2]);
        bytes.extend(jump(0x413));
        let slots = HashSet::from([0x1000]);
        // The bytes lie at 0x400; the slot lies after them.
        assert_eq!(stubs(0x400, &bytes, &slots), [0x408, 0x413, 0x412, 0x40e]);
        assert_eq!(stubs(0x401, &bytes, &slots), []);
    }

    #[test]
    fn calls_of_all_forms_end_at_their_return_address() {
        let calls: [&[u8]; 7] = [
            &[0xe8, 1, 2, 3, 4],
            &[0xff, 0x15, 1, 2, 3, 4],
            &[0xff, 0xd0],
            &[0x41, 0xff, 0xd4],
            &[0xff, 0x50, 8],
            &[0xff, 0x54, 0x24, 8],
            &[0xff, 0x94, 0xc8, 1, 2, 3, 4],
        ];
        for call in calls {
            let bytes = [&[0x90; 8], call].concat();
            assert!(ends_in_call(&bytes), "{call:x?}");
            assert!(!ends_in_call(&bytes[..bytes.len() - 1]), "{call:x?}");
        }
        assert!(!ends_in_call(&[]));
        assert!(!ends_in_call(&[0x90; 8]));
    }

    #[test]
    fn truncated_stub_has_no_target() {
        assert_eq!(leads(0x400, &[1, 0, 0, 0], 0), Some(0x405));
        assert_eq!(leads(0x400, &[1, 0, 0, 0], 1), None);
        assert_eq!(leads(0, &[0xff; 4], 0), Some(3));
        assert_eq!(leads(u64::MAX, &[0; 8], 0), None);
    }
}
