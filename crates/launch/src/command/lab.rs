//! The program `unspin-lab`: historical reports, and the workloads that need a database or an asynchronous runtime. unspin finds it
//! as git and cargo find their subcommands: beside itself, else in `PATH`.

mod version;

use crate::error::Error;
use crate::output::stderr::QUOTED;
use crate::program::reach;
use crate::program::run_queue_program::{VOLANO_FLAGS, VOLANO_VALUES};
use crate::program::workload::Workload;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use unspin_sys::child::{self, Signal};
use unspin_sys::inherited;
use unspin_wire::environment::EXECUTABLE;

/// The name of the program's file.
const FILE: &str = "unspin-lab";

/// Time between two looks at whether the program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How many lines are quoted of an error that the program has not explained.
const LINES: usize = 5;
/// Exit code of an interrupted program.
const INTERRUPTED: i32 = 130;

/// The command that measures the historical reports.
pub const REPRODUCE: &str = "reproduce";

/// The options of that command. The command line of unspin knows these and the next for its messages only.
pub const REPRODUCE_OPTIONS: [&str; 4] = ["quick", "db", "json", "quiet"];

/// The options of the workload dbt1.
pub const DBT1_OPTIONS: [&str; 13] = [
    "db",
    "database",
    "items",
    "scale",
    "seed",
    "mix",
    "browsers",
    "connections",
    "think-time",
    "warm-up",
    "duration",
    "runs",
    "durable",
];

/// The commands of the program that have an option of this name.
pub fn commands_with(option: &str) -> impl Iterator<Item = &'static str> {
    let volano = VOLANO_VALUES.iter().chain(&VOLANO_FLAGS).any(|&name| name == option);
    let commands = [
        ("volano", volano),
        ("dbt1", DBT1_OPTIONS.contains(&option)),
        (REPRODUCE, REPRODUCE_OPTIONS.contains(&option)),
    ];
    commands.into_iter().filter_map(|(command, has)| has.then_some(command))
}

/// Whether the program performs the command of this name.
pub fn performs(command: impl AsRef<OsStr>) -> bool {
    command.as_ref() == REPRODUCE || Workload::is_of_lab(command)
}

/// The file of the program, which performs `command`. An error if it is of another build than this one.
pub fn find(command: &str) -> Result<PathBuf, Error> {
    let file = find_installed(FILE).ok_or_else(|| {
        Error::NotFound(format!(
            "{command} needs the program {FILE}, which is not installed: cargo install --path crates/lab"
        ))
    })?;
    version::check(&file, command)?;
    Ok(file)
}

/// The file of `unspin`, which performs its own workloads.
///
/// In `unspin` it is the process's own file. `unspin-lab` gets the path of the `unspin` that executes it in a variable, as cargo
/// tells its subcommands where it is: the two need not be in one folder, and an `unspin` beside `unspin-lab` can be another
/// build than the one that the user has typed. Without the variable the user has typed `unspin-lab`; then it is the `unspin`
/// beside that, else the one in `PATH`.
pub fn find_unspin() -> Result<PathBuf, Error> {
    let own = env::current_exe().unwrap_or_default();
    // The kernel appends this once the file has been replaced or removed.
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    if name.trim_end_matches(" (deleted)") != FILE {
        return Ok(if own.exists() { own } else { "/proc/self/exe".into() });
    }
    let told = env::var_os(EXECUTABLE).filter(|file| !file.is_empty()).map(PathBuf::from);
    told.or_else(|| find_installed("unspin")).ok_or_else(|| {
        Error::NotFound(format!(
            "{FILE} needs the program unspin, which is not installed: cargo install --path crates/cli"
        ))
    })
}

/// A program of this name beside our own, else in `PATH`.
fn find_installed(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.iter().flat_map(|file| folders_of(file)).map(|folder| folder.join(name));
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path =
        env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    beside.chain(in_path).find(|file| reach::is_executable(file))
}

/// The folders in which programs lie that were built or installed together with this one: its own, and if that is called
/// `deps`, in which cargo puts tests, the one above.
fn folders_of(file: &Path) -> impl Iterator<Item = &Path> {
    let own = file.parent();
    let above = own.filter(|folder| folder.ends_with("deps")).and_then(Path::parent);
    own.into_iter().chain(above)
}

/// `unspin help COMMAND` in the form that such a command understands; all other command lines as they are.
pub fn with_help_behind(words: Vec<OsString>) -> Vec<OsString> {
    match words.get(1..) {
        Some([help, command]) if help == "help" && performs(command) => {
            vec![words[0].clone(), command.clone(), "--help".into()]
        }
        _ => words,
    }
}

/// Asks the program for something that `command` needs, and returns its standard output. None if `stop` was set before it had
/// answered. Its error is ours.
pub fn ask(command: &str, question: &[OsString], stop: &AtomicBool) -> Result<Option<Vec<u8>>, Error> {
    let file = find(command)?;
    let mut asked = Command::new(&file);
    asked.args(question).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    inherited::hand_on_signals(&mut asked);
    child::signal_on_parent_death(&mut asked, Signal::Terminate);
    let mut process = asked.spawn().map_err(|error| Error::not_started(&file, &error))?;
    let failed = |error| Error::failed(FILE, &error);
    // Either is shorter than a pipe, so the program ends without a reader.
    let status = wait(&mut process, stop).map_err(failed)?;
    let (mut answer, mut said) = (Vec::new(), Vec::new());
    process.stdout.take().map_or(Ok(0), |mut out| out.read_to_end(&mut answer)).map_err(failed)?;
    process.stderr.take().map_or(Ok(0), |mut err| err.read_to_end(&mut said)).map_err(failed)?;
    match status.code() {
        Some(0) => Ok(Some(answer)),
        // Relaxed: the flag guards no other data.
        // Without an exit code: the signal came before it had a handler.
        Some(INTERRUPTED) | None if stop.load(Ordering::Relaxed) => Ok(None),
        _ => Err(error_of(command, status, &String::from_utf8_lossy(&said))),
    }
}

/// Waits for the end of the program, to which it is told when `stop` is set.
fn wait(process: &mut Child, stop: &AtomicBool) -> std::io::Result<ExitStatus> {
    let mut is_told = false;
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        // Relaxed: the flag guards no other data.
        if stop.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            // It cannot be gone: it has not been waited for.
            let _ = child::signal(process.id(), Signal::Terminate);
        }
        thread::sleep(LOOK);
    }
}

/// The error that the program has printed, with the exit code that it had.
fn error_of(command: &str, status: ExitStatus, said: &str) -> Error {
    let Some(text) = said.lines().find_map(|line| line.strip_prefix("unspin: ")) else {
        // A panic, or the dynamic linker's message.
        let lines: Vec<&str> = said.trim_end().lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("{QUOTED}{line}"));
        return Error::Benchmark(format!(
            "{command}: {FILE} ended with {status}{}",
            last.collect::<String>()
        ));
    };
    let text = text.to_owned();
    match status.code() {
        Some(2) => Error::Usage(text),
        Some(125) => Error::Environment(text),
        Some(126) => Error::CannotRun(text),
        Some(127) => Error::NotFound(text),
        _ => Error::Benchmark(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn help_of_other_commands_is_unspins_own() {
        let rewritten = |line: &str| {
            let words = with_help_behind(line.split(' ').map(OsString::from).collect());
            words.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(rewritten("unspin help dbt1"), "unspin dbt1 --help");
        for line in ["unspin help", "unspin help run", "unspin dbt1 help", "unspin help dbt1 more"] {
            assert_eq!(rewritten(line), line);
        }
    }

    #[test]
    fn errors_keep_their_text_and_their_code() {
        let error = error_of("dbt1", ExitStatus::from_raw(127 << 8), "unspin: dbt1: no server\n");
        assert!(matches!(&error, Error::NotFound(text) if text == "dbt1: no server"), "{error:?}");
        let said = "note: a first line\nunspin: no such mix\n\nUsage: unspin dbt1\n\nFor more information, try '--help'.\n";
        let error = error_of("dbt1", ExitStatus::from_raw(2 << 8), said);
        assert!(matches!(&error, Error::Usage(text) if text == "no such mix"), "{error:?}");
    }

    /// The dynamic linker's message, a panic's.
    #[test]
    fn errors_that_are_not_unspins_are_quoted() {
        let killed = error_of("dbt1", ExitStatus::from_raw(9), "");
        assert!(
            matches!(&killed, Error::Benchmark(text) if text.ends_with("signal: 9 (SIGKILL)")),
            "{killed:?}"
        );
        let panicked =
            error_of("dbt1", ExitStatus::from_raw(101 << 8), "thread 'main' panicked:\nwhy\nnote: a hint\n");
        let expected = "dbt1: unspin-lab ended with exit status: 101\n  | thread 'main' panicked:\n  | why\n  | note: a hint";
        assert!(matches!(&panicked, Error::Benchmark(text) if text == expected), "{panicked:?}");
    }
}
