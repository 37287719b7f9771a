//! The cache folder. It holds files that programs read long after unspin has ended. A file's name depends on its
//! contents, so a file in use is never changed.
//!
//! A user's cache is private. Root's cache is the machine's and readable by all users. A program that root starts may
//! change its user (su(1), a server that gives up root) and execute other programs; the dynamic linker then loads the
//! library as that user.

mod ancestor;

use crate::error::Error;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use unspin_sys::creds::Creds;
use unspin_sys::file_system::FileSystem;
use unspin_sys::regular::{self, Links};

/// A file of the cache, with its name and contents.
#[derive(Clone, Copy, Debug)]
pub struct CachedFile<'f> {
    /// What the file is, for messages.
    pub what: &'static str,
    /// The file's name. No file with other contents has the same name.
    pub name: &'f str,
    /// The file's contents.
    pub bytes: &'f [u8],
    /// The file's permissions.
    pub mode: u32,
}

/// Stores the file unless it is there, and returns its path. The contents are compared at every use, so a
/// half-written or altered file is never used.
pub fn keep(file: &CachedFile<'_>) -> Result<PathBuf, Error> {
    let uid = Creds::current().uid;
    let mut refusals = Vec::new();
    for folder in folders(uid) {
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

/// A folder of this name in the cache, for files that are too large to be compared at every use. No other user can replace one.
pub fn folder(name: &str) -> Result<PathBuf, Error> {
    let uid = Creds::current().uid;
    let mut refusals = Vec::new();
    for candidate in folders(uid) {
        let within = Folder { path: candidate.path.join(name), readers: candidate.readers };
        match usable(&candidate, uid).and_then(|_| usable(&within, uid)) {
            Ok(path) => return Ok(path),
            Err(refusal) => refusals.push(refusal),
        }
    }
    let reasons = refusals.join("; ");
    Err(Error::Environment(format!(
        "there is no folder for {name} (set XDG_CACHE_HOME to a folder of yours): {reasons}"
    )))
}

/// Bytes of a short text in the cache.
const TEXT_MAX: u64 = 4096;

/// A short text that [`remember`] has stored; none if there is none, or if another user may have written it.
pub fn recall(name: &str) -> Option<String> {
    let uid = Creds::current().uid;
    // A folder that does not have it is not made.
    let folders = folders(uid);
    let mut having = folders.iter().filter(|folder| folder.path.join(name).exists());
    having.find_map(|folder| {
        let path = usable(folder, uid).ok()?.join(name);
        let file = regular::open(&path, Links::Refused).ok()?;
        safe(&file.metadata().ok()?, uid).ok()?;
        String::from_utf8(regular::read_open(file, TEXT_MAX).ok()?).ok()
    })
}

/// Stores a short text, and removes all others whose names begin with `prefix`. If the cache cannot store it, the next
/// unspin finds the text out anew.
pub fn remember(name: &str, prefix: &str, text: &str) {
    let uid = Creds::current().uid;
    let file = CachedFile { what: "a text", name, bytes: text.as_bytes(), mode: 0o644 };
    let stored = folders(uid).iter().find_map(|folder| {
        let folder = usable(folder, uid).ok()?;
        let path = folder.join(name);
        write_atomically(&folder, &path, &file).ok().map(|()| path)
    });
    if let Some(path) = stored {
        sweep(&path, prefix, Duration::ZERO);
    }
}

/// Number of files of one kind that may wait until they reach the age for removal.
const MANY: usize = 200;
/// The age at which files beyond that number are removed.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Removes files beside `kept` whose names begin with `prefix`, if they have not been used for `unused`, or for a day if there are
/// many, and no running program's environment names them.
pub fn sweep(kept: &Path, prefix: &str, unused: Duration) {
    let Some(folder) = kept.parent() else { return };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    let mut old: Vec<PathBuf> = files.filter(|path| path != kept && ours(path)).collect();
    let unused = if old.len() > MANY { unused.min(DAY) } else { unused };
    old.retain(|path| is_old(path, unused));
    if old.is_empty() {
        return;
    }
    let Some(environments) = environments() else { return };
    for path in old.iter().filter(|path| !is_named(path, &environments)) {
        // Another unspin process may remove the same file.
        let _ = fs::remove_file(path);
    }
}

fn is_old(path: &Path, unused: Duration) -> bool {
    let touched = fs::symlink_metadata(path).and_then(|about| about.modified()).ok();
    touched.and_then(|touched| touched.elapsed().ok()).is_some_and(|age| age >= unused)
}

/// The initial environments of all processes that we may read. None if the environment of a process did not become
/// readable.
fn environments() -> Option<Vec<Vec<u8>>> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
    let readable = processes.filter(|process| File::open(process.join("environ")).is_ok());
    readable.map(|process| environment(&process)).collect()
}

/// The initial environment of one process. For some microseconds during `exec` it is empty; the function waits for
/// the end of `exec`.
fn environment(process: &Path) -> Option<Vec<u8>> {
    for _ in 0..1000 {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if !environment.is_empty() || has_none(process) {
            return Some(environment);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Whether a process has an empty environment: it was started with one, it is a kernel thread, or it has ended. In
/// `/proc/PID/stat` (proc(5)) `exec` sets `env_start` and `env_end` (fields 50 and 51) before `startcode` (field 26).
/// While `startcode` is 0, they have no meaning.
fn has_none(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3);
    let is_empty = field(26).is_some_and(|&code| code != "0") && field(50) == field(51);
    is_empty || fs::read_link(process.join("exe")).is_err()
}

fn is_named(path: &Path, environments: &[Vec<u8>]) -> bool {
    let value = path.as_os_str().as_encoded_bytes();
    let names = |variable: &[u8]| variable.ends_with(value);
    environments.iter().any(|environment| environment.split(|&byte| byte == 0).any(names))
}

/// A candidate for the cache folder.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Folder {
    path: PathBuf,
    readers: Readers,
}

/// The users for which a folder is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Readers {
    /// The folder's owner.
    Owner,
    /// All users. No user except root may be able to replace the folder.
    All,
}

/// Root's cache: "application cache data" of the Filesystem Hierarchy Standard. (`/run` is often mounted noexec, so
/// no library can be loaded from there.)
const MACHINES: &str = "/var/cache/unspin";

/// The candidates, in order: the places of the XDG Base Directory Specification, then a private folder in one for temporary files. For
/// root the machine's folder comes before the home, because under sudo(8) the home may be another user's.
fn cache_folders(variable: impl Fn(&str) -> Option<PathBuf>, uid: u32) -> Vec<Folder> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let own = |path: PathBuf| Folder { path, readers: Readers::Owner };
    // A container may have a read-only root, no home, and any user.
    let temporary = absolute("TMPDIR").into_iter().chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    let mut tmp: Vec<Folder> = Vec::new();
    for folder in temporary.map(|folder| own(folder.join(format!("unspin-{uid}")))) {
        if !tmp.contains(&folder) {
            tmp.push(folder);
        }
    }
    if let Some(xdg) = absolute("XDG_CACHE_HOME") {
        return [own(xdg.join("unspin"))].into_iter().chain(tmp).collect();
    }
    let machines = (uid == 0).then(|| Folder { path: MACHINES.into(), readers: Readers::All });
    let home = absolute("HOME").map(|home| own(home.join(".cache/unspin")));
    machines.into_iter().chain(home).chain(tmp).collect()
}

/// The candidates of this process.
fn folders(uid: u32) -> Vec<Folder> {
    cache_folders(|name| std::env::var_os(name).map(PathBuf::from), uid)
}

/// The path of a folder that exists, or has just been made, and in which no other user can replace a file.
fn usable(folder: &Folder, uid: u32) -> Result<PathBuf, String> {
    let Folder { path: folder, readers } = folder;
    let named = |what: &str| format!("{}: {what}", folder.display());
    let folder = match readers {
        Readers::Owner => make_for_owner(folder, uid),
        Readers::All => make_for_all(folder, uid).map(|()| folder.clone()),
    }
    .map_err(|e| named(&e.to_string()))?;
    if folder.as_os_str().as_encoded_bytes().iter().any(|b| b": \t\n$".contains(b)) {
        return Err(named("LD_PRELOAD cannot hold a path with a space, a colon or a dollar sign in it"));
    }
    let metadata = fs::symlink_metadata(&folder).map_err(|e| named(&e.to_string()))?;
    safe(&metadata, uid).map_err(named)?;
    if !metadata.is_dir() {
        return Err(named("is not a folder"));
    }
    Ok(folder)
}

fn keep_in(folder: &Folder, uid: u32, file: &CachedFile<'_>) -> Result<PathBuf, String> {
    let folder = usable(folder, uid)?;
    // Of a library that is in such a file system the dynamic linker says that it cannot be preloaded.
    if file.mode & 0o111 != 0 && FileSystem::of(&folder).is_ok_and(|system| system.is_noexec) {
        return Err(format!("{}: is mounted noexec, so no library can be loaded from it", folder.display()));
    }
    let path = folder.join(file.name);
    match holds(&path, uid, file) {
        // Marks the file as used now, so that it is not swept.
        true => drop(
            File::options().write(true).open(&path).and_then(|open| open.set_modified(SystemTime::now())),
        ),
        false => write_atomically(&folder, &path, file)
            .map_err(|e| Error::failed(&folder.display().to_string(), &e).to_string())?,
    }
    Ok(path)
}

/// Makes a folder for its owner, and the missing folders above it. Returns its path without symbolic links, because
/// another user may own one of them. Refuses a folder that another user could replace.
fn make_for_owner(folder: &Path, uid: u32) -> std::io::Result<PathBuf> {
    let check = |above: &Path| {
        ancestor::check(above, uid)?
            .map_err(|why| std::io::Error::other(format!("{} {why}", above.display())))
    };
    let there = folder.ancestors().skip(1).find_map(|above| fs::canonicalize(above).ok());
    there.iter().flat_map(|there| there.ancestors()).try_for_each(check)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let made = fs::canonicalize(folder)?;
    made.ancestors().skip(1).try_for_each(check)?;
    Ok(made)
}

/// Makes a folder that all users may read, regardless of the umask, unless it exists. The folders above must belong
/// to `uid` and be writable for it only, so that no other user can rename the folder.
fn make_for_all(folder: &Path, uid: u32) -> std::io::Result<()> {
    for above in folder.ancestors().skip(1) {
        let about = fs::symlink_metadata(above)?;
        let refused = if about.is_dir() { safe(&about, uid).err() } else { Some("is not a folder") };
        if let Some(why) = refused {
            return Err(std::io::Error::other(format!("{} {why}", above.display())));
        }
    }
    match DirBuilder::new().mode(0o755).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o755)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A user who can alter the file can run code as us.
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

/// Writes the file under a temporary name first, so that no process reads or maps a half-written file.
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

    /// A user's folder.
    fn own(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), readers: Readers::Owner }
    }

    fn folders(pairs: &[(&str, &str)], uid: u32) -> Vec<Folder> {
        let variable =
            |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| PathBuf::from(value));
        cache_folders(variable, uid)
    }

    #[test]
    fn folders_follow_the_xdg_specification() {
        let tmp = ["/tmp/unspin-7", "/var/tmp/unspin-7", "/dev/shm/unspin-7"].map(own);
        let with = |first: &[Folder]| [first, &tmp].concat();
        let xdg_first = folders(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")], 7);
        assert_eq!(xdg_first, with(&[own("/c/unspin")]));
        let home = folders(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")], 7);
        assert_eq!(home, with(&[own("/h/.cache/unspin")]));
        assert_eq!(folders(&[("TMPDIR", "/t")], 7), [&[own("/t/unspin-7")], &tmp[..]].concat());
        assert_eq!(folders(&[("TMPDIR", "/var/tmp")], 7)[0], tmp[1], "once");
    }

    #[test]
    fn roots_folder_is_the_machines_unless_another_is_named() {
        let machines = Folder { path: MACHINES.into(), readers: Readers::All };
        let (home, tmp) = (own("/home/joe/.cache/unspin"), own("/tmp/unspin-0"));
        assert_eq!(folders(&[("HOME", "/home/joe")], 0)[..3], [machines, home, tmp.clone()]);
        assert_eq!(folders(&[("XDG_CACHE_HOME", "/c")], 0)[..2], [own("/c/unspin"), tmp]);
    }

    #[test]
    fn the_machines_folder_lies_where_nobody_else_can_rename_it() {
        let parent = tempfile::tempdir().unwrap();
        let uid = Creds::current().uid;
        let path = parent.path().join("unspin");
        // The folder above is /tmp, to which all users may write.
        let refused = make_for_all(&path, uid).unwrap_err().to_string();
        assert!(refused.contains("others may write to it") || refused.contains("another user"), "{refused}");
        assert!(!path.exists());
    }

    #[test]
    fn nothing_is_kept_beneath_a_folder_of_another_user() {
        let parent = tempfile::tempdir().unwrap();
        let uid = Creds::current().uid;
        let home = parent.path().join("home");
        fs::create_dir(&home).unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        for home in [&home, &link] {
            assert!(keep_in(&own(home.join(".cache/unspin")), uid, &FILE).is_ok());
            // Called as another user: for that user, the folders above belong to a foreign user.
            let refused = make_for_owner(&home.join("new"), uid + 1);
            assert_eq!(refused.is_err(), uid != 0, "root's folders are the machine's");
        }
        if std::os::unix::fs::chown(&home, Some(7), None).is_err() {
            let _ = writeln!(std::io::stderr(), "SKIPPED in part: to give a folder away takes root");
            return;
        }
        for home in [&home, &link] {
            let refused = keep_in(&own(home.join(".cache/unspin")), uid, &FILE).unwrap_err();
            assert!(refused.contains("home belongs to another user"), "{refused}");
        }
    }

    /// Another user could rename a folder beneath.
    #[test]
    fn nothing_is_kept_beneath_a_folder_that_others_may_write_to() {
        let parent = tempfile::tempdir().unwrap();
        let uid = Creds::current().uid;
        let open = parent.path().join("open");
        fs::create_dir_all(open.join("mine")).unwrap();
        let with_mode = |mode| {
            fs::set_permissions(&open, Permissions::from_mode(mode)).unwrap();
            keep_in(&own(open.join("mine/unspin")), uid, &FILE)
        };
        assert!(with_mode(0o777).unwrap_err().contains("open lets others write to it"));
        assert!(with_mode(0o1777).is_ok(), "only its owner renames a folder there");
        assert!(with_mode(0o755).is_ok());
    }

    /// The owner of a link could name another folder by it.
    #[test]
    fn path_of_a_file_has_no_links() {
        let parent = tempfile::tempdir().unwrap();
        let (real, link) = (parent.path().join("real"), parent.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let path = keep_in(&own(link.join("unspin")), Creds::current().uid, &FILE).unwrap();
        assert_eq!(path, real.canonicalize().unwrap().join("unspin").join(FILE.name));
    }

    #[test]
    fn altered_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let uid = Creds::current().uid;
        let path = keep_in(&own(folder.path()), uid, &FILE).unwrap();
        assert!(holds(&path, uid, &FILE));
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(keep_in(&own(folder.path()), uid, &FILE).as_ref(), Ok(&path));
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "an intact file is left alone");

        fs::write(&path, &FILE.bytes[..2]).unwrap();
        assert!(!holds(&path, uid, &FILE));
        keep_in(&own(folder.path()), uid, &FILE).unwrap();
        assert!(holds(&path, uid, &FILE));

        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        keep_in(&own(folder.path()), uid, &FILE).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn folders_that_others_may_write_to_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let uid = Creds::current().uid;
        assert!(keep_in(&own(&folder), uid, &FILE).unwrap_err().contains("others may write"));
        assert!(keep_in(&own(&folder), uid + 1, &FILE).unwrap_err().contains("another user"));
        assert!(
            keep_in(&own(parent.path().join("a b")), uid, &FILE).unwrap_err().contains("a space, a colon")
        );
    }

    #[test]
    fn unused_old_file_is_removed() {
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

    #[test]
    fn many_unused_files_are_removed_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let make = |number: usize| {
            let file = File::create(path(&format!("plan-{number}"))).unwrap();
            file.set_modified(SystemTime::now() - 2 * DAY).unwrap();
        };
        (0..MANY).for_each(make);
        sweep(&path("plan-kept"), "plan-", 30 * DAY);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MANY);
        make(MANY);
        File::create(path("plan-new")).unwrap();
        sweep(&path("plan-kept"), "plan-", 30 * DAY);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the new one stays");
    }

    /// `spawn` returns as soon as the child has left our memory, before it has arguments and environment of its own.
    #[test]
    fn starting_program_keeps_its_files() {
        for _ in 0..300 {
            let mut child =
                std::process::Command::new("sleep").arg("60").env("PLAN", "/plan").spawn().unwrap();
            let environment = environment(&PathBuf::from(format!("/proc/{}", child.id()))).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(is_named(Path::new("/plan"), &[environment]));
        }
    }
}
