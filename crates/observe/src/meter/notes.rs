//! Notes for the user beside the table.

use super::observer::has_filter;
use super::recorded_program::{RecordedProgram, processes_with};
use std::ffi::OsString;
use std::path::Path;
use unspin_launch::output::shell;
use unspin_launch::program::NEEDS_AN_END;
use unspin_launch::program::programs_run;
use unspin_page::ParseError;
use unspin_report::next::{self, Subject};
use unspin_sys::child::End;
use unspin_wire::environment::RECORD;
use unspin_wire::{Reason, Recording, RecordingError, Snapshot};

/// How the program ended, if it did not exit by itself.
pub fn ending(end: End) -> Option<String> {
    let End::Killed(signal) = end else { return None };
    let name = signal_hook::low_level::signal_name(signal).map_or(String::new(), |name| format!(" ({name})"));
    Some(format!("Signal {signal}{name} killed the program; these are the records until then."))
}

/// The processes that outlive the program: they go on, and their records are lost.
pub fn survivors(recorded: &RecordedProgram) -> Option<String> {
    let left: Vec<u32> = recorded.recorded_processes().into_iter().collect();
    let them = if left.len() == 1 { "it" } else { "them" };
    (!left.is_empty()).then(|| {
        let left = programs_run::processes(&left);
        format!("Still running, not recorded further: {left}; run {them} in the foreground to meter {them}.")
    })
}

/// The note on an incomplete recording: it is still being made, or unspin was killed. None if it is complete.
pub fn note_unfinished(recording: &Recording, file: &Path) -> Option<String> {
    if recording.is_finished() {
        return None;
    }
    Some(match processes_with(file).is_empty() {
        true => "This recording was not closed, because unspin was killed: the time metered ends with its last check, and \
                 nothing shows whether the file was changed since. Meter again for exact figures."
            .into(),
        false => "The program still runs: these are the records until now.".into(),
    })
}

/// What `prove` needs for a program that did not end by itself, if the text advises `prove`.
pub fn proof(was_asked_to_end: bool, text: &str) -> Option<String> {
    (was_asked_to_end && text.contains("unspin prove ")).then(|| format!("{NEEDS_AN_END}."))
}

/// What to do next about a program of which nothing was recorded: the lens that needs no lock function of libc.
pub fn add_lens(command: &[OsString], width: usize, text: &mut String) {
    text.push('\n');
    next::lens::waits_of(&Subject::Program(command.to_vec())).write_under_row(width, text);
}

/// The same in one line, for a page.
pub fn lens(command: &[OsString]) -> String {
    let next = next::lens::waits_of(&Subject::Program(command.to_vec()));
    format!("{} {}", next.sentence(), next.command.unwrap_or_default()).trim_end().to_owned()
}

/// What to do about a recording that was too small.
pub fn room(recorded: &RecordedProgram, snapshot: &Snapshot) -> Option<String> {
    let missing = snapshot.unrecorded;
    if recorded.recording.is_cut_short() {
        return Some(format!(
            "The recording {} was cut short while the program ran: what was recorded after that is missing. Find what \
             truncates the file that {RECORD} names, and meter again.",
            path_of(&recorded.path())
        ));
    }
    // After a seccomp filter nothing new is recorded, however much room there is.
    if missing.is_nothing() || has_filter(snapshot) {
        return None;
    }
    let size = recorded.size();
    // The last request that did not fit was for a piece of up to some megabytes.
    let full = recorded.recording.bytes() >= size / 8 * 7;
    Some(match full {
        true => format!(
            "The recording of {} MiB is full: enlarge it with --size, or record less with --level counts.",
            size >> 20
        ),
        false => format!(
            "There was no memory for more than {} MiB of the recording: free some in {}, or record less with --level counts.",
            recorded.recording.bytes() >> 20,
            recorded.path().parent().unwrap_or(&recorded.path()).display()
        ),
    })
}

fn path_of(file: &Path) -> String {
    shell::quote(file)
}

/// Why there is no report: the recording was cut short while the program ran. States also how the program ended, if
/// that is known, because the exit code does not tell.
pub fn explain_lost(recording: &Path, end: Option<End>) -> String {
    let ended = match end {
        Some(End::Exited(code)) => format!("; the program ended with exit code {code}"),
        Some(End::Killed(signal)) => format!("; signal {signal} killed the program"),
        None => String::new(),
    };
    format!(
        "{}: the recording was cut short while the program ran, and there is no report: find what truncates the file that \
         {RECORD} names, and meter again{ended}",
        path_of(recording)
    )
}

/// The message about a recording that was whole when it was opened, and shrank while it was read.
pub fn explain_lost_while_read(recording: &Path) -> String {
    format!(
        "{}: the recording was cut short while it was read: copy it again, or record again",
        path_of(recording)
    )
}

/// Why a file is no recording that can be read. A result has a command of its own.
pub fn explain_unreadable(file: &Path, error: &RecordingError) -> String {
    let is_result = || {
        let page = unspin_page::page(&std::fs::read_to_string(file).unwrap_or_default());
        matches!(page, Ok(_) | Err(ParseError::Damaged(_) | ParseError::OtherVersion { .. }))
    };
    match error.reason {
        // Of a pipe nothing is left to read.
        Reason::NotARecording if file.is_file() && is_result() => format!(
            "{} is a result, not a recording: `unspin page {} --output FILE` makes its page",
            shell::on_one_line(file),
            shell::quote(file)
        ),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_no_recording_and_has_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("meter.json");
        let said = |text: &str| {
            std::fs::write(&file, text).unwrap();
            explain_unreadable(&file, &Recording::load(&file).err().unwrap())
        };
        let result = said(r#"{"schema": "unspin-locks", "version": 3, "seconds": 1.0}"#);
        let name = file.display();
        assert_eq!(
            result,
            format!("{name} is a result, not a recording: `unspin page {name} --output FILE` makes its page")
        );
        let other = said("{}");
        assert!(
            other.ends_with(
                "is not an unspin recording: name a file that `unspin meter --record` has written"
            ),
            "{other}"
        );
    }

    #[test]
    fn lens_is_named_by_a_command_that_can_be_typed() {
        let mut text = String::from("No lock was recorded.\n");
        add_lens(&["./a b".into(), "-x".into()], 80, &mut text);
        let next = "    -> What its threads wait for, whatever their locks:\n       unspin meter --lens off-cpu './a b' -x\n";
        assert_eq!(text, format!("No lock was recorded.\n\n{next}"));
    }

    /// Issue 14: the meter advised `prove` for a server that only ^C ends.
    #[test]
    fn advice_to_prove_is_completed_for_a_program_that_was_asked_to_end() {
        let advice = "Prove it: unspin prove --mutex adaptive@cache_lock -- ./server\n";
        assert!(proof(true, advice).is_some_and(|note| note.contains("a program that ends by itself")));
        assert_eq!(proof(false, advice), None);
        assert_eq!(proof(true, "Waits over 3s\n"), None);
    }
}
