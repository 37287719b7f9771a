//! What is observed, in the commands that reports suggest.

use crate::settings::ObserveSettings;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use unspin_launch::program::Program;
use unspin_launch::reach;
use unspin_launch::runtime::Runtime;
use unspin_launch::shell;
use unspin_sys::creds::Creds;

/// What is observed: the part of a command line behind the options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A program that unspin starts, with its arguments.
    Program(Vec<OsString>),
    /// A running process.
    Process(u32),
    /// All processes, while a program runs if there is one.
    System(Vec<OsString>),
}

/// How long a suggested command observes all processes.
const SECONDS: &str = "--seconds 10";

impl Subject {
    /// Of a command line.
    pub fn new(observe: &ObserveSettings, command: &[OsString]) -> Subject {
        let words = || command.to_vec();
        match observe.pid {
            Some(pid) => Subject::Process(pid),
            None if observe.all_processes => Subject::System(words()),
            None => Subject::Program(words()),
        }
    }

    /// `unspin meter --lens futex ./server -t2`: a command that observes the same.
    pub fn observed_by(&self, command: &str) -> String {
        match self {
            Subject::Program(words) => format!("unspin {command} {}", shell::line(words)),
            Subject::Process(pid) => format!("unspin {command} -p {pid}"),
            Subject::System(words) if words.is_empty() => format!("unspin {command} -a {SECONDS}"),
            Subject::System(words) => format!("unspin {command} -a {}", shell::line(words)),
        }
    }

    /// A command that starts the program anew; none if unspin did not start it.
    pub fn started_by(&self, command: &str) -> Option<String> {
        match self {
            Subject::Program(words) | Subject::System(words) if !words.is_empty() => {
                Some(format!("{command} {}", shell::line(words)))
            }
            _ => None,
        }
    }

    /// Whether the pthread lens would see nothing of the program: the preload library cannot reach it (it is static, for
    /// example), or its locks are not libc's (Go). False if its file is not known.
    pub fn is_beyond_pthread(&self) -> bool {
        let file = match self {
            Subject::Process(pid) => {
                Some(PathBuf::from(format!("/proc/{pid}/exe"))).filter(|file| file.exists())
            }
            Subject::Program(words) | Subject::System(words) if words.is_empty() => None,
            Subject::Program(words) | Subject::System(words) => Program::find_any(words)
                .ok()
                .filter(|program| program.workload().is_none())
                .map(|program| program.path),
        };
        file.is_some_and(|file| is_beyond_pthread(&file))
    }

    /// The program's words; empty if unspin did not start it.
    pub fn words(&self) -> &[OsString] {
        match self {
            Subject::Program(words) | Subject::System(words) => words,
            Subject::Process(_) => &[],
        }
    }
}

fn is_beyond_pthread(file: &Path) -> bool {
    reach::check(file, &Creds::current()).is_err()
        || Runtime::of_file(&reach::interpreter(file)).contains(&Runtime::Go)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pthread_lens_sees_programs_that_it_can_reach() {
        let folder = tempfile::tempdir().unwrap();
        // The header of a static program: no segment, so no dynamic linker.
        let mut header = [0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[6], header[16], header[18], header[52]) = (1, 2, 62, 64);
        let fixed = folder.path().join("fixed");
        std::fs::write(&fixed, header).unwrap();
        std::fs::set_permissions(&fixed, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let fixed = fixed.to_str().unwrap();
        assert!(subject(None, false, &[fixed]).is_beyond_pthread());
        for words in [["/bin/sh"].as_slice(), &["volano"], &["/no/such/file"], &[]] {
            assert!(!subject(None, true, words).is_beyond_pthread(), "{words:?}");
        }
        assert!(!Subject::Process(std::process::id()).is_beyond_pthread());
    }

    fn subject(pid: Option<u32>, all_processes: bool, words: &[&str]) -> Subject {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Subject::new(&ObserveSettings { pid, all_processes, seconds: None, buffer: None }, &words)
    }

    #[test]
    fn commands_observe_the_same() {
        let program = subject(None, false, &["./server", "a b"]);
        assert_eq!(program.observed_by("meter --lens futex"), "unspin meter --lens futex ./server 'a b'");
        assert_eq!(program.started_by("unspin prove").as_deref(), Some("unspin prove ./server 'a b'"));
        let process = subject(Some(7), false, &[]);
        assert_eq!(process.observed_by("profile --user"), "unspin profile --user -p 7");
        assert_eq!(process.started_by("unspin prove"), None);
        assert_eq!(
            subject(None, true, &[]).observed_by("meter --lens futex"),
            "unspin meter --lens futex -a --seconds 10"
        );
        let with_program = subject(None, true, &["./server"]);
        assert_eq!(with_program.observed_by("profile"), "unspin profile -a ./server");
        assert_eq!(with_program.started_by("unspin prove").as_deref(), Some("unspin prove ./server"));
    }
}
