//! Signals between the end of the program and the end of its report.

use super::relay::Relay;
use signal_hook::low_level::signal_name;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;
use unspin_launch::output::{shell, stderr};

/// Keeps the recording if a signal ends the report, and says where it is.
pub struct ReportGuard {
    state: Arc<Mutex<GuardState>>,
}

enum GuardState {
    /// The recording is only in memory. It is being saved to the file.
    InMemory { recording: PathBuf, unfinished: Option<PathBuf> },
    /// It is also in this file.
    Saved { recording: PathBuf, file: PathBuf },
    /// The report is complete.
    Complete,
}

impl ReportGuard {
    /// For a recording in memory. Without a relay signals have their default effect.
    pub(super) fn new(relay: Option<Relay>, recording: PathBuf) -> ReportGuard {
        let state = Arc::new(Mutex::new(GuardState::InMemory { recording, unfinished: None }));
        if let Some(relay) = relay {
            let state = Arc::clone(&state);
            relay.watch(move |signal| {
                // Held until the process has ended, so that the recording is not removed meanwhile.
                let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(message) = state.give_up(signal) {
                    say_within(SAYING, message);
                }
                std::process::exit(128 + signal);
            });
        }
        ReportGuard { state }
    }

    /// The recording is being saved to this file.
    pub fn saving(&self, file: &Path) {
        if let GuardState::InMemory { unfinished, .. } = &mut *self.state() {
            *unfinished = Some(file.to_owned());
        }
    }

    /// The recording has been saved to this file.
    pub fn note_saved(&self, file: &Path) {
        let mut state = self.state();
        if let GuardState::InMemory { recording, .. } = &mut *state {
            *state = GuardState::Saved { recording: std::mem::take(recording), file: file.to_owned() };
        }
    }

    /// The report is complete: from now on nothing is kept because of a signal.
    pub fn complete(&self) {
        *self.state() = GuardState::Complete;
    }

    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time for the message: the reader of standard error may have stopped reading.
const SAYING: Duration = Duration::from_millis(500);

fn say_within(time: Duration, message: String) {
    let (said, wait) = mpsc::channel();
    let say = move || {
        stderr::say(format_args!("{message}"));
        let _ = said.send(());
    };
    // Where no thread is permitted, there is no message.
    let _ = Builder::new().spawn(say);
    let _ = wait.recv_timeout(time);
}

impl GuardState {
    /// Removes what is not wanted, and says what is kept.
    fn give_up(&self, signal: i32) -> Option<String> {
        let name = signal_name(signal).unwrap_or("a signal");
        match self {
            GuardState::InMemory { recording, unfinished } => {
                if let Some(file) = unfinished.as_ref().filter(|file| file.is_file()) {
                    let _ = fs::remove_file(file);
                }
                // st_blocks counts 512 bytes: the file is sparse.
                let size = fs::metadata(recording).map_or(0, |about| about.blocks() * 512);
                Some(format!(
                    "{name} ended the report; the recording ({} MiB of memory) is kept: `unspin report {}` prints it, \
                     `unspin report --leftovers --remove` removes it",
                    size.div_ceil(1 << 20),
                    shell::quote(recording)
                ))
            }
            GuardState::Saved { recording, file } => {
                if let Some(folder) = recording.parent() {
                    let _ = fs::remove_dir_all(folder);
                }
                Some(format!(
                    "{name} ended the report; the recording is in {}: `unspin report {}` prints it",
                    file.display(),
                    shell::quote(file)
                ))
            }
            GuardState::Complete => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_in_message_is_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("gone/recording");
        let said = GuardState::Saved { recording, file: "my file".into() }.give_up(15).unwrap();
        assert_eq!(
            said,
            "SIGTERM ended the report; the recording is in my file: `unspin report 'my file'` prints it"
        );
    }
}
