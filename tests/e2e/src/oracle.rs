//! The outcomes of programs on the unchanged kernel and libc, kept in `target/outcomes`. The second run of the tests,
//! with another library, compares with the outcomes of the first.

use crate::{Outcome, Run, World, kept};
use std::fs;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::OnceLock;

/// An outcome that is kept, unless the test that compares with it fails: then it may be the wrong one.
pub struct Kept {
    outcome: Outcome,
    file: PathBuf,
}

impl Deref for Kept {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Without the file, there is nothing to forget.
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// The outcome of a program in the world [`World::Bare`]: that of an earlier run of the same program with the same arguments,
/// environment and input, by the same user since this kernel was booted; else it runs now. An outcome is kept if the program succeeded.
pub fn bare(run: Run) -> Kept {
    assert_eq!(run.world(), World::Bare, "other worlds are under test");
    let file = place(&run);
    if let Some(outcome) = fs::read(&file).ok().as_deref().and_then(parse) {
        return Kept { outcome, file };
    }
    let outcome = run.output();
    if outcome.status.success() {
        kept::keep(&file, |file| fs::write(file, written(&outcome)))
            .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
    Kept { outcome, file }
}

fn place(run: &Run) -> PathBuf {
    let mut parts: Vec<Vec<u8>> = machine().to_vec();
    let command = run.command();
    let program = Path::new(command.get_program());
    parts.push(fs::read(program).unwrap_or_else(|e| panic!("{}: {e}", program.display())));
    parts.extend(command.get_args().map(|argument| argument.as_bytes().to_vec()));
    parts.push(run.stdin().to_vec());
    for (name, value) in command.get_envs() {
        parts.push(name.as_bytes().to_vec());
        parts.push(value.map_or(Vec::new(), |value| value.as_bytes().to_vec()));
    }
    kept::place("outcomes", &parts)
}

/// The parts that all outcomes depend on: the kernel since its start, libc, the user.
fn machine() -> &'static [Vec<u8>] {
    static MACHINE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let maps = fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
        let libc = maps
            .lines()
            .filter_map(|line| line.find('/').map(|at| &line[at..]))
            // The second is its name before glibc 2.34.
            .find(|path| path.contains("/libc.so") || path.contains("/libc-"));
        let libc = fs::read(libc.expect("this program is linked with libc")).expect("the loader has read it");
        let boot = fs::read("/proc/sys/kernel/random/boot_id").expect("/proc is mounted");
        // SAFETY: takes nothing, cannot fail.
        let user = unsafe { libc::geteuid() };
        vec![libc, boot, user.to_string().into_bytes()]
    })
}

/// The status, the length of standard output, and both outputs.
fn written(outcome: &Outcome) -> Vec<u8> {
    let head = format!("{} {}\n", outcome.status.into_raw(), outcome.stdout.len());
    [head.as_bytes(), outcome.stdout.as_bytes(), outcome.stderr.as_bytes()].concat()
}

fn parse(bytes: &[u8]) -> Option<Outcome> {
    let (head, outputs) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let (status, length) = head.split_once(' ')?;
    let (stdout, stderr) = outputs.split_at_checked(length.parse().ok()?)?;
    Some(Outcome {
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        status: ExitStatus::from_raw(status.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_outcome_is_read_as_it_was() {
        let outcome = Outcome {
            stdout: "a: 1\nb: ä\n".into(),
            stderr: "c\n".into(),
            status: ExitStatus::from_raw(7 << 8),
        };
        let read = parse(&written(&outcome)).unwrap();
        assert_eq!((read.stdout, read.stderr, read.status), (outcome.stdout, outcome.stderr, outcome.status));
        assert!(parse(b"0 99\nshort").is_none());
    }

    #[test]
    fn outcome_with_which_a_test_failed_is_forgotten() {
        // An argument of no other test.
        let run =
            || Run::new("/bin/echo", World::Bare).args(["outcome_with_which_a_test_failed_is_forgotten"]);
        let file = place(&run());
        drop(bare(run()));
        assert!(file.exists());
        let failed = std::panic::catch_unwind(|| {
            let kept = bare(run());
            assert!(kept.stdout.is_empty());
        });
        assert!(failed.is_err() && !file.exists());
    }

    #[test]
    fn another_argument_or_environment_is_another_outcome() {
        let run = || Run::new("/bin/true", World::Bare);
        assert_eq!(place(&run()), place(&run()));
        let others =
            [run().args(["1"]), run().env("A", "1"), run().input("1"), Run::new("/bin/false", World::Bare)];
        assert!(others.iter().all(|other| place(other) != place(&run())));
    }
}
