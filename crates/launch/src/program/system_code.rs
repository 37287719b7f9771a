//! Code that locks on behalf of programs: libc, the dynamic linker and the runtime libraries of C++.

/// Libraries that lock, or initialise locks, for programs. Until glibc 2.34 libc is in several, with the version in the names of their
/// files.
const LIBRARIES: [&str; 13] = [
    "libc.so",
    "libc-",
    "libpthread",
    "libdl.so",
    "libdl-",
    "librt.so",
    "librt-",
    "ld-linux",
    "ld-2.",
    "libstdc++",
    "libc++",
    "libgcc_s",
    crate::library::NAME,
];

/// Their namespaces.
const NAMESPACES: [&str; 4] = ["std::", "__gnu_cxx::", "__gthread_", "boost::"];

/// Whether a file of this name is a library that locks, or initialises locks, for programs.
pub fn is_library_of_system(file: &str) -> bool {
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

/// Whether a function of this name belongs to such a library. Its code may be in any file.
pub fn is_of_system(function: &str) -> bool {
    let function = function.trim_start_matches('<');
    NAMESPACES.iter().any(|namespace| function.starts_with(namespace))
}
