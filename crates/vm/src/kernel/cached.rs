//! The kernels in the cache: a folder for each, named after its release, with the files of `/lib/modules/RELEASE`.

use super::name::KernelName;
use super::release::Release;
use std::fs;
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::library::cache;

/// The name of the kernel's file in such a folder.
pub const IMAGE: &str = "vmlinuz";

/// The folder of all kernels.
pub fn folder() -> Result<PathBuf, Error> {
    cache::folder("kernels")
}

/// The folder of a kernel; none if the cache does not have it.
pub fn find(name: &KernelName) -> Result<Option<PathBuf>, Error> {
    let all = folder()?;
    Ok(choose(name, releases(&all)).map(|release| all.join(release.as_str())))
}

/// Of these releases the one that the name means; the newest of a flavour.
pub fn choose(name: &KernelName, mut releases: Vec<Release>) -> Option<Release> {
    Release::sort(&mut releases);
    releases.into_iter().find(|release| match name {
        KernelName::Newest(flavour) => release.flavour() == *flavour,
        KernelName::Release(named) => release == named,
        KernelName::File(_) => false,
    })
}

fn releases(all: &Path) -> Vec<Release> {
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.path().join(IMAGE).is_file());
    whole.filter_map(|entry| Release::new(entry.file_name().to_str()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_kernels_are_found() {
        let all = tempfile::tempdir().unwrap();
        for release in ["7.3.4+deb13-cloud-amd64", "7.2.9+deb13-cloud-amd64", ".fetching-x", "apt"] {
            fs::create_dir(all.path().join(release)).unwrap();
        }
        let found = || choose(&"cloud".parse().unwrap(), releases(all.path()));
        assert_eq!(found(), None);
        fs::write(all.path().join("7.2.9+deb13-cloud-amd64").join(IMAGE), "").unwrap();
        assert_eq!(found(), Release::new("7.2.9+deb13-cloud-amd64"));
        fs::write(all.path().join("7.3.4+deb13-cloud-amd64").join(IMAGE), "").unwrap();
        assert_eq!(found(), Release::new("7.3.4+deb13-cloud-amd64"));
        assert_eq!(choose(&"rt".parse().unwrap(), releases(all.path())), None);
    }
}
