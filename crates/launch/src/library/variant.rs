//! The two variants of the preload library: for glibc 2.34 and later, and for an older one, where libpthread and libdl are libraries apart
//! (`link/old_glibc.rs` of the crate `unspin-preload`).

use crate::error::Error;
use std::borrow::Cow;
use unspin_sys::glibc;

/// The library's bytes, built by build.rs.
static BYTES: &[u8] = include_bytes!(env!("UNSPIN_PRELOAD_FILE"));
/// In which bytes the library for an old glibc differs: an offset, and the bytes there.
static FOR_OLD_GLIBC: &[u8] = include_bytes!(env!("UNSPIN_PRELOAD_FOR_OLD_GLIBC"));
/// SHA-256 of the bytes. Each build has a file of its own, so running programs keep theirs.
const HASH: &str = env!("UNSPIN_PRELOAD_HASH");

/// The first glibc that has libpthread and libdl in libc, as major and minor version.
const ONE_LIBRARY: (u32, u32) = (2, 34);
/// The oldest glibc under which the library works.
const OLDEST_GLIBC: (u32, u32) = (2, 28);

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// For glibc 2.34 and later.
    Present,
    /// For an older glibc: it needs libpthread and libdl.
    OldGlibc,
}

impl Variant {
    /// That for the glibc of this machine, which its programs have too.
    pub fn of_this_machine() -> Result<Variant, Error> {
        Variant::of_glibc(glibc::version())
    }

    /// Refuses a glibc that is too old.
    fn of_glibc(version: &str) -> Result<Variant, Error> {
        let Some(numbers) = glibc::numbers(version) else { return Ok(Variant::Present) };
        if numbers < OLDEST_GLIBC {
            let (oldest_major, oldest_minor) = OLDEST_GLIBC;
            return Err(Error::CannotRun(format!(
                "the preload library needs glibc {oldest_major}.{oldest_minor}, and here is {version}: use a newer release of the system, \
                 or `unspin meter --lens futex,kernel,off-cpu`, which needs no library"
            )));
        }
        Ok(if numbers < ONE_LIBRARY { Variant::OldGlibc } else { Variant::Present })
    }

    /// The contents of its file.
    pub fn bytes(self) -> Cow<'static, [u8]> {
        let Variant::OldGlibc = self else { return BYTES.into() };
        let (at, section) = FOR_OLD_GLIBC.split_first_chunk().expect("build.rs has written the offset");
        let at = u64::from_le_bytes(*at) as usize;
        let mut bytes = BYTES.to_vec();
        bytes[at..at + section.len()].copy_from_slice(section);
        bytes.into()
    }

    /// The name of its file in the cache.
    pub fn file_name(self) -> String {
        let suffix = if self == Variant::OldGlibc { "-old-glibc" } else { "" };
        format!("{}-{}{suffix}.so", super::NAME, &HASH[..32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn glibc_decides_which_it_is() {
        for version in ["2.34", "2.36", "2.100", "3.0", "2.41.9000", "strange", "2", ""] {
            assert!(matches!(Variant::of_glibc(version), Ok(Variant::Present)), "{version}");
        }
        for version in ["2.33", "2.31", "2.28"] {
            assert!(matches!(Variant::of_glibc(version), Ok(Variant::OldGlibc)), "{version}");
        }
        for version in ["2.27", "2.9", "1.99"] {
            let Err(Error::CannotRun(text)) = Variant::of_glibc(version) else { panic!("{version}") };
            assert!(text.contains(&format!("here is {version}")) && text.contains("--lens"), "{text}");
        }
        assert_ne!(Variant::Present.file_name(), Variant::OldGlibc.file_name());
    }

    /// The names of the files that a program under the library has mapped.
    fn mapped(variant: Variant) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(variant.file_name());
        std::fs::write(&file, variant.bytes()).unwrap();
        let output = Command::new("cat").arg("/proc/self/maps").env("LD_PRELOAD", &file).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let maps = String::from_utf8(output.stdout).unwrap();
        assert!(maps.contains(&variant.file_name()), "{maps}");
        maps.lines()
            .filter_map(|line| Path::new(line).file_name()?.to_str())
            .map(|name| format!("{name}\n"))
            .collect()
    }

    /// A present glibc has files of these names too, without code.
    #[test]
    fn only_that_for_an_old_glibc_brings_libpthread_and_libdl() {
        let is_there = |variant, library| mapped(variant).lines().any(|name| name.starts_with(library));
        for library in ["libpthread", "libdl"] {
            assert!(is_there(Variant::OldGlibc, library), "{library}");
            // Under an old glibc the other one cannot be loaded into this program.
            if matches!(Variant::of_this_machine(), Ok(Variant::Present)) {
                assert!(!is_there(Variant::Present, library), "{library}");
            }
        }
    }
}
