//! Finds out whether a program uses System V IPC, so that another engine can help.

use super::super::metering::Metering;
use super::super::monitor::NoMonitor;
use super::super::runner::{Limit, Runner};
use super::super::setup::Setup;
use object::{Object, ObjectSymbol, ReadCache};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::replace::engine::Engine;

/// The engines to try: all, if calls reach an engine in an extra run. The extra run is left out if no loaded file can
/// make such calls.
pub fn find_used(
    runner: &Runner<'_>,
    metering: &Metering,
    time_limit: Duration,
) -> Result<Vec<Engine>, Error> {
    if !could_call(metering) {
        return Ok(Vec::new());
    }
    let setup = Setup { engine: Engine::Rcu, ..Setup::default() };
    let trial = runner.run(Some(&setup), Limit::Timeout(time_limit), None, &mut NoMonitor)?;
    let reached = trial.is_some_and(|trial| trial.reached_engine);
    Ok(if reached { Engine::IN_ARENAS.to_vec() } else { Vec::new() })
}

/// Whether any file that a recorded process has mapped operates on semaphores or message queues. Unrecorded processes
/// used no lock, and their files are unknown.
fn could_call(metering: &Metering) -> bool {
    let images = &metering.snapshot.images;
    let files: BTreeSet<PathBuf> =
        images.iter().flat_map(|image| &image.modules).flat_map(|maps| files(maps)).collect();
    images.is_empty() || files.iter().any(calls_an_engine)
}

/// The files in lines of `/proc/PID/maps` that contain code: address, mode, offset, device, inode, path.
fn files(maps: &[u8]) -> impl Iterator<Item = PathBuf> {
    maps.split(|&byte| byte == b'\n').filter_map(|line| {
        let mode = line.split(|&byte| byte == b' ').nth(1)?;
        let path = line.iter().position(|&byte| byte == b'/')?;
        mode.contains(&b'x').then(|| PathBuf::from(OsStr::from_bytes(&line[path..])))
    })
}

/// Whether a file imports one of the functions that an engine can speed up. The preload library defines them itself.
fn calls_an_engine(file: &PathBuf) -> bool {
    let Ok(opened) = std::fs::File::open(file) else { return false };
    let bytes = ReadCache::new(opened);
    let Ok(elf) = object::File::parse(&bytes) else { return false };
    elf.dynamic_symbols()
        .filter(|symbol| symbol.is_undefined())
        .any(|symbol| matches!(symbol.name(), Ok("semop" | "semtimedop" | "msgsnd" | "msgrcv")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_with_code_are_found() {
        let maps = b"7f00-7f01 r-xp 00000000 08:01 17 /usr/lib/a b.so\n7f02-7f03 rw-p 00000000 00:00 0 [heap]\n\
                     7f04-7f05 rw-s 00000000 00:01 9 /dev/shm/recording\n7f06-7f07 r-xp 00000000 00:00 0 [vdso]\n";
        assert_eq!(files(maps).collect::<Vec<_>>(), [PathBuf::from("/usr/lib/a b.so")]);
    }

    #[test]
    fn program_without_system_v_calls_imports_none() {
        assert!(!calls_an_engine(&PathBuf::from("/etc/passwd")));
        assert!(!calls_an_engine(&PathBuf::from("/no/such/file")));
        // The tests of this program call no workload, so the linker has removed their calls.
        assert!(!calls_an_engine(&std::env::current_exe().unwrap()));
    }
}
