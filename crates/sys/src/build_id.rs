//! The build id of a mapped ELF file, read from memory: the file itself may be another one by now.
//!
//! Allocates nothing, and calls no function of the C library. The kernel reads the memory, so a file that was truncated does no
//! harm; except where a seccomp filter forbids the call.

use crate::mem;
use core::ops::Range;

/// Bytes of the longest build id that is read: a SHA-512. Linkers make 8 to 20.
pub const ID_MAX: usize = 64;
/// Bytes of the file header and the program headers that are read: 17 program headers fit.
const HEADERS: usize = 1024;
/// Bytes of a note segment that are read. A build id is among the first of its notes.
const NOTES: usize = 256;

// elf(5).
const MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");
const E_PHOFF: usize = 32;
const E_PHENTSIZE: usize = 54;
const E_PHNUM: usize = 56;
const P_OFFSET: usize = 8;
const P_FILESZ: usize = 32;
const P_ALIGN: usize = 48;
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;
const GNU: u32 = u32::from_le_bytes(*b"GNU\0");
/// Bytes of a note's header with the name `GNU`.
const NOTE_HEAD: usize = 16;

/// What is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// An ELF file with a build id of so many bytes.
    Id(usize),
    /// An ELF file without a build id.
    WithoutId,
    /// Something else, or memory that cannot be read.
    Other,
}

/// Reads the build id of the file whose beginning is mapped at this range, into `id`.
pub fn read(range: Range<usize>, id: &mut [u8; ID_MAX]) -> Mapped {
    read_by(&|at, out| mem::copy_in(at, out).is_ok(), range, id)
}

/// The same, where `copy` copies from an address and says whether it did.
pub fn read_by(
    copy: &dyn Fn(usize, &mut [u8]) -> bool,
    range: Range<usize>,
    id: &mut [u8; ID_MAX],
) -> Mapped {
    let length = range.len();
    let mut headers = [0; HEADERS];
    let headers = &mut headers[..HEADERS.min(length)];
    if !copy(range.start, headers) {
        return Mapped::Other;
    }
    let read = Bytes(headers);
    if read.u32_at(0) != Some(MAGIC) {
        return Mapped::Other;
    }
    let number = |at| read.u16_at(at).map_or(0, usize::from);
    let (first, size) = (read.usize_at(E_PHOFF).unwrap_or(0), number(E_PHENTSIZE));
    for index in 0..number(E_PHNUM) {
        let at = first.saturating_add(index * size);
        if read.u32_at(at) != Some(PT_NOTE) {
            continue;
        }
        let field = |field| read.usize_at(at.saturating_add(field));
        let (Some(offset), Some(bytes), Some(align)) = (field(P_OFFSET), field(P_FILESZ), field(P_ALIGN))
        else {
            continue;
        };
        if offset.checked_add(bytes).is_none_or(|end| end > length) {
            continue;
        }
        let mut notes = [0; NOTES];
        let notes = &mut notes[..NOTES.min(bytes)];
        if copy(range.start + offset, notes)
            && let Some(found) = Bytes(notes).build_id(notes.len(), if align == 8 { 8 } else { 4 }, id)
        {
            return Mapped::Id(found);
        }
    }
    Mapped::WithoutId
}

/// Copied memory.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        let byte = |index: usize| Some(u64::from(self.byte(at.checked_add(index)?)?) << (8 * index));
        (0..bytes).try_fold(0, |sum, index| Some(sum | byte(index)?))
    }

    fn u16_at(&self, at: usize) -> Option<u16> {
        self.number(at, 2).map(|number| number as u16)
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        self.number(at, 4).map(|number| number as u32)
    }

    fn usize_at(&self, at: usize) -> Option<usize> {
        self.number(at, 8).map(|number| number as usize)
    }

    /// The build id in these notes, with its length.
    fn build_id(&self, bytes: usize, align: usize, id: &mut [u8; ID_MAX]) -> Option<usize> {
        let mut at = 0;
        while at < bytes {
            let (name, length) = (self.u32_at(at)? as usize, self.u32_at(at + 4)? as usize);
            let is_gnu = name == 4 && self.u32_at(at + 12) == Some(GNU);
            if self.u32_at(at + 8) == Some(NT_GNU_BUILD_ID) && is_gnu && (1..=ID_MAX).contains(&length) {
                for (index, byte) in id.iter_mut().take(length).enumerate() {
                    *byte = self.byte(at + NOTE_HEAD + index)?;
                }
                return Some(length);
            }
            let text = (at + 12).checked_add(name)?.checked_next_multiple_of(align)?;
            at = text.checked_add(length)?.checked_next_multiple_of(align)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;

    #[test]
    fn own_program_is_an_elf_file_and_its_stack_is_not() {
        let here = own_program_is_an_elf_file_and_its_stack_is_not as fn() as usize;
        let (mut own, mut first, mut stack) = (None, None, None);
        maps::lines(|line| {
            let range = maps::range(line).unwrap();
            let range = range.start as usize..range.end as usize;
            if maps::offset(line) == Some(0) && maps::name(line).is_some_and(|name| name.starts_with(b"/")) {
                first = Some(range.clone());
            }
            own = own.take().or_else(|| range.contains(&here).then(|| first.clone()).flatten());
            if maps::name(line) == Some(b"[stack]") {
                stack = Some(range);
            }
        })
        .unwrap();
        let mut id = [0; ID_MAX];
        assert_ne!(read(own.unwrap(), &mut id), Mapped::Other);
        assert_eq!(read(stack.unwrap(), &mut id), Mapped::Other);
        assert_eq!(read(0..4096, &mut id), Mapped::Other);
    }

    #[test]
    fn build_id_is_found_behind_another_note() {
        let note = |ty: u32, text: &[u8]| {
            let mut bytes = [4, text.len() as u32, ty, GNU].map(u32::to_le_bytes).concat();
            bytes.extend_from_slice(text);
            bytes
        };
        let mut bytes = [note(5, &[9; 8]), note(NT_GNU_BUILD_ID, &[1, 2, 3, 4, 5, 6, 7, 8])].concat();
        let length = bytes.len();
        bytes.resize(length.next_multiple_of(8), 0);
        let mut id = [0; ID_MAX];
        assert_eq!(Bytes(&bytes).build_id(length, 4, &mut id), Some(8));
        assert_eq!(id[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Bytes(&bytes).build_id(24, 4, &mut id), None, "only the other one");
        assert_eq!(Bytes(&bytes[..8]).build_id(length, 4, &mut id), None, "cut off");
    }
}
