//! What a command line calls a kernel.

use super::release::{Flavour, Release};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use unspin_launch::error::Error;

/// What a command line calls a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelName {
    /// The newest of a flavour that is in the cache; the newest of the archive if none is.
    Newest(Flavour),
    /// This one.
    Release(Release),
    /// The one in this file.
    File(PathBuf),
}

impl FromStr for KernelName {
    type Err = Error;

    fn from_str(text: &str) -> Result<KernelName, Error> {
        if let Some((flavour, _)) = Flavour::ALL.iter().find(|(_, name)| *name == text) {
            return Ok(KernelName::Newest(*flavour));
        }
        if text.contains('/') || Path::new(text).is_file() {
            return Ok(KernelName::File(text.into()));
        }
        Release::new(text).map(KernelName::Release).ok_or_else(|| {
            Error::Usage(format!(
                "--kernel {text}: there is no such kernel: name cloud, plain, rt, a version such as 7.3.4+deb13-cloud-amd64, \
                 or the file of a kernel"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_is_named_by_flavour_version_or_file() {
        let name = |text: &str| text.parse::<KernelName>();
        assert_eq!(name("rt").unwrap(), KernelName::Newest(Flavour::Rt));
        let release = Release::new("7.3.4+deb13-cloud-amd64").unwrap();
        assert_eq!(name("7.3.4+deb13-cloud-amd64").unwrap(), KernelName::Release(release));
        assert_eq!(name("./vmlinuz").unwrap(), KernelName::File("./vmlinuz".into()));
        let refused = name("clowd").unwrap_err();
        assert_eq!(refused.code(), 2);
        assert!(refused.to_string().starts_with("--kernel clowd: there is no such kernel: name cloud, "));
    }
}
