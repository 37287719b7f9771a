//! Removes the versions of symbols from a linked library: for the build script of the CLI and for the tests, which run the
//! linked library.
//!
//! The linker gives the library a table of versions, because it uses versioned names of libc. Its own definitions have no
//! version there. Then `dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2")` finds libc's function, past the hook.
//! The dynamic linker accepts the definitions of a library without such a table for every version that is asked for
//! (glibc, `check_match` of elf/dl-lookup.c). So the hooks also answer for versions that a later glibc adds. The library
//! itself uses no name of which libc has several versions.

/// Entries of the dynamic section (elf.h): the table of versions, and the versions that the library needs.
const VERSIONS: [u64; 3] = [0x6fff_fff0, 0x6fff_fffe, 0x6fff_ffff];
const PT_DYNAMIC: u64 = 2;
/// Size of an `Elf64_Dyn`.
const ENTRY: usize = 16;

/// Removes the versions from the file of a library. `None` if it is no library that the linker could have made.
pub fn without_versions(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let dynamic = file.get(dynamic_section(&file)?)?;
    let is_kept = |entry: &&[u8]| number(entry, 0, 8).is_some_and(|tag| !VERSIONS.contains(&tag));
    let mut entries = dynamic.chunks_exact(ENTRY).filter(is_kept).collect::<Vec<_>>().concat();
    let section = dynamic_section(&file)?;
    // The section ends at its first entry of zeroes.
    entries.resize(section.len(), 0);
    file[section].copy_from_slice(&entries);
    Some(file)
}

/// Where the dynamic section lies in the file: elf(5).
fn dynamic_section(file: &[u8]) -> Option<core::ops::Range<usize>> {
    let (first, size, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let mut headers = (0..count).map(|n| (first + n * size) as usize);
    let header = headers.find(|&at| number(file, at, 4) == Some(PT_DYNAMIC))?;
    let begin = number(file, header + 8, 8)? as usize;
    Some(begin..begin + number(file, header + 32, 8)? as usize)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    Some(bytes.get(at..at + size)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
