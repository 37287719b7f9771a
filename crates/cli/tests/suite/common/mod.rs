//! Shared by the tests of the program.

pub mod schema;
pub mod served;
pub mod util_linux;

pub use unspin_e2e::{size, skip};

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, Signal};

/// The file of the program. The tests of `unspin-lab` run the one beside that.
pub fn program() -> PathBuf {
    let lab = match (option_env!("CARGO_BIN_EXE_unspin"), option_env!("CARGO_BIN_EXE_unspin-lab")) {
        (Some(file), _) => return file.into(),
        (None, Some(lab)) => lab,
        (None, None) => panic!("these are tests of unspin or of unspin-lab"),
    };
    let file = Path::new(lab).with_file_name("unspin");
    assert!(file.exists(), "{}: not built: run `cargo test --workspace`", file.display());
    file
}

/// The program, with a cache folder for the tests.
pub fn unspin(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in [
        "LD_PRELOAD",
        "UNSPIN_SYSV",
        "UNSPIN_ARENA",
        "UNSPIN_RECORD",
        "UNSPIN_PLAN",
        "UNSPIN_TALLY",
        "UNSPIN_RUNQUEUE",
        "UNSPIN_SUMMARY",
        "UNSPIN_STATUS",
        "GITHUB_STEP_SUMMARY",
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

/// The same with all of standard error but what prove says of a busy machine.
pub fn finish_with_progress(command: &mut Command) -> (String, String, Option<i32>) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    let lines =
        stderr.split_inclusive('\n').filter(|line| !line.starts_with("unspin prove: other programs use "));
    (String::from_utf8(stdout).unwrap(), lines.collect(), status.code())
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

/// A shell starts what it runs in the background with SIGINT ignored, and so would everything be that a test starts: an
/// interrupt would have no effect, and the test no end.
fn assert_interruptible() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    const SIGINT: u32 = 2;
    assert_eq!(
        u64::from_str_radix(ignored, 16).unwrap() & (1 << (SIGINT - 1)),
        0,
        "SIGINT is ignored: run the tests in the foreground, or by `env --default-signal=INT`"
    );
}

/// A command that runs beside the test, in its own process group, with access to its standard error.
pub struct Background {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Background {
    pub fn start(mut command: Command) -> Background {
        assert_interruptible();
        let mut child =
            command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Background { child, stderr }
    }

    /// The same, with standard output in a file.
    pub fn start_with_output(mut command: Command, output: &Path) -> Background {
        assert_interruptible();
        let file = std::fs::File::create(output).unwrap();
        let mut child = command.process_group(0).stdout(file).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Background { child, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input, if the command has a pipe there. Dropping it ends the input.
    pub fn take_input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
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
        sets_of(&self.wait_for_line("kept by process"))
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Kills it.
    pub fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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

/// The set ids in a line such as `semopbench: sets 3, 32772, kept by process 7`.
pub fn sets_of(stderr: &str) -> Vec<i32> {
    let list = stderr.lines().find_map(|line| line.split_once("sets ")?.1.split_once(", kept by process"));
    list.expect("-d names the sets").0.split(", ").map(|id| id.parse().unwrap()).collect()
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

/// Whether this process runs a test alone, which the test then does. In the process of all tests, runs the test in a process of
/// its own: there no other test opens files, which a program started at that moment can inherit.
pub fn is_alone(test: &str) -> bool {
    const ALONE: &str = "UNSPIN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env(ALONE, test).stderr(Stdio::inherit());
    let Output { status, stdout, .. } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A field of a status file of a process or thread; empty if it has ended.
fn status(process: &str, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// Whether a process catches this signal.
pub fn catches(pid: u32, signal: u32) -> bool {
    let mask = u64::from_str_radix(&status(&pid.to_string(), "SigCgt"), 16).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

pub fn threads_of(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// How often a thread has slept.
fn sleeps(tid: u32) -> u64 {
    status(&tid.to_string(), "voluntary_ctxt_switches").parse().unwrap_or_default()
}

const SIGINT: u32 = 2;
const SIGTERM: u32 = 15;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;
/// futex(2) on x86-64.
const SYS_FUTEX: &str = "202 ";

/// Waits until `unspin meter` has begun to observe processes that it has not started: it catches the signals that end the
/// observation, SIGTERM as the last one, and its other thread waits until it reads the rings again.
pub fn wait_until_it_observes(unspin: &Background) {
    let pid = unspin.pid();
    let call = |tid: &u32| std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall"));
    wait_until("unspin observes", || {
        let others: Vec<u32> = threads_of(pid).into_iter().filter(|&tid| tid != pid).collect();
        catches(pid, SIGTERM)
            && !others.is_empty()
            && others.iter().all(|tid| call(tid).is_ok_and(|call| call.starts_with(SYS_FUTEX)))
    });
}

/// Lets `unspin meter`, which observes a running process, see a thread of it sleep so many times.
pub fn wait_for_sleeps(unspin: &Background, tid: u32, times: u64) {
    wait_until_it_observes(unspin);
    let before = sleeps(tid);
    wait_until("the thread has slept", || sleeps(tid) >= before + times);
}

/// Ends an observation by SIGINT, and returns the report and the exit code.
pub fn end_observation(mut unspin: Background) -> (String, Option<i32>) {
    child::signal(unspin.pid(), Signal::PassedOn(SIGINT as i32)).unwrap();
    let report = unspin.rest();
    (report, unspin.wait().code())
}

/// Runs a program under `unspin meter` with these options. While it runs, unspin is stopped, so that it reads no event. Returns
/// standard error and the exit code.
pub fn finish_unread(options: &[&str], program: &[&str]) -> (String, Option<i32>) {
    let script = "echo ready >&2; read line; \"$@\"; code=$?; echo ended >&2; read line; exit $code";
    let mut command = unspin(&[&["meter"], options, &["sh", "-c", script, "sh"], program].concat());
    command.stdin(Stdio::piped());
    let mut run = Background::start(command);
    let mut input = run.take_input();
    let pid = run.pid();
    run.wait_for_line("ready");
    child::signal(pid, Signal::PassedOn(SIGSTOP)).unwrap();
    wait_until("unspin is stopped", || {
        threads_of(pid).iter().all(|tid| status(&tid.to_string(), "State").starts_with('T'))
    });
    input.write_all(b"\n").unwrap();
    run.wait_for_line("ended");
    child::signal(pid, Signal::PassedOn(SIGCONT)).unwrap();
    input.write_all(b"\n").unwrap();
    let report = run.rest();
    (report, run.wait().code())
}

/// How many waits of `mmap_storm` make more events than rings of 4 KB hold, of which each CPU has one: an event takes 48 bytes and
/// more, and a thread sleeps some times in one wait.
pub fn more_than_4k_hold() -> String {
    let cpus = std::thread::available_parallelism().unwrap().get();
    (200 * cpus).to_string()
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

/// A command by the user 65534, nobody.
pub fn as_nobody(script: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script]);
    command
}

/// Whether [`as_nobody`] can run the program; prints a line if not.
pub fn nobody_can_run_unspin(test: &str) -> bool {
    let can = succeeds(&mut as_nobody(&format!("exec {} --version", program().display())));
    if !can {
        skip(test, "it needs root, setpriv (install util-linux), and a build that others may read");
    }
    can
}

/// Whether a file system can be mounted in a namespace of its own; prints a line if not.
pub fn may_mount(test: &str) -> bool {
    let may = succeeds(Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/tmp"]));
    if !may {
        skip(test, "no file system can be mounted here (root: unshare --mount)");
    }
    may
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether a process has used a tenth of a second of CPU time.
pub fn has_computed(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // From field 3 on: see proc_pid_stat(5). Field 14 counts hundredths of a second.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(14 - 3).unwrap().parse::<u64>().unwrap() >= 10
}

/// Held by a test that limits the processes of the user 65534: its neighbours' count, too.
pub static PROCESSES_OF_NOBODY: std::sync::Mutex<()> = std::sync::Mutex::new(());
