//! The settings that decide which users may observe what: perf-security in the kernel's admin guide.

use crate::config::{Config, Event, EventSource, Target};
use crate::error::Error;
use std::fs;
use std::io;
use std::sync::OnceLock;
use unspin_sys::creds::Creds;
use unspin_sys::probe::{self, Answer, Call};

/// capability.h: CAP_PERFMON (since Linux 5.8), and CAP_SYS_ADMIN, which contains it.
const CAP_PERFMON: u32 = 38;
const CAP_SYS_ADMIN: u32 = 21;

/// Numbers of errno.h that have no stable `ErrorKind`.
const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const ENODEV: i32 = 19;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// A setting of sysctl(8) that is a number.
pub fn setting(name: &str) -> Option<i64> {
    fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?.trim().parse().ok()
}

/// Whether the caller may observe everything, whatever `kernel.perf_event_paranoid` says.
pub fn may_observe_all() -> bool {
    let creds = Creds::current();
    creds.capable(CAP_PERFMON) || creds.capable(CAP_SYS_ADMIN)
}

/// Refuses to open an event where a seccomp filter would end this process for it, as one of systemd's `SystemCallFilter=` does.
pub fn check_filters(config: &Config) -> Result<(), Error> {
    static IS_FATAL: OnceLock<bool> = OnceLock::new();
    let is_fatal = *IS_FATAL.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let answers = (!status.contains("\nSeccomp:\t0\n")).then(probe::calls).and_then(Result::ok);
        let is_deadly = |(call, answer): (Call, Answer)| call == Call::OpenEvent && answer.is_fatal();
        answers.is_some_and(|answers| Call::ALL.into_iter().zip(answers).any(is_deadly))
    });
    if !is_fatal {
        return Ok(());
    }
    let what = config.events.first().map_or_else(String::new, |event| event.source.to_string());
    let needs = "a seccomp filter ends a process that calls perf_event_open: permit the call, or let it fail \
        (of a systemd unit: SystemCallErrorNumber=EPERM)";
    Err(Error::Forbidden { what, needs: needs.into() })
}

/// The maximum of `kernel.perf_event_paranoid` at which a caller without capabilities may open an event.
fn most_paranoid(config: &Config, event: &Event) -> i64 {
    match (&event.source, &config.target) {
        (EventSource::Tracepoint(_) | EventSource::TracepointOfAll(_), _) => -1,
        (_, Target::System | Target::Started | Target::Tree(_)) => 0,
        _ if event.kernel => 1,
        _ => 2,
    }
}

/// Why an event could not be opened.
pub fn explain_open(config: &Config, event: &Event, descriptors: usize, error: io::Error) -> Error {
    let what = event.source.to_string();
    match error.raw_os_error() {
        Some(EPERM | EACCES) => {
            let most = most_paranoid(config, event);
            let needs = match setting("kernel.perf_event_paranoid") {
                _ if may_observe_all() => "a security module or a sandbox (seccomp, a container) forbids \
                    perf_event_open: permit it there, or run outside of it"
                    .into(),
                Some(now) if now > most => format!(
                    "kernel.perf_event_paranoid is {now}: run as root or with CAP_PERFMON, or permit it to all users \
                     by `sysctl kernel.perf_event_paranoid={most}`"
                ),
                _ => "run as root or with CAP_PERFMON".into(),
            };
            Error::Forbidden { what, needs }
        }
        Some(EMFILE | ENFILE) => Error::Descriptors { needed: descriptors },
        Some(ENOENT | ENODEV | EOPNOTSUPP) => Error::NoEvent(what),
        Some(ENOSYS) => Error::NoPerf,
        Some(ESRCH) if let Target::Tree(pid) = config.target => Error::NoProcess(pid),
        _ => Error::Failed { what, error },
    }
}

/// Why a ring could not be mapped.
pub fn explain_map(event: &Event, bytes: usize, rings: usize, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(EPERM | ENOMEM) => Error::LockedMemory { bytes, rings },
        Some(EMFILE | ENFILE) => Error::Descriptors { needed: rings },
        // Not the kernel's: no address space has so many bytes.
        None => Error::LockedMemory { bytes, rings },
        _ => Error::Failed { what: event.source.to_string(), error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CallChain, Frequency, RingSize};
    use crate::tracefs::Tracepoint;

    fn samples(kernel: bool) -> Event {
        let source = EventSource::CpuClock(Frequency(100));
        Event { source, call_chain: CallChain::None, kernel, user: true }
    }

    fn config(target: Target) -> Config {
        Config { target, events: Vec::new(), ring: RingSize::Exactly(4096), processes: false }
    }

    /// perf_event_paranoid in the kernel's admin guide, sysctl/kernel.rst.
    #[test]
    fn paranoia_that_permits_depends_on_event_and_target() {
        let tracepoint = Tracepoint { name: "lock:contention_begin".into(), id: 1, fields: Vec::new() };
        let tracepoint = Event::tracepoint(tracepoint, CallChain::None);
        let [children, system] = [Target::Children, Target::System].map(config);
        assert_eq!(most_paranoid(&children, &tracepoint), -1);
        assert_eq!(most_paranoid(&system, &samples(false)), 0);
        assert_eq!(most_paranoid(&config(Target::Tree(1)), &samples(true)), 0);
        assert_eq!(most_paranoid(&children, &samples(true)), 1);
        assert_eq!(most_paranoid(&children, &samples(false)), 2);
    }

    #[test]
    fn errors_name_their_cause() {
        let config = config(Target::Tree(7));
        let explained = |number: i32| {
            explain_open(&config, &samples(true), 12, io::Error::from_raw_os_error(number)).to_string()
        };
        assert!(explained(EMFILE).contains("12 descriptors"), "{}", explained(EMFILE));
        assert!(explained(ESRCH).contains("no process 7"));
        assert!(explained(ENOSYS).contains("perf_event_open"));
        assert!(explained(ENOENT).contains("does not have this event"));
        assert!(explained(EACCES).contains("not permitted"));
        let map = |number: i32| explain_map(&samples(true), 1 << 20, 4, io::Error::from_raw_os_error(number));
        assert!(map(EPERM).to_string().contains("4 ring buffers of 1024 KiB"), "{}", map(EPERM));
    }
}
