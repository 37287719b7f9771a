//! Kernels that the cache does not have yet: fetched from Debian's archive, stored whole or not at all.

use super::cached;
use super::name::KernelName;
use super::packages::Packages;
use super::release::Release;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_sys::file_lock;

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
        file_lock::lock(&lock).map_err(|errno| failed(errno.into()))?;
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
        fs::rename(&unpacked, &folder).map_err(failed)?;
        Ok(folder)
    }
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
