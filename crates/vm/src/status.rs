//! The lines that the guest writes to its third port.

use std::time::Duration;
use unspin_launch::scheduler::Reach;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The guest has booted, and loads the scheduler, if there is one.
    Booted,
    /// The guest is about to start the command.
    Started,
    /// The command has ended.
    Ended(CommandEnd),
    /// The guest could not start the command, with the reason.
    Refused(String),
    /// The scheduler did not schedule the whole time, with the reason and its last lines. If the command has been started, its end
    /// comes, too.
    Unscheduled(String),
    /// What the scheduler was. Comes before the end.
    Scheduled(GuestScheduler),
}

/// A scheduler that the guest's kernel had enabled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestScheduler {
    /// The name that the kernel shows.
    pub ops: String,
    /// Which tasks it scheduled.
    pub reach: Reach,
    /// CPU time of its process, in the guest's account.
    pub cpu: Duration,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommandEnd {
    /// Its exit code; 128 + n if signal n killed it.
    pub code: i32,
    /// Its time, by the guest's clock.
    pub wall: Duration,
    /// CPU time in user mode of the command and of all processes that came from it, also of those that were killed at its end.
    pub user: Duration,
    /// CPU time in the kernel, likewise.
    pub system: Duration,
    /// Bytes that it has written to standard output. They may come after the line.
    pub stdout: u64,
    /// Bytes that it has written to standard error, likewise.
    pub stderr: u64,
}

impl Status {
    /// The line, with its end.
    pub fn line(&self) -> String {
        match self {
            Status::Booted => "booted\n".into(),
            Status::Started => "started\n".into(),
            Status::Ended(CommandEnd { code, wall, user, system, stdout, stderr }) => {
                let [wall, user, system] = [wall, user, system].map(Duration::as_micros);
                format!("ended {code} {wall} {user} {system} {stdout} {stderr}\n")
            }
            Status::Refused(why) => format!("refused {}\n", escape(why)),
            Status::Unscheduled(why) => format!("unscheduled {}\n", escape(why)),
            Status::Scheduled(GuestScheduler { ops, reach, cpu }) => {
                format!("scheduled {} {} {}\n", reach.name(), cpu.as_micros(), escape(ops))
            }
        }
    }

    /// Reads a line. None if the guest has not written it.
    pub fn parse(line: &str) -> Option<Status> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "booted" => Some(Status::Booted),
            "started" => Some(Status::Started),
            "refused" => Some(Status::Refused(unescape(rest))),
            "unscheduled" => Some(Status::Unscheduled(unescape(rest))),
            "scheduled" => {
                let mut words = rest.splitn(3, ' ');
                let reach = Reach::named(words.next()?)?;
                let cpu = Duration::from_micros(words.next()?.parse().ok()?);
                Some(Status::Scheduled(GuestScheduler { ops: unescape(words.next()?), reach, cpu }))
            }
            "ended" => {
                let mut numbers = rest.split(' ');
                let code = numbers.next()?.parse().ok()?;
                let mut number = || numbers.next()?.parse::<u64>().ok();
                let [wall, user, system] = [number()?, number()?, number()?].map(Duration::from_micros);
                let (stdout, stderr) = (number()?, number()?);
                Some(Status::Ended(CommandEnd { code, wall, user, system, stdout, stderr }))
            }
            _ => None,
        }
    }
}

/// The mark of a line's end within a line: the unit separator of ASCII.
const LINE_END: &str = "\u{1f}";

fn escape(text: &str) -> String {
    text.replace('\n', LINE_END)
}

fn unescape(text: &str) -> String {
    text.replace(LINE_END, "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let time = Duration::from_micros;
        let end = CommandEnd {
            code: 137,
            wall: time(7),
            user: time(1 << 40),
            system: time(0),
            stdout: 1 << 33,
            stderr: 0,
        };
        let scheduler = GuestScheduler { ops: "mq 1".into(), reach: Reach::Program, cpu: time(9) };
        let others = [
            Status::Refused("sh: no such file".into()),
            Status::Unscheduled("it ended; its output:\n  | a\n  | b".into()),
            Status::Scheduled(scheduler),
        ];
        for status in [Status::Booted, Status::Started, Status::Ended(end)].into_iter().chain(others) {
            let line = status.line();
            assert_eq!(Status::parse(line.strip_suffix('\n').unwrap()), Some(status));
        }
        for damaged in [
            "",
            "scheduled",
            "scheduled all 1 x",
            "ended",
            "ended 1 2 3 4 5",
            "ended x 2 3 4 5 6",
            "endedx 1 2 3 4 5 6",
        ] {
            assert_eq!(Status::parse(damaged), None, "{damaged}");
        }
    }
}
