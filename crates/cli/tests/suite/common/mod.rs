//! Shared by the tests of the program.

pub mod util_linux;

pub use unspin_e2e::{size, skip};

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The program, with a cache folder for the tests.
pub fn unspin(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unspin"));
    command.args(arguments).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in [
        "LD_PRELOAD",
        "UNSPIN_SYSV",
        "UNSPIN_ARENA",
        "UNSPIN_RECORD",
        "UNSPIN_PLAN",
        "UNSPIN_TALLY",
        "UNSPIN_RUNQUEUE",
    ] {
        command.env_remove(name);
    }
    command
}

/// Standard output, standard error and exit code of a command. Lines that show progress, as a slow machine has them, are left
/// out.
pub fn finish(command: &mut Command) -> (String, String, Option<i32>) {
    let (stdout, stderr, code) = finish_with_progress(command);
    const PROGRESS: [&str; 3] = ["unspin prove: ", "unspin: report: ", "unspin: the recording is being read"];
    let is_progress = |line: &&str| PROGRESS.iter().any(|prefix| line.starts_with(prefix));
    let lines = stderr.split_inclusive('\n').filter(|line| !is_progress(line));
    (stdout, lines.collect(), code)
}

/// The same with all of standard error.
pub fn finish_with_progress(command: &mut Command) -> (String, String, Option<i32>) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), status.code())
}

/// Time after which a test gives up waiting. It says nothing about speed.
const GIVE_UP: Duration = Duration::from_secs(120);

pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < GIVE_UP, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that runs beside the test, in its own process group, with access to its standard error.
pub struct Background {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Background {
    pub fn start(mut command: Command) -> Background {
        let mut child =
            command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Background { child, stderr }
    }

    /// The same, with standard output in a file.
    pub fn start_with_output(mut command: Command, output: &Path) -> Background {
        let file = std::fs::File::create(output).unwrap();
        let mut child = command.process_group(0).stdout(file).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Background { child, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads standard error up to a line that contains `text`.
    pub fn wait_for_line(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.stderr.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended without saying '{text}'");
        }
        line
    }

    pub fn wait_for_sets(&mut self) -> Vec<i32> {
        sets_of(&self.wait_for_line("sets ["))
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// The rest of its standard error.
    pub fn rest(&mut self) -> String {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The set ids in a line such as `semopbench: sets [3, 32772], kept by process 7`.
pub fn sets_of(stderr: &str) -> Vec<i32> {
    let line = stderr.lines().find(|l| l.contains("sets [")).expect("-d names the sets");
    let list = line.split_once('[').unwrap().1.split_once(']').unwrap().0;
    list.split(", ").map(|id| id.parse().unwrap()).collect()
}

/// Whether any of these sets exists in the kernel.
pub fn sets_exist(sets: &[i32]) -> bool {
    let table = std::fs::read_to_string("/proc/sysvipc/sem").unwrap();
    let ids = table.lines().skip(1).filter_map(|l| l.split_whitespace().nth(1)?.parse::<i32>().ok());
    ids.into_iter().any(|id| sets.contains(&id))
}

pub fn children_of(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether a process has ended. Init may keep it as a zombie for any time.
pub fn gone(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Compiles a program of `tests/c` into the folder. Returns none and prints a `SKIPPED` line if there is no compiler.
pub fn compiled(source: &str, folder: &Path) -> Option<PathBuf> {
    compiled_with(source, &[], folder)
}

/// The same, with compiler options.
pub fn compiled_with(source: &str, options: &[&str], folder: &Path) -> Option<PathBuf> {
    let program = folder.join(source.split_once('.').unwrap().0);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    // The last of contradictory options counts.
    let options = [&["-g", "-O1", "-pthread"], options].concat();
    unspin_e2e::compile(&file, &options, &program).then_some(program)
}

/// Whether the machine is quiet, and nothing else runs on it: the nightly tier. Two measurements of one thing agree only there.
pub fn is_quiet() -> bool {
    size(false, true)
}

/// Held by a test that limits the processes of the user 65534: its neighbours' count, too.
pub static PROCESSES_OF_NOBODY: std::sync::Mutex<()> = std::sync::Mutex::new(());
