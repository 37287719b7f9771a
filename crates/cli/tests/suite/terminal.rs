//! `unspin meter` at a terminal: the program is in the foreground and gets ^C and ^Z.

use crate::common::{is_alone, skip, wait_until};
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use std::fs;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SIZE: PtySize = PtySize { rows: 50, cols: 160, pixel_width: 0, pixel_height: 0 };

/// A command at its own terminal.
pub struct TerminalSession {
    _pty: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    shown: Arc<Mutex<String>>,
}

impl TerminalSession {
    /// None, with a `SKIPPED` line, if there are no pseudo-terminals.
    pub fn start(test: &str, arguments: &[&str]) -> Option<TerminalSession> {
        let pty = native_pty_system()
            .openpty(SIZE)
            .map_err(|e| skip(test, &format!("there is no pseudo-terminal ({e}): mount /dev/pts")))
            .ok()?;
        let mut command = CommandBuilder::new(arguments[0]);
        command.args(&arguments[1..]);
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.env("PS1", "");
        let child = pty
            .slave
            .spawn_command(command)
            .map_err(|e| skip(test, &format!("{} cannot be started ({e}): install it", arguments[0])))
            .ok()?;
        let keys = pty.master.take_writer().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut output, screen) = (pty.master.try_clone_reader().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                screen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        Some(TerminalSession { _pty: pty, child, keys, shown })
    }

    pub fn text(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    pub fn wait_for(&self, text: &str) {
        let given_up = Instant::now() + Duration::from_secs(100);
        wait_until(&format!("the terminal shows {text:?}"), || {
            assert!(Instant::now() < given_up, "the terminal does not show {text:?}: {}", self.text());
            self.text().contains(text)
        });
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }
}

#[test]
fn interrupt_reaches_the_program_once() {
    let script = "trap 'echo interrupted; n=$((n+1))' INT; echo ready; \
                  while [ -z \"$n\" ]; do sleep 0.1; done; sleep 0.3; exit 1$n";
    let unspin = [env!("CARGO_BIN_EXE_unspin"), "meter", "sh", "-c", script];
    let Some(mut session) = TerminalSession::start("interrupt_reaches_the_program_once", &unspin) else {
        return;
    };
    session.wait_for("ready");
    session.press("\x03");
    let code = session.child.wait().unwrap().exit_code();
    assert_eq!(code, 11, "one interrupt came to the program: {}", session.text());
    session.wait_for("No lock was recorded");
}

#[test]
fn shell_can_stop_and_continue_a_metered_program() {
    let test = "shell_can_stop_and_continue_a_metered_program";
    let Some(mut session) = TerminalSession::start(test, &["bash", "--norc", "--noprofile", "-i"]) else {
        return;
    };
    let unspin = env!("CARGO_BIN_EXE_unspin");
    session.press(&format!("{unspin} meter sh -c 'echo rea\"\"dy; cat; echo e\"\"nd'\n"));
    session.wait_for("ready");
    session.press("\x1a");
    session.wait_for("Stopped");
    // Keys that arrive before the shell reads its terminal again may be lost, so the command is typed until the shell shows which
    // program it continues. What is typed once too often goes to the program, which prints it.
    let named = session.text().matches("echo rea").count();
    let mut typed_at = None::<Instant>;
    wait_until("it is continued", || {
        if typed_at.is_none_or(|at| at.elapsed() > Duration::from_secs(5)) {
            session.press("fg\n");
            typed_at = Some(Instant::now());
        }
        session.text().matches("echo rea").count() > named
    });
    session.press("one line\n\x04");
    session.wait_for("end");
    session.wait_for("No lock was recorded");
    // A shell that starts or awaits a command may lose ^C (dash); the program that replaces it does not.
    session.press(&format!("{unspin} meter sh -c 'echo on\"\"ce; exec sleep 1000'\n"));
    session.wait_for("once");
    session.press("\x03");
    session.wait_for("Signal 2 (SIGINT) killed the program");
    session.press("echo code $?\n");
    session.wait_for("code 130");
    session.press("exit\n");
    session.child.wait().unwrap();
}

/// The kernel sends SIGHUP only to the session leader, which is unspin here and would be the program otherwise.
#[test]
fn hang_up_reaches_the_program() {
    // A program that inherited the other end would keep the terminal from hanging up.
    if !is_alone("terminal::hang_up_reaches_the_program") {
        return;
    }
    let PtyPair { slave, master } = match native_pty_system().openpty(SIZE) {
        Ok(pty) => pty,
        Err(e) => {
            let reason = format!("there is no pseudo-terminal ({e}): mount /dev/pts");
            return skip("hang_up_reaches_the_program", &reason);
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (ready, hung_up) = (file("ready"), file("hung up"));
    let script = "trap 'echo >> \"$2\"; exit 3' HUP; echo > \"$1\"; while :; do sleep 0.1; done";
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_unspin"));
    command.args(["meter", "-o"]);
    command.arg(file("report"));
    command.args(["sh", "-c", script, "sh"]);
    command.args([&ready, &hung_up]);
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let mut child = slave.spawn_command(command).unwrap();
    drop(slave);
    wait_until("the program runs", || ready.exists());
    drop(master);
    wait_until("both have ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().exit_code(), 3);
    assert_eq!(fs::read_to_string(&hung_up).unwrap(), "\n", "one hang-up came to the program");
    assert!(file("report").exists());
}
