//! Kernels that the cache does not have yet: fetched from Debian's archive, stored whole or not at all.

use super::cached;
use super::name::KernelName;
use super::packages::Packages;
use super::release::Release;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_sys::{Errno, file_lock};

/// Debian's archive.
#[derive(Clone, Default)]
pub struct Archive {
    /// The mirror to be used; none for that of this machine.
    pub mirror: Option<String>,
    /// Called with a line before a download, which takes some time.
    pub notice: Option<fn(&str)>,
}

/// Prefix of the folders in which kernels are unpacked.
const UNPACKING: &str = ".fetching-";

impl Archive {
    /// Fetches a kernel into the cache. Returns its folder.
    pub fn fetch(&self, name: &KernelName) -> Result<PathBuf, Error> {
        let all = cached::folder()?;
        let failed = |error: std::io::Error| Error::at(&all, "a kernel cannot be stored", error);
        let lock = File::create(all.join("lock")).map_err(failed)?;
        wait_for_lock(&lock, self.notice).map_err(failed)?;
        // Another unspin may have fetched it meanwhile.
        if let Some(folder) = cached::find(name)? {
            return Ok(folder);
        }
        sweep(&all);
        let packages = Packages::update(&all.join("apt"), self.mirror.as_deref())?;
        let releases = packages.releases()?;
        let release = cached::choose(name, releases.clone()).ok_or_else(|| unknown(name, releases))?;
        if let Some(notice) = self.notice {
            notice(&format!("fetching kernel {release} from Debian's archive, some 40 MB"));
        }
        let temporary = tempfile::Builder::new().prefix(UNPACKING).tempdir_in(&all).map_err(failed)?;
        let unpacked = packages.unpack(&release, temporary.path())?;
        let folder = all.join(release.as_str());
        store(&unpacked, &folder).map_err(failed)?;
        Ok(folder)
    }
}

/// The time after which another unspin that fetches a kernel is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the cache. Without a limit: the other unspin ends when its download does, and the line says what it waits for.
fn wait_for_lock(lock: &File, notice: Option<fn(&str)>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while let Err(errno) = file_lock::try_lock(lock) {
        if errno != Errno::EAGAIN {
            return Err(errno.into());
        }
        if Instant::now() >= until {
            if let Some(notice) = notice {
                notice("vm: waiting for another unspin that fetches a kernel");
            }
            return Ok(file_lock::lock(lock)?);
        }
        thread::sleep(PATIENCE / 20);
    }
    Ok(())
}

/// Gives a kernel's folder its name in the cache. The caller has the lock, and has found no kernel there: what is there is no whole
/// one. All of it is on the disk before it has the name, so that a loss of power leaves no part of a kernel.
fn store(unpacked: &Path, folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    nix::unistd::syncfs(File::open(unpacked)?)?;
    fs::rename(unpacked, folder)?;
    folder.parent().map_or(Ok(()), |all| File::open(all)?.sync_all())
}

/// Removes what a killed unspin has left. The caller has the lock, so no other unspin is unpacking.
fn sweep(all: &Path) {
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(UNPACKING)) {
        // What cannot be removed is no kernel, and does no harm.
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// Number of releases that the message on an unknown one names.
const NAMED: usize = 6;

fn unknown(name: &KernelName, mut releases: Vec<Release>) -> Error {
    Release::sort(&mut releases);
    let named: Vec<&str> = releases.iter().take(NAMED).map(Release::as_str).collect();
    let more = releases.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} older ones") } else { String::new() };
    let what = match name {
        KernelName::Newest(flavour) => flavour.name(),
        KernelName::Release(release) => release.as_str(),
        KernelName::File(_) => "a file",
    };
    Error::Usage(format!(
        "--kernel {what}: Debian's archive has no such kernel; it has {}{more}",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn unknown_version_is_refused_with_those_that_are_there() {
        let releases = (1..=9).filter_map(|n| Release::new(&format!("7.{n}.1+deb13-rt-amd64"))).collect();
        let error = unknown(&"9.9.9+deb13-rt-amd64".parse().unwrap(), releases);
        let text = "--kernel 9.9.9+deb13-rt-amd64: Debian's archive has no such kernel; it has 7.9.1+deb13-rt-amd64, ";
        assert!(error.to_string().starts_with(text), "{error}");
        assert!(error.to_string().ends_with("7.4.1+deb13-rt-amd64 and 3 older ones"), "{error}");
        assert_eq!(error.code(), 2);
    }

    #[test]
    fn kernel_takes_the_place_of_a_part_of_one() {
        let all = tempfile::tempdir().unwrap();
        let (unpacked, folder) = (all.path().join("new"), all.path().join("7.3.4+deb13-amd64"));
        fs::create_dir_all(folder.join("kernel")).unwrap();
        fs::create_dir(&unpacked).unwrap();
        fs::write(unpacked.join(cached::IMAGE), "").unwrap();
        store(&unpacked, &folder).unwrap();
        assert!(folder.join(cached::IMAGE).exists() && !folder.join("kernel").exists() && !unpacked.exists());
    }

    #[test]
    fn wait_for_another_unspin_is_told() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let told =
            Some((|line| TOLD.store(line.contains("waiting for another unspin"), Relaxed)) as fn(&str));
        wait_for_lock(&open(), told).unwrap();
        assert!(!TOLD.load(Relaxed), "the lock was free");
        let held = open();
        file_lock::lock(&held).unwrap();
        let waiting = open();
        let waiter = thread::spawn(move || wait_for_lock(&waiting, told));
        while !TOLD.load(Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
        drop(held);
        waiter.join().unwrap().unwrap();
    }

    #[test]
    fn only_abandoned_folders_are_removed() {
        let all = tempfile::tempdir().unwrap();
        for name in [".fetching-x", "7.3.4+deb13-amd64", "apt"] {
            fs::create_dir(all.path().join(name)).unwrap();
        }
        sweep(all.path());
        assert!(!all.path().join(".fetching-x").exists());
        assert!(all.path().join("apt").exists() && all.path().join("7.3.4+deb13-amd64").exists());
    }
}
