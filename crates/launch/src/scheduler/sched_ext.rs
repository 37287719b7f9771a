//! What the kernel says about its sched_ext: the files of `/sys/kernel/sched_ext`.

use super::enabled::{Enabled, Reach};
use crate::error::Error;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use unspin_sys::sched;

const FOLDER: &str = "/sys/kernel/sched_ext";
/// A hook for tests, which is set nowhere else: a folder with the files of [`FOLDER`], so that a script can stand in for a
/// scheduler where the kernel has no sched_ext. Its file `start_limit_ms` shortens [`START_LIMIT`].
const TEST_FOLDER: &str = "UNSPIN_TEST_SCHED_EXT";

/// Time from the start of a scheduler until it is enabled. Its BPF program is verified, and compiled, in this time. An emulated machine
/// whose host is busy was seen to need more than 30 s.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Time between two looks at the kernel's state.
pub const LOOK: Duration = Duration::from_millis(5);

/// The kernel's sched_ext.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedExt {
    folder: PathBuf,
}

/// The kernel's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// The kernel has no sched_ext.
    Missing,
    /// The kernel's own scheduler schedules all tasks.
    Disabled,
    /// A scheduler is loaded.
    Enabled(Enabled),
    /// A scheduler is being loaded or unloaded: `enabling`, `disabling`.
    Changing(String),
}

impl SchedExt {
    /// That of this machine's kernel.
    pub fn of_kernel() -> SchedExt {
        let folder = std::env::var_os(TEST_FOLDER).map_or_else(|| FOLDER.into(), PathBuf::from);
        SchedExt { folder }
    }

    /// The state now.
    pub fn state(&self) -> State {
        match self.read("state").as_deref() {
            None => State::Missing,
            Some("disabled") => State::Disabled,
            Some("enabled") => match self.read("root/ops") {
                // Between the change of the state and that of the folder.
                None => State::Changing("enabled without a name".into()),
                Some(ops) => State::Enabled(Enabled {
                    ops,
                    reach: match self.read("switch_all").as_deref() {
                        Some("0") => Reach::Program,
                        _ => Reach::Machine,
                    },
                    sequence: self.sequence(),
                }),
            },
            Some(other) => State::Changing(other.to_owned()),
        }
    }

    /// Time that a scheduler has until it is enabled.
    pub fn start_limit(&self) -> Duration {
        let of_test = self.read("start_limit_ms").and_then(|limit| limit.parse().ok());
        of_test.map_or(START_LIMIT, Duration::from_millis)
    }

    /// How many schedulers have been enabled since boot; none if the kernel does not tell it.
    pub fn sequence(&self) -> Option<u64> {
        self.read("enable_seq")?.parse().ok()
    }

    /// Refuses a kernel without sched_ext, and one with a scheduler that unspin has not loaded. Waits for the end of a scheduler
    /// that is being unloaded, for `time` at most.
    pub fn expect_free(&self, time: Duration) -> Result<(), Error> {
        match self.wait_while_changing(time) {
            State::Disabled => Ok(()),
            State::Missing => Err(missing()),
            State::Enabled(Enabled { ops, .. }) => Err(Error::Environment(format!(
                "the scheduler {ops} is enabled already ({}/root/ops): end the process that has loaded it first",
                self.folder.display()
            ))),
            State::Changing(state) => Err(Error::Environment(format!(
                "{}/state says {state}: another scheduler is being loaded or unloaded; wait for it",
                self.folder.display()
            ))),
        }
    }

    /// The state when no scheduler is being loaded or unloaded any more, after `time` at most.
    pub fn wait_while_changing(&self, time: Duration) -> State {
        let began = Instant::now();
        loop {
            match self.state() {
                State::Changing(_) if began.elapsed() < time => thread::sleep(LOOK),
                state => return state,
            }
        }
    }

    /// Why the kernel refuses to let the scheduler that is enabled now schedule single programs; none if it permits that. Tries it
    /// with a thread.
    pub fn refusal(&self) -> Option<String> {
        let tried = thread::Builder::new().spawn(sched::become_extensible);
        let error = match tried.map(|thread| thread.join().expect("it only makes a system call")) {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Some(refused(&error))
    }

    fn read(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(name)).ok()?;
        Some(text.trim().to_owned())
    }
}

/// That the kernel does not give a program the policy by which a scheduler schedules it.
pub fn refused(error: &str) -> String {
    format!(
        "sched_setscheduler(SCHED_EXT) is refused ({error}): the kernel, a filter of system calls or the scheduler itself forbids it"
    )
}

/// The kernel has no sched_ext.
pub fn missing() -> Error {
    Error::Environment(
        "this kernel has no sched_ext: --scheduler needs Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT=y (`unspin prove --kernel cloud` and `unspin vm` boot one)"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_what_the_files_say() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = SchedExt { folder: folder.path().to_owned() };
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(kernel.state(), State::Missing);
        assert!(
            kernel.expect_free(Duration::ZERO).unwrap_err().to_string().contains("CONFIG_SCHED_CLASS_EXT")
        );
        write("state", "disabled\n");
        assert_eq!((kernel.state(), kernel.sequence()), (State::Disabled, None));
        assert!(kernel.expect_free(Duration::ZERO).is_ok());
        write("state", "enabled\n");
        assert!(matches!(kernel.state(), State::Changing(_)), "it has no name yet");
        fs::create_dir(folder.path().join("root")).unwrap();
        write("root/ops", "lavd_1.0\n");
        write("enable_seq", "7\n");
        let enabled = |reach| State::Enabled(Enabled { ops: "lavd_1.0".into(), reach, sequence: Some(7) });
        assert_eq!(kernel.state(), enabled(Reach::Machine));
        write("switch_all", "0\n");
        assert_eq!(kernel.state(), enabled(Reach::Program));
        assert!(kernel.expect_free(Duration::ZERO).unwrap_err().to_string().contains("lavd_1.0 is enabled"));
        write("state", "disabling\n");
        assert_eq!(kernel.wait_while_changing(LOOK), State::Changing("disabling".into()));
    }
}
