//! The user's cache folder: files that programs read long after we are gone. What a file holds decides what it is called, so
//! that nobody's is ever changed.

use crate::error::Error;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use unspin_sys::creds::Creds;

/// A file of the cache.
#[derive(Clone, Copy, Debug)]
pub struct CachedFile<'f> {
    /// What it is, for the user.
    pub what: &'static str,
    /// Its name, which no file of other contents has.
    pub name: &'f str,
    /// Its contents.
    pub bytes: &'f [u8],
    /// Its permissions.
    pub mode: u32,
}

/// Its path. The contents are compared at every use, so neither a half-written nor an altered file is ever used.
pub fn keep(file: &CachedFile<'_>) -> Result<PathBuf, Error> {
    let uid = Creds::current().uid;
    let folders = cache_folders(|name| std::env::var_os(name).map(PathBuf::from), uid);
    let mut refusals = Vec::new();
    for folder in folders {
        match keep_in(&folder, uid, file) {
            Ok(path) => return Ok(path),
            Err(refusal) => refusals.push(refusal),
        }
    }
    let (what, reasons) = (file.what, refusals.join("; "));
    Err(Error::Environment(format!(
        "{what} cannot be unpacked (set XDG_CACHE_HOME to a folder of yours): {reasons}"
    )))
}

/// Removes the files beside `kept` whose names begin in the same way, which nobody has used for as long, and which no running
/// program's environment names.
pub fn sweep(kept: &Path, prefix: &str, unused: Duration) {
    let Some(folder) = kept.parent() else { return };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    let old = files.filter(|path| path != kept && ours(path) && is_old(path, unused));
    let old: Vec<PathBuf> = old.collect();
    if old.is_empty() {
        return;
    }
    let environments = environments();
    for path in old.iter().filter(|path| !is_named(path, &environments)) {
        // Another unspin may be at the same.
        let _ = fs::remove_file(path);
    }
}

fn is_old(path: &Path, unused: Duration) -> bool {
    let touched = fs::symlink_metadata(path).and_then(|about| about.modified()).ok();
    touched.and_then(|touched| touched.elapsed().ok()).is_some_and(|age| age >= unused)
}

/// Of all processes that we may look at, as they were when these began.
fn environments() -> Vec<Vec<u8>> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| fs::read(process.path().join("environ")).ok()).collect()
}

fn is_named(path: &Path, environments: &[Vec<u8>]) -> bool {
    let value = path.as_os_str().as_encoded_bytes();
    let names = |variable: &[u8]| variable.ends_with(value);
    environments.iter().any(|environment| environment.split(|&byte| byte == 0).any(names))
}

/// Where to try, in order: the XDG Base Directory Specification's places, then a private folder in /tmp.
fn cache_folders(variable: impl Fn(&str) -> Option<PathBuf>, uid: u32) -> Vec<PathBuf> {
    let xdg = variable("XDG_CACHE_HOME").filter(|p| p.is_absolute());
    let home = variable("HOME").filter(|p| p.is_absolute()).map(|home| home.join(".cache"));
    let cache = xdg.or(home).map(|cache| cache.join("unspin"));
    cache.into_iter().chain([PathBuf::from(format!("/tmp/unspin-{uid}"))]).collect()
}

fn keep_in(folder: &Path, uid: u32, file: &CachedFile<'_>) -> Result<PathBuf, String> {
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
    let path = folder.join(file.name);
    match holds(&path, uid, file) {
        // Used now: nothing to sweep.
        true => drop(
            File::options().write(true).open(&path).and_then(|open| open.set_modified(SystemTime::now())),
        ),
        false => write_atomically(folder, &path, file).map_err(|e| named(&e.to_string()))?,
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

fn holds(path: &Path, uid: u32, file: &CachedFile<'_>) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && safe(&m, uid).is_ok())
        && fs::read(path).is_ok_and(|bytes| bytes == file.bytes)
}

/// Under another name first, so that nobody ever sees, or maps, half of it.
fn write_atomically(folder: &Path, path: &Path, file: &CachedFile<'_>) -> std::io::Result<()> {
    let mut unnamed = tempfile::Builder::new().prefix(".unpacking-").tempfile_in(folder)?;
    unnamed.write_all(file.bytes)?;
    File::set_permissions(unnamed.as_file(), Permissions::from_mode(file.mode))?;
    unnamed.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: CachedFile<'_> =
        CachedFile { what: "the file", name: "x-1.so", bytes: b"bytes", mode: 0o755 };

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
        let path = keep_in(folder.path(), uid, &FILE).unwrap();
        assert!(holds(&path, uid, &FILE));
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(keep_in(folder.path(), uid, &FILE).as_ref(), Ok(&path));
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "an intact file is left alone");

        fs::write(&path, &FILE.bytes[..2]).unwrap();
        assert!(!holds(&path, uid, &FILE));
        keep_in(folder.path(), uid, &FILE).unwrap();
        assert!(holds(&path, uid, &FILE));

        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        keep_in(folder.path(), uid, &FILE).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn folders_that_others_may_write_to_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let uid = Creds::current().uid;
        assert!(keep_in(&folder, uid, &FILE).unwrap_err().contains("others may write"));
        assert!(keep_in(&folder, uid + 1, &FILE).unwrap_err().contains("another user"));
        assert!(keep_in(&parent.path().join("a b"), uid, &FILE).unwrap_err().contains("space or colon"));
    }

    #[test]
    fn what_is_old_and_named_by_nobody_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["plan-old", "plan-kept", "plan-named", "other-old"] {
            fs::write(path(name), "").unwrap();
        }
        let mut child =
            std::process::Command::new("sleep").arg("60").env("PLAN", path("plan-named")).spawn().unwrap();
        sweep(&path("plan-kept"), "plan-", Duration::from_secs(3600));
        assert!(path("plan-old").exists(), "it is not an hour old");
        sweep(&path("plan-kept"), "plan-", Duration::ZERO);
        assert!(!path("plan-old").exists());
        assert!(path("plan-kept").exists() && path("plan-named").exists() && path("other-old").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        sweep(&path("plan-kept"), "plan-", Duration::ZERO);
        assert!(!path("plan-named").exists());
    }
}
