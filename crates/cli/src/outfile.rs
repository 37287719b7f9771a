//! Files that the user wants results in.

use crate::error::Error;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Finds out, before anything is measured, whether a file can be written. What it holds stays until then. `option` is
/// what asked for it.
pub fn try_file(option: &str, file: &Path) -> Result<(), Error> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|e| Error::Usage(format!("{option} {}: {e}", file.display())))
}

/// The same for each file that an option names; and that no two are one, of which only the last would be left.
pub fn try_files(files: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    for &(option, file) in files {
        file.map_or(Ok(()), |file| try_file(option, file))?;
    }
    tell_apart(files)
}

/// Refuses two names of one file. A device, such as /dev/null, can take several outputs.
pub fn tell_apart(files: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let mut seen: Vec<(&str, (u64, u64))> = Vec::new();
    for &(option, file) in files {
        let Some(file) = file else { continue };
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

/// Writes it.
pub fn write(file: &Path, contents: &[u8]) -> Result<(), Error> {
    fs::write(file, contents).map_err(|e| Error::at(file, "the result cannot be written here", e))
}
