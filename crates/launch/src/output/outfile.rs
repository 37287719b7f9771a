//! Files for results. `-` is standard output.

use crate::error::Error;
use crate::output::{stderr, stdout};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The permissions of a new file, less the umask. Others never write to it: a plan decides what runs in a program.
const NEW: u32 = 0o644;

/// The name that stands for standard output.
const STDOUT: &str = "-";

fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == STDOUT
}

/// Prints a report on standard output; if one of the results goes there, on standard error, so that a reader of the result
/// gets nothing else.
pub fn print_report(text: &str, results: &[Option<&Path>]) -> Result<(), Error> {
    if results.iter().flatten().any(|file| is_stdout(file)) {
        stderr::print(text);
        return Ok(());
    }
    stdout::print(text)
}

/// Checks, before anything is measured, whether a file can be written. Its contents are not changed. `option` is the
/// option that names it.
fn try_file(option: &str, file: &Path) -> Result<(), Error> {
    if is_stdout(file) {
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).create(true).mode(NEW).open(file);
    opened.map(drop).map_err(|e| Error::Usage(format!("{option} {}: {e}; {}", file.display(), remedy(&e))))
}

/// What to do about a file that cannot be opened.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "make its folder, or name another file",
        io::ErrorKind::IsADirectory => "name a file in this folder",
        io::ErrorKind::PermissionDenied => "name a file that you may write",
        _ => "name another file",
    }
}

/// Checks the files of several options, and that no two options name the same file, because only the last result would
/// be kept. Removes files that the check creates: an empty file would look like a result.
pub fn try_files(files: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let named = files.iter().filter_map(|&(_, file)| file).filter(|file| !is_stdout(file));
    let new: Vec<&Path> = named.filter(|file| !file.exists()).collect();
    let tried =
        files.iter().try_for_each(|&(option, file)| file.map_or(Ok(()), |file| try_file(option, file)));
    let checked = tried.and_then(|()| refuse_same_file(files));
    for file in new {
        // The target, if its name is a symbolic link.
        let Ok(file) = file.canonicalize() else { continue };
        if fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() == 0) {
            let _ = fs::remove_file(file);
        }
    }
    checked
}

/// Refuses two names of one file. A device, such as /dev/null, can take several outputs.
pub fn refuse_same_file(files: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let mut to_stdout = files.iter().filter(|(_, file)| file.is_some_and(is_stdout));
    if let (Some((first, _)), Some((second, _))) = (to_stdout.next(), to_stdout.next()) {
        return Err(Error::Usage(format!("{second} -: {first} writes to standard output too: name a file")));
    }
    let mut seen: Vec<(&str, (u64, u64))> = Vec::new();
    for &(option, file) in files {
        let Some(file) = file.filter(|file| !is_stdout(file)) else { continue };
        let Some(about) = fs::metadata(file).ok().filter(fs::Metadata::is_file) else { continue };
        let identity = (about.dev(), about.ino());
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == identity) {
            let file = file.display();
            return Err(Error::Usage(format!("{option} {file}: {other} is the same file: name another")));
        }
        seen.push((option, identity));
    }
    Ok(())
}

/// Refuses an output that is one of the files that are read, which it would replace: with the label of those for the message.
pub fn refuse_replacing<F: AsRef<Path>>(
    label: &str,
    read: &[F],
    outputs: &[(&str, Option<&Path>)],
) -> Result<(), Error> {
    // A word `-` of a command is none of unspin's.
    let files = || read.iter().map(AsRef::as_ref).filter(|file| !is_stdout(file));
    let mut pairs = outputs.iter().flat_map(|output| files().map(move |file| (file, *output)));
    pairs.try_for_each(|(file, output)| refuse_same_file(&[(label, Some(file)), output]))
}

/// Whether two names are those of one regular file. Equal names are, also if there is no such file yet.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let identity = |file: &Path| {
        let about = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
        Some((about.dev(), about.ino()))
    };
    one == other || identity(one).is_some_and(|about| identity(other) == Some(about))
}

/// Writes a file: to a temporary file beside it, which then replaces it, so that a reader never sees a part of it.
/// Devices, and files in folders in which no other file can be created, are written directly.
pub fn write(file: &Path, contents: &[u8]) -> Result<(), Error> {
    if is_stdout(file) {
        return stdout::write(contents);
    }
    let written = match replace(file, contents) {
        Some(result) => result,
        None => direct(file, contents),
    };
    written.map_err(|e| Error::at(file, "the result cannot be written here", e))
}

/// Adds to the end of a file that several commands write to one after another.
pub fn append(file: &Path, contents: &[u8]) -> Result<(), Error> {
    if is_stdout(file) {
        return stdout::write(contents);
    }
    let opened = OpenOptions::new().append(true).create(true).mode(NEW).open(file);
    let written = opened.and_then(|mut file| file.write_all(contents));
    written.map_err(|e| Error::at(file, "the result cannot be added here", e))
}

/// Writes a file that all users may read, with these permissions whatever the umask: to a temporary file beside it, which then
/// replaces it, so that no process maps a part of it. Nothing but a regular file is replaced.
pub fn write_for_all(file: &Path, contents: &[u8], mode: u32) -> Result<(), Error> {
    let wrong = |why: &str| Error::Usage(format!("{}: {why}", file.display()));
    match fs::metadata(file) {
        Ok(about) if about.is_dir() => return Err(wrong("is a folder: name a file in it")),
        Ok(about) if !about.is_file() => return Err(wrong("is not a regular file: name another")),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            return Err(wrong(&format!("{e}; name another file")));
        }
        _ => {}
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || {
        let mut temporary = tempfile::Builder::new().prefix(".unspin-").tempfile_in(folder)?;
        temporary.write_all(contents)?;
        fs::File::set_permissions(temporary.as_file(), Permissions::from_mode(mode))?;
        temporary.persist(file).map_err(|e| e.error).map(drop)
    };
    written().map_err(|e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => wrong("there is no such folder: make it, or name another file"),
        io::ErrorKind::PermissionDenied => wrong("you may not write there: name a file that you may write"),
        io::ErrorKind::ReadOnlyFilesystem => wrong("its file system cannot be written to: name another file"),
        _ => Error::at(file, "cannot be written", e),
    })
}

/// Writes into the file, which may be a device.
fn direct(file: &Path, contents: &[u8]) -> io::Result<()> {
    let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(NEW).open(file)?;
    open.write_all(contents)
}

/// Replaces the file; none if this is impossible for it.
fn replace(file: &Path, contents: &[u8]) -> Option<io::Result<()>> {
    let known = fs::metadata(file).ok();
    let file = match &known {
        Some(about) if about.is_file() => file.canonicalize().ok()?,
        Some(_) => return None,
        // A symbolic link to a missing file stays a link.
        None if file.is_symlink() => return None,
        None => file.to_owned(),
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = known.map_or(Permissions::from_mode(NEW), |about| about.permissions());
    let mut temporary =
        tempfile::Builder::new().prefix(".unspin-").permissions(mode.clone()).tempfile_in(folder).ok()?;
    // The umask applies only to new files.
    let filled = temporary.write_all(contents).and_then(|()| match file.exists() {
        true => fs::set_permissions(temporary.path(), mode),
        false => Ok(()),
    });
    Some(filled.and_then(|()| temporary.persist(&file).map(drop).map_err(|e| e.error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn write_replaces_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result.json");
        fs::write(&file, "an older and longer result").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let before = fs::metadata(&file).unwrap().ino();
        write(&link, b"new").unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"new".to_vec(), 0o640));
        assert_ne!(fs::metadata(&file).unwrap().ino(), before, "it was replaced, not overwritten");
        assert!(link.is_symlink());
        assert_eq!(names(folder.path()), 2, "nothing is left beside it");
        let new = folder.path().join("new.json");
        write(&new, b"new").unwrap();
        assert_eq!(mode(&new) & 0o600, 0o600);
        write(Path::new("/dev/null"), b"new").unwrap();
    }

    #[test]
    fn append_keeps_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("summary.md");
        append(&file, b"a\n").unwrap();
        append(&file, b"b\n").unwrap();
        append(Path::new("-"), b"").unwrap();
        assert!(!Path::new("-").exists(), "that is standard output");
        assert_eq!(fs::read(&file).unwrap(), b"a\nb\n");
    }

    #[test]
    fn hyphen_is_standard_output_for_one_option() {
        let hyphen = Some(Path::new("-"));
        assert!(try_files(&[("--json", hyphen), ("--pprof", None)]).is_ok());
        let error = try_files(&[("--json", hyphen), ("--pprof", hyphen)]).unwrap_err().to_string();
        assert_eq!(error, "--pprof -: --json writes to standard output too: name a file");
        assert!(!Path::new("-").exists());
    }

    #[test]
    fn check_leaves_no_empty_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result.json");
        try_files(&[("--json", Some(&file))]).unwrap();
        assert_eq!(names(folder.path()), 0);
        assert!(try_files(&[("--json", Some(&file)), ("--plan", Some(&file))]).is_err());
        assert_eq!(names(folder.path()), 0);
        fs::write(&file, "").unwrap();
        try_files(&[("--json", Some(&file))]).unwrap();
        assert_eq!(names(folder.path()), 1, "what was there stays");
    }
}
