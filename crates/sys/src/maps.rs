//! The mappings of this process: reads `/proc/self/maps` without allocating and without the C library.
//!
//! `dl_iterate_phdr` would list the modules, but takes a lock of the dynamic linker. A thread that waits for us may
//! hold that lock.

use crate::{Errno, raw};

/// The longest line that is passed on completely; longer lines are truncated.
const LINE: usize = 1024;

/// Calls `each` with every line, without its newline. If the process maps or unmaps meanwhile, the lines are from
/// several moments (proc(5)).
pub fn lines(mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let path = c"/proc/self/maps".as_ptr() as usize;
    let mut buffer = [0; LINE];
    // SAFETY: `path` is a C string; the kernel writes at most the given length into `buffer`; the descriptor is ours
    // from open to close.
    unsafe {
        let fd = raw::call(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags, 0])?;
        let read = |into: &mut [u8]| loop {
            match raw::call(libc::SYS_read, [fd, into.as_mut_ptr() as usize, into.len()]) {
                Err(Errno::EINTR) => {}
                result => return result,
            }
        };
        let result = split(&mut buffer, read, &mut each);
        let _ = raw::call(libc::SYS_close, [fd]);
        result
    }
}

/// Splits what `read` yields into lines.
fn split(
    buffer: &mut [u8; LINE],
    mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>,
    each: &mut impl FnMut(&[u8]),
) -> Result<(), Errno> {
    let (mut filled, mut oversize) = (0, false);
    loop {
        let n = read(&mut buffer[filled..])?;
        if n == 0 {
            return Ok(());
        }
        filled += n;
        let mut begin = 0;
        while let Some(length) = buffer[begin..filled].iter().position(|&b| b == b'\n') {
            // The rest of an oversize line is not a line.
            if !core::mem::take(&mut oversize) {
                each(&buffer[begin..begin + length]);
            }
            begin += length + 1;
        }
        if begin == 0 && filled == LINE {
            if !oversize {
                each(&buffer[..]);
            }
            (filled, oversize) = (0, true);
        } else {
            buffer.copy_within(begin..filled, 0);
            filled -= begin;
        }
    }
}

/// The address range of a line.
pub fn range(line: &[u8]) -> Option<core::ops::Range<u64>> {
    let text = core::str::from_utf8(line.split(|&b| b == b' ').next()?).ok()?;
    let (from, to) = text.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    Some(hex(from)?..hex(to)?)
}

/// The offset of a line's mapping in its file; 0 for memory without a file.
pub fn offset(line: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(line.split(|&b| b == b' ').nth(2)?).ok()?;
    u64::from_str_radix(text, 16).ok()
}

/// Whether the memory of a line is executable.
pub fn is_executable(line: &[u8]) -> bool {
    line.split(|&b| b == b' ').nth(1).is_some_and(|mode| mode.get(2) == Some(&b'x'))
}

/// The name of a line's mapping: a path, or a name in brackets; `None` for memory without a file.
pub fn name(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|&b| b == b'/' || b == b'[')?;
    Some(&line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_is_found() {
        let here = our_own_code_is_found as fn() as usize as u64;
        let mut found = 0;
        lines(|line| {
            if range(line).unwrap().contains(&here) {
                assert!(is_executable(line) && name(line).unwrap().starts_with(b"/"));
                assert_eq!(offset(line).unwrap() % 4096, 0);
                found += 1;
            }
        })
        .unwrap();
        assert_eq!(found, 1);
    }

    #[test]
    fn lines_come_whole_however_they_are_read() {
        let long = "x".repeat(3 * LINE);
        let text = format!("a\n\nbb\n{long}\nccc\n");
        for chunk in [1, 2, 7, 1000, 5000] {
            let (mut rest, mut seen) = (text.as_bytes(), Vec::new());
            let read = |into: &mut [u8]| {
                let n = rest.len().min(into.len()).min(chunk);
                into[..n].copy_from_slice(&rest[..n]);
                rest = &rest[n..];
                Ok(n)
            };
            split(&mut [0; LINE], read, &mut |line| seen.push(line.to_vec())).unwrap();
            assert_eq!(seen, [&b"a"[..], b"", b"bb", &long.as_bytes()[..LINE], b"ccc"], "{chunk}");
        }
    }
}
