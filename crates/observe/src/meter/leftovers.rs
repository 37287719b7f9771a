//! `unspin report --leftovers`: recordings of runs that were killed.

use super::recorded_program::{RECORDING, processes_with};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use unspin_launch::error::Error;
use unspin_launch::output::shell::on_one_line;
use unspin_launch::output::{scratch, stdout};
use unspin_report::shell_line;
use unspin_sys::creds::Creds;
use unspin_wire::Recording;

/// What to do with the recordings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftoversAction {
    /// List them.
    List,
    /// Remove those that no process uses.
    Remove,
}

/// A folder of an unspin that is dead.
struct Leftover {
    folder: PathBuf,
    /// Bytes that it occupies.
    bytes: u64,
    age: Duration,
    /// The command that was metered, as far as it is known.
    command: String,
    /// Processes that still record.
    users: usize,
}

/// Lists or removes the recordings of killed runs.
pub fn run(action: LeftoversAction) -> Result<(), Error> {
    let uid = Creds::current().uid;
    let folders = [scratch::METER, scratch::PROVE].map(|owner| scratch::abandoned_folders(owner, uid));
    let mut all: Vec<Leftover> = folders.into_iter().flatten().map(Leftover::new).collect();
    all.sort_by_key(|leftover| leftover.age);
    match action {
        LeftoversAction::List => stdout::print(&list(&all)),
        LeftoversAction::Remove => remove(&all),
    }
}

fn list(all: &[Leftover]) -> String {
    if all.is_empty() {
        return "No recording is left over.\n".into();
    }
    let paths: Vec<String> = all.iter().map(|leftover| on_one_line(&leftover.location())).collect();
    let width = paths.iter().map(String::len).max().unwrap_or(0);
    let mut text = format!("{:width$}      SIZE   AGE  COMMAND\n", "RECORDING");
    for (leftover, path) in all.iter().zip(&paths) {
        let used = match leftover.users {
            0 => String::new(),
            1 => " (1 process still records)".into(),
            n => format!(" ({n} processes still record)"),
        };
        let (size, age) = (mebibytes(leftover.bytes), age(leftover.age));
        text += &format!("{path:width$} {size:>9} {age:>5}  {}{used}\n", leftover.command);
    }
    text + "\nPrint one:  unspin report RECORDING\nRemove all: unspin report --leftovers --remove\n"
}

fn remove(all: &[Leftover]) -> Result<(), Error> {
    let (used, unused): (Vec<&Leftover>, Vec<&Leftover>) =
        all.iter().partition(|leftover| leftover.users > 0);
    let mut bytes = 0;
    for leftover in &unused {
        match scratch::remove(&leftover.folder) {
            // Another unspin has removed it meanwhile.
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::at(&leftover.folder, "the recording cannot be removed", e));
            }
            _ => (),
        }
        bytes += leftover.bytes;
    }
    let count = match unused.len() {
        1 => "1 recording was removed".into(),
        n => format!("{n} recordings were removed"),
    };
    let mut text = format!("{count}: {}.\n", mebibytes(bytes));
    for leftover in used {
        let pids: Vec<String> = processes_with(&leftover.file()).iter().map(u32::to_string).collect();
        let (file, pids) = (leftover.file(), pids.join(", "));
        let who = match leftover.users {
            1 => format!("process {pids} still records; end it first"),
            _ => format!("processes {pids} still record; end them first"),
        };
        text += &format!("Not removed: {}: {who}.\n", on_one_line(&file));
    }
    stdout::print(&text)
}

impl Leftover {
    fn new(folder: PathBuf) -> Leftover {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        // st_blocks counts 512 bytes: recordings are sparse.
        let bytes = files.filter_map(|file| file.metadata().ok()).map(|about| about.blocks() * 512).sum();
        let made = fs::metadata(&folder).and_then(|about| about.modified()).ok();
        let age = made.and_then(|made| SystemTime::now().duration_since(made).ok()).unwrap_or_default();
        let file = folder.join(RECORDING);
        let command = command(&file).unwrap_or_else(|| "-".into());
        let users = processes_with(&file).len();
        Leftover { folder, bytes, age, command, users }
    }

    fn file(&self) -> PathBuf {
        self.folder.join(RECORDING)
    }

    /// The recording; the folder if there is none.
    fn location(&self) -> PathBuf {
        Some(self.file()).filter(|file| file.exists()).unwrap_or_else(|| self.folder.clone())
    }
}

/// The command in a recording.
fn command(file: &Path) -> Option<String> {
    let snapshot = Recording::load(file).ok()?.invocation();
    Some(shell_line(&snapshot.command)).filter(|command| !command.is_empty())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// An age in one unit: `40s`, `12min`, `3h`, `2d`.
fn age(age: Duration) -> String {
    match age.as_secs() {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}min", s / 60),
        s @ 3600..86400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_with_their_folders() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("unspin-meter-x");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(RECORDING), "").unwrap();
        let leftover = Leftover::new(folder.clone());
        assert_eq!((leftover.command.as_str(), leftover.users), ("-", 0));
        remove(&[leftover]).unwrap();
        assert!(!folder.exists());
        // Two users of one folder may remove the same recording.
        remove(&[Leftover::new(folder)]).unwrap();
    }

    #[test]
    fn list_says_how_to_go_on() {
        assert_eq!(list(&[]), "No recording is left over.\n");
        let leftover = Leftover {
            folder: "/dev/shm/unspin-meter-x".into(),
            bytes: 3 << 19,
            age: Duration::from_secs(7300),
            command: "./server".into(),
            users: 1,
        };
        let text = list(&[leftover]);
        assert!(
            text.contains("/dev/shm/unspin-meter-x   1.5 MiB    2h  ./server (1 process still records)\n"),
            "{text}"
        );
        assert!(text.ends_with("Remove all: unspin report --leftovers --remove\n"), "{text}");
    }
}
