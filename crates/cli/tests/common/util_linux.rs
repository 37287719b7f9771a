//! util-linux's own ipcs, ipcrm and ipcmk, in an IPC namespace that nobody else uses.

use super::skip;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// A shell in a new IPC namespace, as root of a new user namespace unless the test is root.
pub fn namespace() -> Command {
    let mut command = Command::new("unshare");
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    command.args(if root { &["--ipc"][..] } else { &["--map-root-user", "--ipc"] });
    for name in ["LD_PRELOAD", "UNSPIN_SYSV", "UNSPIN_ARENA", "TZ"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Whether such tests can be made here; says what is missing.
pub fn possible(test: &str) -> bool {
    for tool in ["ipcs", "ipcrm", "ipcmk"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skip(test, &format!("there is no {tool}: install util-linux"));
            return false;
        }
    }
    let made = namespace().arg("true").output();
    if !made.is_ok_and(|output| output.status.success()) {
        skip(test, "unshare makes no IPC namespace here: run as root, or allow user namespaces");
        return false;
    }
    true
}
