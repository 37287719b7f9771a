//! util-linux's ipcs, ipcrm and ipcmk, in a new IPC namespace.

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

/// Whether util-linux's tools are installed. Prints a `SKIPPED` line if not.
pub fn is_installed(test: &str) -> bool {
    for tool in ["ipcs", "ipcrm", "ipcmk"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skip(test, &format!("there is no {tool}: install util-linux"));
            return false;
        }
    }
    true
}

/// Whether the tools are installed and [`namespace`] works here. Prints a `SKIPPED` line if not.
pub fn is_possible(test: &str) -> bool {
    if !is_installed(test) {
        return false;
    }
    let made = namespace().arg("true").output();
    if !made.is_ok_and(|output| output.status.success()) {
        skip(test, "unshare creates no IPC namespace here: run as root, or allow user namespaces");
        return false;
    }
    true
}
