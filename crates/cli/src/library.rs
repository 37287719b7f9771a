//! The preload library that this binary carries inside itself, unpacked into the user's cache folder.

use crate::error::Error;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use unspin_sys::creds::Creds;

/// The library's bytes, as build.rs had them built.
static BYTES: &[u8] = include_bytes!(env!("UNSPIN_PRELOAD_FILE"));
/// SHA-256 of the bytes: another build is another file, and programs that run keep theirs.
const HASH: &str = env!("UNSPIN_PRELOAD_HASH");

/// How its file name begins.
pub const NAME: &str = "libunspin_preload";

/// The path of the unpacked library. Its contents are compared with what we carry at every use, so neither a
/// half-written nor an altered file is ever preloaded.
pub fn unpack() -> Result<PathBuf, Error> {
    let uid = Creds::current().uid;
    let folders = cache_folders(|name| std::env::var_os(name).map(PathBuf::from), uid);
    let mut refusals = Vec::new();
    for folder in folders {
        match unpack_into(&folder, uid) {
            Ok(path) => return Ok(path),
            Err(refusal) => refusals.push(refusal),
        }
    }
    let reasons = refusals.join("; ");
    Err(Error::Environment(format!(
        "the preload library cannot be unpacked (set XDG_CACHE_HOME to a folder of yours): {reasons}"
    )))
}

/// Where to try, in order: the XDG Base Directory Specification's places, then a private folder in /tmp.
fn cache_folders(variable: impl Fn(&str) -> Option<PathBuf>, uid: u32) -> Vec<PathBuf> {
    let xdg = variable("XDG_CACHE_HOME").filter(|p| p.is_absolute());
    let home = variable("HOME").filter(|p| p.is_absolute()).map(|home| home.join(".cache"));
    let cache = xdg.or(home).map(|cache| cache.join("unspin"));
    cache.into_iter().chain([PathBuf::from(format!("/tmp/unspin-{uid}"))]).collect()
}

fn unpack_into(folder: &Path, uid: u32) -> Result<PathBuf, String> {
    let named = |what: &str| format!("{}: {what}", folder.display());
    if folder.as_os_str().as_encoded_bytes().iter().any(|b| b": \t\n".contains(b)) {
        return Err(named("LD_PRELOAD cannot hold a path with a space or colon in it"));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| named(&e.to_string()))?;
    let metadata = fs::symlink_metadata(folder).map_err(|e| named(&e.to_string()))?;
    safe(&metadata, uid).map_err(named)?;
    if !metadata.is_dir() {
        return Err(named("is not a folder"));
    }
    let path = folder.join(format!("{NAME}-{}.so", &HASH[..32]));
    if !holds_our_bytes(&path, uid) {
        write_atomically(folder, &path).map_err(|e| named(&e.to_string()))?;
    }
    Ok(path)
}

/// Who could alter the file could run code as us.
fn safe(metadata: &Metadata, uid: u32) -> Result<(), &'static str> {
    if metadata.uid() != uid {
        return Err("belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return Err("others may write to it");
    }
    Ok(())
}

fn holds_our_bytes(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && safe(&m, uid).is_ok())
        && fs::read(path).is_ok_and(|bytes| bytes == BYTES)
}

/// Under another name first, so that nobody ever sees, or maps, half of it.
fn write_atomically(folder: &Path, path: &Path) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".unpacking-").tempfile_in(folder)?;
    file.write_all(BYTES)?;
    File::set_permissions(file.as_file(), Permissions::from_mode(0o755))?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_the_xdg_specification() {
        let folders = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, PathBuf)> =
                pairs.iter().map(|(n, v)| (n.to_string(), PathBuf::from(v))).collect();
            cache_folders(move |name| pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()), 7)
        };
        let tmp = PathBuf::from("/tmp/unspin-7");
        assert_eq!(
            folders(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]),
            [PathBuf::from("/c/unspin"), tmp.clone()]
        );
        assert_eq!(folders(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")])[0], PathBuf::from("/h/.cache/unspin"));
        assert_eq!(folders(&[]), [tmp]);
    }

    #[test]
    fn what_was_altered_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let uid = Creds::current().uid;
        let path = unpack_into(folder.path(), uid).unwrap();
        assert!(holds_our_bytes(&path, uid));
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(unpack_into(folder.path(), uid).as_ref(), Ok(&path));
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "an intact file is left alone");

        fs::write(&path, &BYTES[..BYTES.len() / 2]).unwrap();
        assert!(!holds_our_bytes(&path, uid));
        unpack_into(folder.path(), uid).unwrap();
        assert!(holds_our_bytes(&path, uid));

        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        unpack_into(folder.path(), uid).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn folders_that_others_may_write_to_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let uid = Creds::current().uid;
        assert!(unpack_into(&folder, uid).unwrap_err().contains("others may write"));
        assert!(unpack_into(&folder, uid + 1).unwrap_err().contains("another user"));
        assert!(unpack_into(&parent.path().join("a b"), uid).unwrap_err().contains("space or colon"));
    }
}
