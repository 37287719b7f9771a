//! The library for a glibc before 2.34, where libpthread and libdl are libraries apart, which a program may lack: for the build script of
//! the CLI.
//!
//! The hooks are in the library, so a program that has no libpthread would find some of its functions, and others not. The runtimes of C and
//! C++ ask for one of them (`__pthread_key_create`), and then call others. And without libdl the hooks find no next definition. So
//! under such a glibc the library needs both, and the dynamic linker loads them into each program. Everything else is the same: the
//! two libraries have one dynamic section each.

use crate::unversioned::{AUXILIARY, dynamic_section, entries, filled, is_kept, number};

const DT_NEEDED: u64 = 1;

/// The dynamic section of the library for an old glibc, and where it lies in the file. The linker has left the names of both libraries, as
/// auxiliary ones (build.rs of the preload library). `None` if it has not.
pub fn dynamic_section_for_old_glibc(linked: &[u8]) -> Option<(usize, Vec<u8>)> {
    let section = dynamic_section(linked)?;
    let is_auxiliary = |entry: &&[u8]| number(entry, 0, 8) == Some(AUXILIARY);
    let needed: Vec<Vec<u8>> = entries(linked)?
        .filter(is_auxiliary)
        .map(|entry| [&DT_NEEDED.to_le_bytes(), &entry[8..]].concat())
        .collect();
    let all = needed.iter().map(Vec::as_slice).chain(entries(linked)?.filter(is_kept)).collect();
    (needed.len() == 2).then_some((section.start, filled(all, section.len())?))
}
