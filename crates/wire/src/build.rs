//! Lines beside those of the modules that distinguish builds of a file: the name may belong to another build when the
//! recording is read.
//!
//! `id START HEX` is the build id of the ELF file whose beginning is mapped at START. `stamp START LENGTH SECONDS NANOSECONDS`
//! stands for a file without one: its length, and when it was last written. Readers that do not know these lines skip them.

use core::ffi::CStr;
use core::fmt::{self, Write};
use unspin_sys::build_id::{self, ID_MAX, Mapped};
use unspin_sys::{file, maps};

/// Passes the line for the file of a line of `/proc/self/maps` to `add`, if the line maps the beginning of an ELF file.
/// Allocates nothing.
pub(crate) fn describe(line: &[u8], add: &mut dyn FnMut(&[u8])) {
    let name = maps::name(line).unwrap_or_default();
    let Some(range) = maps::range(line).filter(|_| maps::offset(line) == Some(0) && name.starts_with(b"/"))
    else {
        return;
    };
    let mut text = Line::default();
    let mut id = [0; ID_MAX];
    let written = match build_id::read(range.start as usize..range.end as usize, &mut id) {
        Mapped::Id(length) => text.write_id(range.start, &id[..length]),
        Mapped::WithoutId => {
            let mut path = [0; PATH];
            let room = path.get_mut(..name.len()).filter(|_| name.len() < PATH);
            let Some(room) = room else { return };
            room.copy_from_slice(name);
            let stamp = CStr::from_bytes_until_nul(&path).ok().and_then(file::length_and_time);
            let Some((length, seconds, nanoseconds)) = stamp else { return };
            write!(text, "stamp {:x} {length} {seconds} {nanoseconds}", range.start)
        }
        Mapped::Other => return,
    };
    if written.is_ok() {
        add(&text.bytes[..text.length]);
    }
}

/// A longer path is not looked up.
const PATH: usize = 512;

/// A line that is being written.
struct Line {
    bytes: [u8; 32 + 2 * ID_MAX],
    length: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line { bytes: [0; 32 + 2 * ID_MAX], length: 0 }
    }
}

impl Line {
    fn write_id(&mut self, start: u64, id: &[u8]) -> fmt::Result {
        write!(self, "id {start:x} ")?;
        id.iter().try_for_each(|byte| write!(self, "{byte:02x}"))
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_files_have_a_line_and_memory_has_none() {
        let mut lines = Vec::new();
        maps::lines(|line| describe(line, &mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap())))
            .unwrap();
        assert!(!lines.is_empty());
        for line in &lines {
            assert!(line.starts_with("id ") || line.starts_with("stamp "), "{line}");
        }
        describe(b"1000-2000 rw-p 00000000 00:00 0 [heap]", &mut |_| panic!("no file"));
        describe(b"1000-2000 r-xp 00001000 fe:00 7 /lib/a.so", &mut |_| panic!("not its beginning"));
    }
}
