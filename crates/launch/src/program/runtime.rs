//! Language runtimes with locks of their own, which are not libc's: which locks of a program are not seen, and which
//! command works instead.
//!
//! The hooks see calls of libc's lock functions. These runtimes call the kernel's futex themselves, or queue threads
//! themselves. The runtime is recognised from the file, because a program that locks in its own way looks like a program
//! that never locks.

use memchr::memmem::Finder;
use object::read::ReadCache;
use object::{Object, ObjectSection};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use unspin_sys::regular::{self, Links};
use unspin_wire::Snapshot;

/// A runtime with locks of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Runtime {
    /// Go: `sync.Mutex`, channels, the scheduler.
    Go,
    /// Rust's standard library from 1.62 on: `std::sync::Mutex`, `RwLock`, `Condvar`, `Once`, parked threads.
    Rust,
    /// The crate `parking_lot`.
    ParkingLot,
    /// HotSpot: monitors (`synchronized`) and `java.util.concurrent`.
    Java,
}

/// Release of Rust whose locks on Linux are futexes; before it they were pthread's.
const RUST_FUTEX: u32 = 62;

impl Runtime {
    /// The runtimes of an executable file. A file that cannot be read has none.
    pub fn of_file(path: &Path) -> BTreeSet<Runtime> {
        regular::open(path, Links::Followed)
            .ok()
            .and_then(|file| of_elf(&ReadCache::new(file)))
            .unwrap_or_default()
    }

    /// The runtimes of the recorded processes: of the files that they executed, and of the Java virtual machine that they
    /// loaded.
    pub fn of_snapshot(snapshot: &Snapshot) -> BTreeSet<Runtime> {
        let lists = snapshot.images.iter().flat_map(|image| &image.modules);
        let mut executables = BTreeSet::new();
        let mut found = BTreeSet::new();
        for list in lists {
            let mut files = list.split(|&byte| byte == b'\n').filter_map(mapped_file);
            // The kernel maps the executable below the libraries.
            executables.extend(files.next());
            found.extend(files.any(|file| file.ends_with("/libjvm.so")).then_some(Runtime::Java));
        }
        found.extend(executables.into_iter().flat_map(|file| Runtime::of_file(Path::new(file))));
        found
    }

    /// Which locks of the recorded processes are not seen, and which command works instead; none if they have no such
    /// runtime.
    pub fn advice_on(snapshot: &Snapshot) -> Option<String> {
        let advice: Vec<_> = Runtime::of_snapshot(snapshot).into_iter().map(Runtime::advice).collect();
        (!advice.is_empty()).then(|| advice.join(" "))
    }

    /// What is not seen, and what works instead.
    pub fn advice(self) -> &'static str {
        match self {
            Runtime::Go => {
                "Not seen are Go's locks (sync.Mutex, channels): they are not libc's. Only C code that is called through cgo \
                 is seen. unspin meter --lens futex,off-cpu shows where its threads wait, also of a running program (-p PID). Go \
                 measures its own locks: runtime.SetMutexProfileFraction(1) and go tool pprof, or go test \
                 -mutexprofile."
            }
            Runtime::Rust => {
                "Not seen are the locks of Rust's standard library: they are not libc's, and cannot be replaced. Their waits \
                 are seen, as futex with the call site, and can poll (--waits poll)."
            }
            Runtime::ParkingLot => {
                "Not seen are the locks of parking_lot: they are not libc's, and cannot be replaced. Their waits are seen, as \
                 futex with the call site, and can poll (--waits poll)."
            }
            Runtime::Java => {
                "Not seen are Java's monitors and java.util.concurrent: the virtual machine queues their threads itself. Seen \
                 are its own mutexes, and parked threads as waits for conditions. Java names its locks with \
                 -XX:StartFlightRecording, events jdk.JavaMonitorEnter and jdk.ThreadPark."
            }
        }
    }
}

/// The file of one line of `/proc/PID/maps`, if the mapping has one.
fn mapped_file(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?;
    line.find('/').map(|start| line[start..].trim_end_matches(" (deleted)"))
}

fn of_elf(data: &ReadCache<File>) -> Option<BTreeSet<Runtime>> {
    let file = object::File::parse(data).ok()?;
    let mut found = BTreeSet::new();
    if file.section_by_name(".go.buildinfo").is_some() {
        found.insert(Runtime::Go);
        return Some(found);
    }
    let contains = |section: &str, text: &str| {
        let section = file.section_by_name(section).and_then(|section| section.data().ok());
        section.is_some_and(|data| Finder::new(text).find(data).is_some())
    };
    let comment =
        file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    let is_rust = match rustc_release(comment) {
        Some(release) => release >= RUST_FUTEX,
        // Distributions strip the section. Messages of panics name source files of the standard library.
        None => contains(".rodata", "library/std/src/"),
    };
    found.extend(is_rust.then_some(Runtime::Rust));
    let has_parking_lot =
        || contains(".rodata", "parking_lot_core") || contains(".strtab", "parking_lot_core");
    found.extend((is_rust && has_parking_lot()).then_some(Runtime::ParkingLot));
    Some(found)
}

/// The second number of the compiler's version, as in `rustc version 1.95.0`.
fn rustc_release(comment: &[u8]) -> Option<u32> {
    const TITLE: &[u8] = b"rustc version 1.";
    let start = Finder::new(TITLE).find(comment)? + TITLE.len();
    let digits: Vec<u8> = comment[start..].iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::Command;
    use unspin_wire::{Image, Window};

    #[test]
    fn rust_is_recognised_with_and_without_the_compilers_name() {
        let this = std::env::current_exe().unwrap();
        assert!(Runtime::of_file(&this).contains(&Runtime::Rust));
        let folder = tempfile::tempdir().unwrap();
        let stripped = folder.path().join("stripped");
        let status = Command::new("objcopy")
            .args(["--strip-all", "--remove-section=.comment"])
            .args([&this, &stripped])
            .status();
        match status {
            Ok(status) => {
                assert!(status.success());
                assert!(Runtime::of_file(&stripped).contains(&Runtime::Rust));
            }
            Err(e) => {
                let _ = writeln!(std::io::stderr(), "SKIPPED the stripped program: objcopy: {e}");
            }
        }
    }

    #[test]
    fn older_rust_has_locks_of_libc() {
        assert_eq!(rustc_release(b"GCC: (Debian 12)\0rustc version 1.95.0 (5980)\0"), Some(95));
        assert_eq!(rustc_release(b"rustc version 1.61.0\0"), Some(61));
        assert_eq!(rustc_release(b"GCC: (Debian 12)\0"), None);
    }

    #[test]
    fn programs_without_such_a_runtime_have_none() {
        assert_eq!(Runtime::of_file(Path::new("/bin/sh")), BTreeSet::new());
        assert_eq!(Runtime::of_file(Path::new("/no/such/file")), BTreeSet::new());
        assert_eq!(Runtime::of_file(Path::new("/proc/self/maps")), BTreeSet::new());
    }

    #[test]
    fn java_is_recognised_by_its_library() {
        let line = "7f00-7f01 r-xp 00000000 fe:00 1      /usr/lib/jvm/java 17/lib/server/libjvm.so";
        assert_eq!(mapped_file(line.as_bytes()), Some("/usr/lib/jvm/java 17/lib/server/libjvm.so"));
        assert_eq!(mapped_file(b"7f00-7f01 rw-p 00000000 00:00 0    [stack]"), None);
        let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1.0, cpu_seconds: None };
        let mut snapshot = Snapshot::of_rows(window, []);
        let maps = format!("1-2 r-xp 0 0:0 1 /usr/bin/java\n{line}\n");
        snapshot.images.push(Image { modules: vec![maps.into_bytes()], ..Default::default() });
        assert!(Runtime::of_snapshot(&snapshot).contains(&Runtime::Java));
    }
}
