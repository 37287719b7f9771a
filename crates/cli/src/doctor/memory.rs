//! Shared memory, limits of the process, huge pages.

use super::check::Check;
use nix::sys::statvfs::statvfs;
use std::fs;
use std::path::Path;
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::replace::arena;
use unspin_launch::replace::engine::Engine;
use unspin_sys::creds::Creds;
use unspin_sys::limits;

/// The folder of recordings and arenas.
const SHARED: &str = "/dev/shm";
/// Below so many free bytes a recording of some minutes, or an arena with many objects, may not fit.
const FREE_MIN: u64 = 256 << 20;
/// Descriptors that a lens needs on a machine of many CPUs: an event has one for each CPU.
const FILES_MIN: u64 = 512;

/// The folder of recordings and arenas.
pub fn shared_memory() -> Check {
    const NAME: &str = "shared memory";
    let folder = Path::new(SHARED);
    let writable = tempfile::tempfile_in(folder);
    let space = statvfs(folder).map(|about| {
        let bytes = |blocks: u64| blocks.saturating_mul(about.fragment_size());
        (bytes(about.blocks_available()), bytes(about.blocks()))
    });
    match (writable, space) {
        (Err(error), _) => Check::limited(
            NAME,
            format!("{SHARED}: no file can be made there: {error}"),
            "recordings are made in the folder of temporary files, on disk, which slows the program; `--sysv` needs `--arena FILE`",
            Some("mount -t tmpfs -o mode=1777 tmpfs /dev/shm"),
        ),
        (Ok(_), Ok((free, size))) if free < FREE_MIN => Check::limited(
            NAME,
            format!("{SHARED} has {} of {} free", bytes(free), bytes(size)),
            "records of a long run, and objects in an arena, may not fit; those that do not are counted as dropped, or refused",
            Some("mount -o remount,size=2G /dev/shm; of a container: docker run --shm-size=2g"),
        ),
        (Ok(_), Ok((free, size))) => {
            Check::ok(NAME, format!("{SHARED} has {} of {} free", bytes(free), bytes(size)))
        }
        (Ok(_), Err(error)) => Check::ok(NAME, format!("{SHARED}, of unknown size: {error}")),
    }
}

fn bytes(number: u64) -> String {
    match number {
        0..0x4000_0000 => format!("{} MiB", number >> 20),
        _ => format!("{:.1} GiB", number as f64 / f64::from(1 << 30)),
    }
}

/// Whether an arena can be made.
pub fn engines() -> Check {
    const NAME: &str = "System V engines";
    // In the folder that holds arenas, or the recordings in its place.
    let opened = Scratch::new(scratch::RUN, Creds::current().uid)
        .and_then(|scratch| arena::try_open(Engine::Rcu, Some(&scratch.file(scratch::ARENA))));
    match opened {
        Ok(()) => Check::ok(NAME, "an arena can be made and mapped"),
        Err(error) => Check::fails(NAME, error, "`--sysv global` and `--sysv rcu`"),
    }
}

/// The limits of this process.
pub fn process_limits() -> Check {
    const NAME: &str = "limits";
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits::open_files();
    let soft = |name: &str| soft_limit(&text, name).unwrap_or("unknown".into());
    let [locked, file, space] = ["Max locked memory", "Max file size", "Max address space"].map(soft);
    let found =
        format!("open files {files}; locked memory {locked}; length of a file {file}; address space {space}");
    let is_limit = |limit: &str| !["unlimited", "unknown"].contains(&limit);
    if is_limit(&file) || is_limit(&space) {
        let costs = "a recording is no larger, and an arena may not fit";
        return Check::limited(NAME, found, costs, Some("ulimit -f unlimited; ulimit -v unlimited"));
    }
    if files < FILES_MIN {
        let costs = "a lens needs a descriptor for each event and CPU, and `prove` some for each run";
        return Check::limited(NAME, found, costs, Some("ulimit -n 4096"));
    }
    Check::ok(NAME, found)
}

/// The soft limit of this name in the text of `/proc/self/limits`, with its unit.
fn soft_limit(text: &str, name: &str) -> Option<String> {
    let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
    let soft = words.next()?;
    Some(match soft.parse() {
        Ok(number) => bytes(number),
        Err(_) => soft.to_owned(),
    })
}

/// The setting of transparent huge pages.
pub fn huge_pages() -> Check {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    Check::ok("huge pages", format!("transparent_hugepage is {}", chosen(&text).unwrap_or("unknown")))
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_are_read_with_their_units() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max file size             unlimited            unlimited            bytes     \n\
                    Max locked memory         8388608              8388608              bytes     \n";
        assert_eq!(soft_limit(text, "Max locked memory").as_deref(), Some("8 MiB"));
        assert_eq!(soft_limit(text, "Max file size").as_deref(), Some("unlimited"));
        assert_eq!(soft_limit(text, "Max cpu time"), None);
        assert_eq!(bytes(3 << 30), "3.0 GiB");
    }

    #[test]
    fn chosen_setting_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }
}
