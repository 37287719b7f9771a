//! `unspin prove` looks at the machine before it measures.

use crate::common::unspin;
use std::process::{Child, Command, Stdio};

/// Programs that keep every CPU busy until they are dropped.
struct Burners(Vec<Child>);

impl Burners {
    fn start() -> Burners {
        let burn =
            |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Burners((0..std::thread::available_parallelism().unwrap().get()).map(burn).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// All of standard error, and the exit code.
fn said(command: &[&str], more: &[&str]) -> (String, Option<i32>) {
    let output = unspin(command).args(more).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn machine_that_does_not_become_quiet_is_measured_only_if_it_need_not_be() {
    let _burners = Burners::start();
    let measured = tempfile::NamedTempFile::new().unwrap();
    let length = || measured.as_file().metadata().unwrap().len();
    let script = format!("echo run >> {}", measured.path().display());
    let prove = ["prove", "--mutex", "adaptive", "--runs", "6", "--time-budget", "20s"];
    let (err, code) = said(&prove, &["--wait-for-quiet=3s", "sh", "-c", &script]);
    assert_eq!((code, length()), (Some(4), 0), "nothing was measured: {err}");
    assert!(
        err.contains("unspin prove: other programs use ") && err.contains(": waiting for 3 s at most"),
        "{err}"
    );
    assert!(err.contains("unspin: --wait-for-quiet 3 s: other programs use "), "{err}");
    // What becomes of these proofs does not matter.
    let (err, _) = said(&prove, &["sh", "-c", &script]);
    assert!(
        err.contains("unspin prove: other programs use ") && err.contains("--wait-for-quiet waits"),
        "{err}"
    );
    let (err, _) = said(&prove, &["--quiet", "sh", "-c", &script]);
    assert!(!err.contains("other programs use "), "{err}");
    assert_ne!(length(), 0, "it was measured");
}
