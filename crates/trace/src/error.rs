//! Why the kernel does not tell.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why something cannot be observed. The text is one line: it names what failed, the setting, and the remedy.
#[derive(Debug)]
pub enum Error {
    /// The caller may not observe this. `needs` says what would permit it.
    Forbidden {
        /// What was to be observed.
        what: String,
        /// The setting or the capability, and the remedy.
        needs: String,
    },
    /// No tracefs is mounted, and the caller may not mount one.
    NoTracefs,
    /// The mounted tracefs may not be read.
    HiddenTracefs {
        /// The remedy.
        remedy: String,
    },
    /// The kernel does not have this tracepoint.
    NoTracepoint(String),
    /// A tracepoint has no such field: this kernel's records have another form.
    NoField {
        /// The tracepoint.
        tracepoint: String,
        /// The field.
        field: String,
    },
    /// The kernel does not have this event.
    NoEvent(String),
    /// The kernel has no perf_event_open.
    NoPerf,
    /// The addresses of the kernel's symbols are hidden.
    HiddenSymbols {
        /// The value of `kernel.kptr_restrict`.
        kptr_restrict: Option<i64>,
    },
    /// There are not enough descriptors.
    Descriptors {
        /// How many are needed.
        needed: usize,
    },
    /// The ring buffers take more memory than may be locked.
    LockedMemory {
        /// Bytes of one ring.
        bytes: usize,
        /// Number of rings.
        rings: usize,
    },
    /// There is no such process.
    NoProcess(u32),
    /// The requested number of samples a second is more than the kernel permits.
    Frequency {
        /// The requested number.
        requested: u64,
        /// The value of `kernel.perf_event_max_sample_rate`.
        most: u64,
    },
    /// A file cannot be read.
    File(PathBuf, io::Error),
    /// A system call failed for another reason.
    Failed {
        /// What was to be observed.
        what: String,
        /// The error.
        error: io::Error,
    },
}

impl Error {
    /// Whether the command line asked for something that does not exist or is not possible: not a matter of
    /// permissions or of the kernel.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::NoProcess(_) | Error::Frequency { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Forbidden { what, needs } => write!(f, "{what}: not permitted: {needs}"),
            Error::NoTracefs => f.write_str(
                "tracepoints cannot be found: no tracefs is mounted: as root, `mount -t tracefs tracefs \
                 /sys/kernel/tracing`; in a container, mount the host's",
            ),
            Error::HiddenTracefs { remedy } => write!(f, "tracepoints cannot be found: {remedy}"),
            Error::NoTracepoint(name) => write!(
                f,
                "this kernel has no tracepoint {name}: it needs Linux 5.19 or later, with CONFIG_TRACEPOINTS and \
                 CONFIG_FTRACE"
            ),
            Error::NoField { tracepoint, field } => {
                write!(f, "the tracepoint {tracepoint} of this kernel has no field {field}: use another kernel")
            }
            Error::NoEvent(what) => write!(f, "{what}: this kernel or machine does not have this event: use another"),
            Error::NoPerf => f.write_str(
                "this kernel has no perf_event_open: it needs CONFIG_PERF_EVENTS, and a container must permit the call",
            ),
            Error::HiddenSymbols { kptr_restrict } => {
                let set = kptr_restrict.map_or("unknown".into(), |value| value.to_string());
                let remedy = match kptr_restrict {
                    Some(0) => "`sysctl kernel.perf_event_paranoid=1` permits them to all users",
                    Some(1) => "only users with CAP_SYSLOG see them",
                    _ => "`sysctl kernel.kptr_restrict=1` permits them to root",
                };
                write!(
                    f,
                    "/proc/kallsyms shows no addresses: run as root; kernel.kptr_restrict is {set}, and {remedy}"
                )
            }
            Error::Descriptors { needed } => {
                write!(f, "too many open files: {needed} descriptors are needed; raise the limit (ulimit -n)")
            }
            Error::LockedMemory { bytes, rings } => write!(
                f,
                "{rings} ring buffers of {} KiB exceed the memory that may be locked: raise \
                 kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l), ask for smaller ones (--buffer \
                 64K), or run as root",
                bytes >> 10
            ),
            Error::NoProcess(pid) => write!(
                f,
                "there is no process {pid}: it has ended, or has another number (`pgrep NAME` finds it)"
            ),
            Error::Frequency { requested, most } => write!(
                f,
                "{requested} samples a second: kernel.perf_event_max_sample_rate permits {most}; ask for fewer, or \
                 raise it by sysctl"
            ),
            Error::File(path, error) => write!(f, "{}: {error}", Path::display(path)),
            Error::Failed { what, error } => write!(f, "{what}: perf_event_open: {error}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_and_name_the_setting() {
        let denied = Error::Forbidden {
            what: "lock:contention_begin".into(),
            needs: "kernel.perf_event_paranoid is 2".into(),
        };
        assert_eq!(
            denied.to_string(),
            "lock:contention_begin: not permitted: kernel.perf_event_paranoid is 2"
        );
        let cases = [
            (Error::HiddenSymbols { kptr_restrict: Some(2) }, "kernel.kptr_restrict is 2"),
            (Error::Descriptors { needed: 4096 }, "ulimit -n"),
            (Error::LockedMemory { bytes: 1 << 20, rings: 4 }, "kernel.perf_event_mlock_kb"),
            (Error::Frequency { requested: 99, most: 9 }, "kernel.perf_event_max_sample_rate"),
            (Error::NoPerf, "CONFIG_PERF_EVENTS"),
        ];
        for (error, named) in cases {
            let text = error.to_string();
            assert!(text.contains(named) && !text.contains('\n'), "{text}");
        }
    }
}
