//! Removes the versions of symbols from a linked library: for the build script of the CLI and for the tests, which run the
//! linked library.
//!
//! The linker gives the library a table of versions, because it uses versioned names of libc. Its own definitions have no
//! version there. Then `dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2")` finds libc's function, past the hook.
//! The dynamic linker accepts the definitions of a library without such a table for every version that is asked for
//! (glibc, `check_match` of elf/dl-lookup.c). So the hooks also answer for versions that a later glibc adds. The library
//! itself uses no name of which libc has several versions.

use core::ops::Range;

/// Entries of the dynamic section (elf.h): the table of versions, and the versions that the library needs.
const VERSIONS: [u64; 3] = [0x6fff_fff0, 0x6fff_fffe, 0x6fff_ffff];
/// An entry that names a library which the dynamic linker loads too if it is there: `DT_AUXILIARY`. For the build script of the CLI.
pub const AUXILIARY: u64 = 0x7fff_fffd;
const PT_DYNAMIC: u64 = 2;
/// Size of an `Elf64_Dyn`.
const ENTRY: usize = 16;

/// Removes the versions from the file of a library, and the names of auxiliary libraries. `None` if it is no library that the linker
/// could have made.
pub fn without_versions(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let section = dynamic_section(&file)?;
    let entries = filled(entries(&file)?.filter(is_kept).collect(), section.len())?;
    file[section].copy_from_slice(&entries);
    Some(file)
}

/// The entries of the dynamic section.
pub fn entries(file: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    Some(file.get(dynamic_section(file)?)?.chunks_exact(ENTRY))
}

/// Whether this entry belongs to the finished library.
pub fn is_kept(entry: &&[u8]) -> bool {
    let tag = number(entry, 0, 8);
    tag.is_some_and(|tag| !VERSIONS.contains(&tag) && tag != AUXILIARY)
}

/// A dynamic section of these entries. It ends at its first entry of zeroes.
pub fn filled(entries: Vec<&[u8]>, bytes: usize) -> Option<Vec<u8>> {
    let mut section = entries.concat();
    (section.len() <= bytes).then(|| {
        section.resize(bytes, 0);
        section
    })
}

/// Where the dynamic section lies in the file: elf(5).
pub fn dynamic_section(file: &[u8]) -> Option<Range<usize>> {
    let (first, size, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let mut headers = (0..count).map(|n| (first + n * size) as usize);
    let header = headers.find(|&at| number(file, at, 4) == Some(PT_DYNAMIC))?;
    let begin = number(file, header + 8, 8)? as usize;
    Some(begin..begin + number(file, header + 32, 8)? as usize)
}

/// The number of so many bytes at an offset.
pub fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    Some(bytes.get(at..at + size)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
