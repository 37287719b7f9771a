//! The commands around a server: what waits for it, loads it and stops it.

use crate::server_settings::ServerSettings;
use serde::Serialize;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::library::environment;
use unspin_launch::output::captured::CapturedOutput;
use unspin_sys::inherited;

/// The commands around a server, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Succeeds once the server answers.
    pub ready: String,
    /// Loads it, and is timed.
    pub load: String,
    /// Stops it; none if SIGTERM does.
    pub stop: Option<String>,
    /// Time from its start until it is ready.
    #[serde(rename = "ready_limit_s", serialize_with = "seconds")]
    pub ready_limit: Duration,
    /// Time from SIGTERM or `stop` to its end.
    #[serde(rename = "stop_limit_s", serialize_with = "seconds")]
    pub stop_limit: Duration,
    /// Variables of our environment that the commands do not get.
    #[serde(skip)]
    pub withheld: Vec<OsString>,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Service {
    /// The service that the command line names; none without `--server`.
    pub fn of(options: &ServerSettings) -> Result<Option<Service>, Error> {
        let (Some(ready), Some(load)) = (&options.ready, &options.load) else { return Ok(None) };
        let lines = [("--ready", Some(ready)), ("--load", Some(load)), ("--stop", options.stop.as_ref())];
        for (option, line) in lines {
            if line.is_some_and(|line| line.trim().is_empty()) {
                return Err(Error::Usage(format!("{option} is empty: give a shell command")));
            }
        }
        Ok(Some(Service {
            ready: ready.clone(),
            load: load.clone(),
            stop: options.stop.clone(),
            ready_limit: options.ready_limit,
            stop_limit: options.stop_limit,
            withheld: Vec::new(),
        }))
    }

    /// A shell that runs one of the lines, without our library.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        environment::clear(&mut command);
        inherited::hand_on_signals(&mut command);
        for name in &self.withheld {
            command.env_remove(name);
        }
        command
    }
}

/// What a server's last lines say about the cause of its end, as a remedy.
pub fn remedy(output: &mut CapturedOutput) -> Option<&'static str> {
    let tail = output.tail().to_lowercase();
    tail.contains("address already in use")
        .then_some("another process uses its address: stop that process, or give the server another port")
        .or_else(|| {
            let refuses_root = tail.contains("root")
                && (tail.contains("not permitted") || tail.contains("can't run as root"));
            refuses_root.then_some("it refuses to run as root: name another user with --server-user")
        })
}
