//! `unspin top` at a pseudo-terminal, with keys.

use crate::common::{compiled, finish, gone, is_alone, skip, unspin, wait_until};
use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use unspin_sys::child::{self, Signal};

const SIZE: PtySize = PtySize { rows: 30, cols: 120, pixel_width: 0, pixel_height: 0 };

/// `unspin top` at its own terminal.
struct TerminalSession {
    pty: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// The settings of the terminal before the start.
    before: String,
    folder: tempfile::TempDir,
    /// The program's process id, once it is known.
    program: Option<u32>,
}

/// The settings of the terminal.
fn settings(terminal: &dyn MasterPty) -> String {
    format!("{:?}", terminal.get_termios().expect("a pseudo-terminal has settings"))
}

/// Interprets the output for the screen.
fn screen() -> vt100::Parser {
    let size = |n: u16| n.try_into().unwrap();
    vt100::Parser::new(size(SIZE.rows), size(SIZE.cols), 1000)
}

/// `unspin top` for a program.
fn top(folder: &Path, options: &[&str], program: &Path) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_unspin"));
    command.arg("top");
    command.args(options);
    command.arg(program);
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("TMPDIR", folder);
    command.env("TERM", "xterm-256color");
    for name in ["LD_PRELOAD", "UNSPIN_SYSV", "UNSPIN_ARENA", "UNSPIN_RECORD", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

impl TerminalSession {
    /// Starts it, with options, for the program that holds locks, with arguments. None without a compiler or a
    /// pseudo-terminal.
    fn start(test: &str, options: &[&str], arguments: &[&str]) -> Option<TerminalSession> {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled("busy_lock.c", folder.path())?;
        let mut command = top(folder.path(), options, &program);
        command.args(arguments);
        TerminalSession::at_terminal(test, command, folder)
    }

    /// Starts a command at a pseudo-terminal. None if there is none.
    fn at_terminal(
        test: &str,
        command: CommandBuilder,
        folder: tempfile::TempDir,
    ) -> Option<TerminalSession> {
        let pty = native_pty_system()
            .openpty(SIZE)
            .map_err(|e| skip(test, &format!("no pseudo-terminal ({e}): mount devpts")))
            .ok()?;
        let before = settings(&*pty.master);
        let child = pty.slave.spawn_command(command).unwrap();
        let keys = pty.master.take_writer().unwrap();
        let screen = Arc::new(Mutex::new(screen()));
        let (mut output, shown) = (pty.master.try_clone_reader().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        Some(TerminalSession { pty, child, keys, screen, before, folder, program: None })
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen shows a text.
    fn wait_for(&mut self, text: &str) {
        let screen = Arc::clone(&self.screen);
        let child = &mut self.child;
        wait_until(&format!("the screen shows {text:?}"), || {
            let shown = screen.lock().unwrap().screen().contents();
            let there = shown.contains(text);
            assert!(
                there || child.try_wait().unwrap().is_none(),
                "it has ended, and shows no {text:?}:\n{shown}"
            );
            there
        });
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// The program's process id, read from the screen.
    fn program(&mut self) -> u32 {
        let screen = Arc::clone(&self.screen);
        // The number is complete when the word behind it is there.
        let shown = || {
            let text = screen.lock().unwrap().screen().contents();
            let mut words = text.split_once("pid ")?.1.lines().next()?.split_whitespace();
            let number = words.next()?;
            words.next().map(|_| number.parse().unwrap())
        };
        *self.program.insert(unspin_e2e::eventually("the screen shows the process id", shown))
    }

    /// Waits for the end, checks that the terminal has its former settings, and returns the exit code.
    fn end(&mut self) -> u32 {
        wait_until("unspin has ended", || self.child.try_wait().unwrap().is_some());
        let code = self.child.wait().unwrap().exit_code();
        let screen = Arc::clone(&self.screen);
        wait_until("the terminal is given back", || {
            let parser = screen.lock().unwrap();
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        });
        assert_eq!(settings(&*self.pty.master), self.before);
        code
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A failed test leaves its program behind, unless its pid has been reused.
        if let Some(pid) = self.program
            && fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|file| file.starts_with(self.folder.path()))
        {
            let _ = child::signal(pid, Signal::Kill);
        }
    }
}

/// The mappings of a recording in a process.
fn recordings(pid: u32) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    maps.lines().filter(|line| line.contains("/recording")).map(str::to_owned).collect()
}

#[test]
fn top_shows_locks_and_ends_the_program() {
    let Some(mut top) = TerminalSession::start("top_shows_locks_and_ends_the_program", &["-i", "200ms"], &[])
    else {
        return;
    };
    top.wait_for("hot_lock");
    let program = top.program();
    assert_eq!(recordings(program).len(), 1);

    top.press("?");
    top.wait_for("Keys and columns");
    // Any key closes it. (Esc followed at once by a key would be Alt with that key.)
    top.press("x/hot_\r");
    top.wait_for("with \"hot_\"");
    top.press("\r");
    top.wait_for("worker+");
    top.wait_for("HELD");
    top.press("t");
    top.wait_for("since the start");

    top.press("q");
    top.wait_for("is still running");
    top.press("e");
    assert_eq!(top.end(), 0);
    assert!(gone(program));
    top.wait_for_rest("hot_lock");
    let text = top.text();
    assert!(text.contains("Locks over "), "the table is left behind: {text}");
    assert_eq!(left_in(top.folder.path()), Vec::<PathBuf>::new());
}

impl TerminalSession {
    /// Waits until the output after the end contains a text.
    fn wait_for_rest(&mut self, text: &str) {
        let screen = Arc::clone(&self.screen);
        wait_until(&format!("{text:?} is printed"), || {
            screen.lock().unwrap().screen().contents().contains(text)
        });
    }
}

/// Files that contain the program's output.
fn left_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "out")).collect()
}

#[test]
fn held_lock_shows_its_holder() {
    let Some(mut top) = TerminalSession::start("held_lock_shows_its_holder", &["-i", "200ms"], &[]) else {
        return;
    };
    top.wait_for("hot_lock");
    let program = top.program();
    top.press("/slow\r\r");
    top.wait_for(&format!("held by thread {program} of process {program} for "));
    top.press("\x03");
    top.wait_for("is still running");
    // The second ^C ends the program.
    top.press("\x03");
    assert_eq!(top.end(), 0);
    assert!(gone(program));
}

#[test]
fn entry_that_replaced_nothing_is_reported_at_the_end() {
    // Every mutex has another entry.
    let options =
        ["--mutex", "adaptive@hot_lock", "--mutex", "fair@slow_lock", "--mutex", "steal", "-i", "100ms"];
    let test = "entry_that_replaced_nothing_is_reported_at_the_end";
    let Some(mut top) = TerminalSession::start(test, &options, &["1"]) else { return };
    top.wait_for("ended with code 7");
    top.press("q");
    assert_eq!(top.end(), 7);
    top.wait_for_rest("unspin: steal replaced nothing: ");
}

#[test]
fn program_goes_on_after_leaving() {
    let Some(mut top) =
        TerminalSession::start("program_goes_on_after_leaving", &["-i", "200ms", "--quiet"], &[])
    else {
        return;
    };
    top.wait_for("hot_lock");
    let program = top.program();
    top.press("q");
    top.wait_for("it goes on, undisturbed");
    top.press("g");
    assert_eq!(top.end(), 0);
    top.wait_for_rest(&format!("process {program} goes on"));
    assert!(!top.text().contains("Locks over "), "{}", top.text());

    let output = left_in(top.folder.path());
    assert_eq!(output.len(), 1, "what it prints goes on into a file");
    let printed = || fs::read_to_string(&output[0]).unwrap();
    let before = printed().len();
    wait_until("the program prints more", || printed().len() > before);
    assert!(printed().ends_with(", input -1\n"), "its input is empty: {}", printed());
    assert!(recordings(program).iter().all(|line| line.ends_with(" (deleted)")), "its recording is dropped");
    child::signal(program, Signal::Terminate).unwrap();
    wait_until("the program has ended", || gone(program));
}

#[test]
fn ended_program_stays_on_the_screen() {
    let Some(mut top) = TerminalSession::start("ended_program_stays_on_the_screen", &["-i", "100ms"], &["1"])
    else {
        return;
    };
    top.wait_for("ended with code 7");
    top.wait_for("since the start");
    top.wait_for("hot_lock");
    top.press("q");
    assert_eq!(top.end(), 7);
    top.wait_for_rest("Locks over ");
}

#[test]
fn processes_that_outlive_the_program_are_not_counted() {
    let test = "processes_that_outlive_the_program_are_not_counted";
    let Some(mut top) = TerminalSession::start(test, &["-i", "100ms"], &["daemon"]) else { return };
    top.wait_for("ended with code 0, 1 process still running");
    let output = left_in(top.folder.path());
    let ticks = || fs::read_to_string(&output[0]).unwrap().lines().count();
    let before = ticks();
    wait_until("the daemon has used the lock again", || ticks() > before + 5);
    // What is shown behind the help has been drawn since then.
    top.press("?");
    top.wait_for("Keys and columns");
    top.press("x");
    let screen = Arc::clone(&top.screen);
    wait_until("the table is shown again", || {
        let shown = screen.lock().unwrap().screen().contents();
        shown.contains("hot_lock") && !shown.contains("Keys and columns")
    });
    let shown = top.text();
    let row_in =
        |text: &str| text.lines().rfind(|line| line.trim_end().ends_with("hot_lock")).map(str::to_owned);
    let row = row_in(&shown).unwrap();
    let total = row.split_whitespace().nth(10).unwrap();
    top.press("q");
    assert_eq!(top.end(), 0);
    top.wait_for_rest("hot_lock, static");
    top.wait_for_rest("Held at the end:");
    let text = top.text();
    let row = row_in(&text).unwrap();
    assert!(row.split_whitespace().any(|word| word == total), "{shown}\n{text}");
}

#[test]
fn program_that_ignores_sigterm_is_killed() {
    let Some(mut top) = TerminalSession::start("program_that_ignores_sigterm_is_killed", &[], &["deaf"])
    else {
        return;
    };
    top.wait_for("running");
    let program = top.program();
    wait_until("the program is deaf", || {
        // Bit 14 of the ignored signals: SIGTERM.
        let status = fs::read_to_string(format!("/proc/{program}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        u64::from_str_radix(mask, 16).unwrap() >> 14 & 1 == 1
    });
    top.press("qe");
    top.wait_for("has been sent SIGTERM");
    top.press("q");
    assert_eq!(top.end(), 0);
    assert!(gone(program));
}

#[test]
fn signal_ends_the_program_and_restores_the_terminal() {
    for signal in [Signal::Terminate, Signal::PassedOn(1)] {
        let Some(mut top) =
            TerminalSession::start("signal_ends_the_program_and_restores_the_terminal", &[], &[])
        else {
            return;
        };
        top.wait_for("running");
        let program = top.program();
        child::signal(top.child.process_id().unwrap(), signal).unwrap();
        assert_eq!(top.end(), 130);
        assert!(gone(program));
    }
}

#[test]
fn hang_up_ends_unspin_and_the_program() {
    let test = "hang_up_ends_unspin_and_the_program";
    // A program that inherited the other end would keep the terminal from hanging up.
    if !is_alone(&format!("top::{test}")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("busy_lock.c", folder.path()) else { return };
    // As the session leader it gets SIGHUP; otherwise it has to detect the hang-up itself.
    for leader in [true, false] {
        let PtyPair { slave, master } = match native_pty_system().openpty(SIZE) {
            Ok(pty) => pty,
            Err(e) => return skip(test, &format!("no pseudo-terminal ({e}): mount devpts")),
        };
        let mut command = top(folder.path(), &[], &program);
        command.set_controlling_tty(leader);
        let mut child = slave.spawn_command(command).unwrap();
        drop(slave);
        let mut output = master.try_clone_reader().unwrap();
        let mut screen = screen();
        let mut bytes = [0; 4096];
        let shown = loop {
            let n = output.read(&mut bytes).expect("unspin goes on");
            assert!(n > 0, "unspin goes on");
            screen.process(&bytes[..n]);
            let shown = screen.screen().contents();
            if shown.contains("running") {
                break shown;
            }
        };
        let number = shown.split_once("pid ").unwrap().1.split_whitespace().next().unwrap();
        let program: u32 = number.parse().unwrap();
        assert!(!gone(program));
        drop(output);
        drop(master);
        wait_until("unspin has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().exit_code(), 130);
        assert!(gone(program));
    }
}

#[test]
fn window_of_any_size_is_drawn() {
    let Some(mut top) = TerminalSession::start("window_of_any_size_is_drawn", &["-i", "100ms"], &[]) else {
        return;
    };
    top.wait_for("hot_lock");
    for (rows, cols) in [(1, 1), (2, 3), (5, 20), (60, 250)] {
        let size = |n: u16| n.try_into().unwrap();
        // First the screen: what is then drawn for another size is overwritten when the program learns the new one.
        top.screen.lock().unwrap().set_size(size(rows), size(cols));
        top.pty.master.resize(PtySize { rows, cols, ..SIZE }).unwrap();
        // Backspace, as Escape: which with the key behind it could be read as one.
        top.press("\r?xt\x7f");
    }
    top.wait_for("hot_lock");
    top.press("\x03");
    top.wait_for("still running");
    top.press("e");
    assert_eq!(top.end(), 0);
}

#[test]
fn program_output_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("printed");
    fs::write(&file, "of yesterday\n").unwrap();
    let options = ["-q", "-o", file.to_str().unwrap()];
    let Some(mut top) = TerminalSession::start("program_output_is_kept", &options, &["1"]) else {
        return;
    };
    top.wait_for("ended with code 7");
    top.press("q");
    assert_eq!(top.end(), 7);
    let printed = fs::read_to_string(&file).unwrap();
    assert!(printed.starts_with("tick 0, input -1\n") && printed.contains("tick 9,"), "{printed}");
    assert!(!top.text().contains("tick"), "{}", top.text());
}

#[test]
fn missing_program_leaves_the_terminal_unchanged() {
    let pty = match native_pty_system().openpty(SIZE) {
        Ok(pty) => pty,
        Err(e) => {
            return skip(
                "missing_program_leaves_the_terminal_unchanged",
                &format!("no pseudo-terminal ({e}): mount devpts"),
            );
        }
    };
    let before = settings(&*pty.master);
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_unspin"));
    command.args(["top", "no-such-program"]);
    let mut child = pty.slave.spawn_command(command).unwrap();
    assert_eq!(child.wait().unwrap().exit_code(), 127);
    assert_eq!(settings(&*pty.master), before);
}

#[test]
fn missing_terminal_is_reported_in_one_line() {
    let (out, err, code) = finish(&mut unspin(&["top", "true"]));
    let line = "unspin: top: standard input and output must be a terminal; `unspin meter` needs none\n";
    assert_eq!((out.as_str(), err.as_str(), code), ("", line, Some(2)));
}

/// Whether the lenses work here; if not, prints why the test is skipped.
fn may_observe(test: &str) -> bool {
    let (_, err, code) = finish(&mut unspin(&[
        "meter",
        "--lens",
        "futex",
        "-p",
        &std::process::id().to_string(),
        "--seconds",
        "10ms",
    ]));
    if code != Some(0) {
        skip(test, err.trim());
    }
    code == Some(0)
}

impl TerminalSession {
    /// `unspin top` without a program, at its own terminal.
    fn observing(test: &str, options: &[&str]) -> Option<TerminalSession> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = top(folder.path(), options, Path::new("--quiet"));
        command.arg("-i");
        command.arg("200ms");
        TerminalSession::at_terminal(test, command, folder)
    }
}

#[test]
fn lenses_of_the_program_are_tabs() {
    let test = "lenses_of_the_program_are_tabs";
    if !may_observe(test) {
        return;
    }
    let Some(mut top) = TerminalSession::start(test, &["-i", "200ms"], &[]) else { return };
    top.wait_for("hot_lock");
    let program = top.program();
    top.press("3");
    top.wait_for("[futex]");
    top.press("t");
    top.wait_for("since it was opened");
    top.wait_for(&format!("({program})"));
    // The cursor is on the total; the row below it has stacks.
    top.press("\x1b[B");
    top.press("\r");
    top.wait_for("Stacks that waited");
    top.press("\x7f");
    top.wait_for("*TOTAL*");
    top.press("\t");
    top.wait_for("[kernel]");
    top.press("\t");
    top.wait_for("[off-cpu]");
    top.wait_for("runnable, without a CPU");
    top.press("q");
    top.wait_for("is still running");
    top.press("e");
    assert_eq!(top.end(), 0);
    assert!(gone(program));
    top.wait_for_rest("Time of ");
}

#[test]
fn running_process_is_observed_until_it_has_ended() {
    let test = "running_process_is_observed_until_it_has_ended";
    if !may_observe(test) {
        return;
    }
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = sleeper.id().to_string();
    let Some(mut top) = TerminalSession::observing(test, &["-p", &pid]) else {
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        return;
    };
    top.wait_for("[futex]");
    assert!(!top.text().contains("Locks"), "the preload library is not there: {}", top.text());
    top.press("3");
    top.wait_for("nanosleep");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    top.wait_for("has ended");
    top.press("q");
    assert_eq!(top.end(), 0);
}

#[test]
fn options_without_effect_are_refused() {
    for (options, message) in [
        (&["-p", "1", "true"][..], "-p observes a running process"),
        (&["-a", "--seconds", "3s"], "leave out --seconds"),
        (&["-p", "1", "--output", "x"], "--output is for the output of a program"),
        (&["-p", "1", "--mutex", "fair"], "--mutex requires a program that top starts"),
    ] {
        let (_, err, code) = finish(&mut unspin(&[&["top"], options].concat()));
        assert!(code == Some(2) && err.contains(message) && err.lines().count() == 1, "{err}");
    }
}

/// The shell gets its terminal, and top draws again when it is continued.
#[test]
fn stopped_top_gives_the_terminal_back() {
    let test = "stopped_top_gives_the_terminal_back";
    let Some(mut top) = TerminalSession::start(test, &["-i", "200ms"], &[]) else { return };
    top.wait_for("hot_lock");
    top.program();
    let pid = top.child.process_id().unwrap();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
    };
    child::signal(pid, Signal::PassedOn(SIGTSTP)).unwrap();
    for by in ["SIGTSTP", "^Z"] {
        wait_until(&format!("{by} stops it"), is_stopped);
        assert_eq!(settings(&*top.pty.master), top.before, "{by}");
        let screen = Arc::clone(&top.screen);
        wait_until("the screen is the shell's", || !screen.lock().unwrap().screen().alternate_screen());
        child::signal(pid, Signal::PassedOn(SIGCONT)).unwrap();
        wait_until("the screen is top's", || screen.lock().unwrap().screen().alternate_screen());
        top.wait_for("hot_lock");
        if by == "SIGTSTP" {
            top.press("\x1a");
        }
    }
    child::signal(pid, Signal::Terminate).unwrap();
    assert_eq!(top.end(), 130);
}

/// From signal(7).
const SIGTSTP: i32 = 20;
const SIGCONT: i32 = 18;
