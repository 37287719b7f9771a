//! The preload library. It is embedded in this binary and unpacked into the cache folder.

pub mod cache;
pub mod environment;
mod variant;

use crate::error::Error;
use crate::library::cache::CachedFile;
use crate::library::variant::Variant;
use crate::output::{outfile, shell, stderr};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Prefix of its file name.
pub const NAME: &str = "libunspin_preload";

/// The path by which `LD_PRELOAD` names the unpacked library. Its contents are compared with the embedded bytes at every
/// use, so a half-written or altered file is never preloaded.
pub fn unpack() -> Result<PathBuf, Error> {
    let variant = Variant::of_this_machine()?;
    let (name, bytes) = (variant.file_name(), variant.bytes());
    let file =
        cache::keep(&CachedFile { what: "the preload library", name: &name, bytes: &bytes, mode: 0o755 })?;
    Ok(for_glibc(&file).unwrap_or_else(|obstacle| {
        // If the folder or its file system permits no links, the path of the file itself must do.
        if let Some(obstacle) = obstacle {
            stderr::say(format_args!(
                "{}: it is in the place of a link that keeps the library from programs of other C libraries: remove it",
                shell::quote(&obstacle)
            ));
        }
        file
    }))
}

/// The name of the library's file beside a deployed plan.
pub const FILE: &str = "libunspin_preload.so";

/// Writes the library where the user wants it. All users may read it, whatever the umask: a service gives up root.
pub fn write(file: &Path) -> Result<(), Error> {
    outfile::write_for_all(file, &Variant::of_this_machine()?.bytes(), 0o755)
}

/// The texts that glibc's dynamic linker puts in place of `$LIB`: the last part of the folder of its libraries, or the
/// last two parts, as on Debian (ld.so(8), "Dynamic string tokens").
const GLIBC_LIB: [&str; 3] = ["lib", "lib64", "lib/x86_64-linux-gnu"];

/// The rest of `$LIB` if a makefile sets `LD_PRELOAD = $(LD_PRELOAD)`: make replaces `$L`, an empty variable, by
/// nothing.
const MAKES_LIB: &str = "IB";

/// A path of this file that only glibc's dynamic linker finds. musl's would load the library into a program of musl, and fail
/// because it lacks glibc; a path that it does not find it ignores. It does not replace `$LIB`, and neither does a shell where a
/// variable has the text. An error if there are no links: with the file that has the place of one, if that is why.
fn for_glibc(file: &Path) -> Result<PathBuf, Option<PathBuf>> {
    let (folder, name) = file.parent().zip(file.file_name()).ok_or(None)?;
    for lib in GLIBC_LIB.into_iter().chain([MAKES_LIB]) {
        // `lib` leads to the folder itself, so that `lib/x86_64-linux-gnu` is a link in it, too.
        let link = folder.join(Path::new(lib).file_name().ok_or(None)?);
        let leads_here = || fs::read_link(&link).is_ok_and(|to| to.as_os_str() == ".");
        // Another process may have created it meanwhile.
        if !leads_here() && symlink(".", &link).is_err() && !leads_here() {
            return Err(fs::symlink_metadata(&link).is_ok().then_some(link));
        }
    }
    Ok(folder.join("$LIB").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_for_glibc_leads_to_the_file_by_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("library.so");
        fs::write(&file, "library").unwrap();
        let path = folder.path().join("$LIB/library.so");
        assert_eq!(for_glibc(&file).as_ref(), Ok(&path));
        assert_eq!(for_glibc(&file).as_ref(), Ok(&path), "the links are there");
        assert!(!path.exists(), "without glibc nothing is found");
        for lib in GLIBC_LIB.into_iter().chain([MAKES_LIB]) {
            let named = path.to_str().unwrap().replace("$LIB", lib);
            assert_eq!(fs::canonicalize(named).unwrap(), fs::canonicalize(&file).unwrap());
        }
        fs::remove_file(folder.path().join("lib64")).unwrap();
        fs::write(folder.path().join("lib64"), "not a link").unwrap();
        assert_eq!(for_glibc(&file), Err(Some(folder.path().join("lib64"))));
        assert_eq!(for_glibc(Path::new("/no/such/folder/library.so")), Err(None));
    }
}
