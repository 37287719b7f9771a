//! Whether waits can poll in the programs that this process starts: which looks the kernel and the seccomp filters of this process
//! permit.
//!
//! The calls are made once, in child processes, before the first program that needs the answer is started. The program gets it in a
//! variable ([`unspin_wire::looks`]), and so do its children.

use crate::replace::engine::Engine;
use std::fmt;
use std::fs;
use std::sync::OnceLock;
use unspin_sys::Errno;
use unspin_sys::probe::{self, Answer, Call};
use unspin_wire::filters::FilterCount;
use unspin_wire::looks::{LookKind, Looks, PermittedLooks};

/// Whether waits can poll in programs that this process starts, and if not all, why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PollSupport {
    /// Number of seccomp filters of this process, which programs inherit. None if the kernel does not tell.
    pub filters: Option<u32>,
    /// The looks that work.
    pub looks: Looks,
    /// Why no wait polls; none if waits poll whose looks work.
    pub obstacle: Option<Obstacle>,
    /// The calls that did not work, and what they did.
    pub refused: Vec<(Call, Answer)>,
    /// Whether the calls were made. If not, programs decide as without an answer: they poll if there is no filter.
    is_known: bool,
}

/// Why no wait polls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A call does not work that every poll makes.
    Refused {
        /// The call.
        call: Call,
        /// What it does.
        answer: Answer,
        /// Number of seccomp filters, one of which may be the reason.
        filters: Option<u32>,
    },
    /// The kernel does not count the involuntary context switches of a thread, as gVisor.
    Uncounted,
    /// It could not be found out whether the kernel counts them.
    Uncertain,
    /// The process's status cannot be read, which tells the number of filters: the error.
    NoStatus(String),
    /// There are filters, and the kernel does not tell how many: a program could not tell whether it has more.
    UntoldFilters,
    /// There are filters, and no child process could be started to make the calls: the error.
    NoChild(String),
}

/// The answer for this process, found out at the first call. Takes about a millisecond. To be called before a program is started.
pub fn poll_support() -> &'static PollSupport {
    static FOUND: OnceLock<PollSupport> = OnceLock::new();
    FOUND.get_or_init(|| match fs::read("/proc/self/status") {
        Ok(status) => PollSupport::find(FilterCount::of(&status)),
        Err(error) => PollSupport::unknown(None, Obstacle::NoStatus(error.to_string())),
    })
}

/// The answer, if a program with this engine depends on it: the kernel does not poll.
pub fn for_engine(engine: Engine) -> Option<&'static PollSupport> {
    (engine != Engine::Kernel).then(poll_support)
}

impl PollSupport {
    fn find(filters: Option<u32>) -> PollSupport {
        if filters.is_none() {
            return PollSupport::unknown(filters, Obstacle::UntoldFilters);
        }
        match probe::calls() {
            Ok(answers) => {
                let refused: Vec<_> = Call::ALL
                    .into_iter()
                    .zip(answers)
                    .filter(|(_, answer)| *answer != Answer::Works)
                    .collect();
                let may_ask = is_refused(&refused, &COUNTING).is_none();
                match may_ask.then(probe::switches_are_counted).transpose() {
                    Ok(is_counting) => PollSupport::of(filters, refused, is_counting.flatten()),
                    Err(error) => PollSupport::without_child(filters, error),
                }
            }
            Err(error) => PollSupport::without_child(filters, error),
        }
    }

    /// Where no child process could be started, as with a limit of processes. Without filters waits poll all the same.
    fn without_child(filters: Option<u32>, error: Errno) -> PollSupport {
        let found = PollSupport::unknown(filters, Obstacle::NoChild(error.to_string()));
        if filters == Some(0) { PollSupport { obstacle: None, ..found } } else { found }
    }

    /// Where the calls were not made.
    fn unknown(filters: Option<u32>, obstacle: Obstacle) -> PollSupport {
        PollSupport {
            filters,
            looks: Looks::NONE,
            obstacle: Some(obstacle),
            refused: Vec::new(),
            is_known: false,
        }
    }

    /// `is_counting`: whether the kernel counts switches, if that is known.
    fn of(filters: Option<u32>, refused: Vec<(Call, Answer)>, is_counting: Option<bool>) -> PollSupport {
        // gVisor refuses a call of a poll too; that it does not count says more.
        let obstacle = match (is_refused(&refused, &PAUSE), is_counting) {
            (_, Some(false)) => Some(Obstacle::Uncounted),
            (Some((call, answer)), _) => Some(Obstacle::Refused { call, answer, filters }),
            (None, None) => Some(Obstacle::Uncertain),
            (None, Some(true)) => None,
        };
        let works = |look: &LookKind| match look {
            LookKind::Pause => obstacle.is_none(),
            look => is_refused(&refused, calls_of(*look)).is_none(),
        };
        let looks = LookKind::ALL.into_iter().filter(works).fold(Looks::NONE, Looks::with);
        PollSupport { filters, looks, obstacle, refused, is_known: true }
    }

    /// The value of the variable for the preload library; none if nothing is known.
    pub fn variable(&self) -> Option<String> {
        let filters = self.filters.filter(|_| self.is_known)?;
        Some(PermittedLooks { filters, looks: self.looks }.to_string())
    }

    /// Why not every wait can poll here, in words; none if every wait can.
    pub fn shortcomings(&self) -> Option<String> {
        if let Some(obstacle) = &self.obstacle {
            return Some(obstacle.to_string());
        }
        let functions = self.functions_left_out();
        (!functions.is_empty()).then(|| {
            let of_looks = self.refused.iter().filter(|(call, _)| !OF_NO_LOOK.contains(call));
            let calls: Vec<String> = of_looks.map(|(call, _)| format!("{}(2)", call.name())).collect();
            format!(
                "no thread polls in {}: {} forbids {}",
                functions.join(", "),
                forbidding(self.filters),
                calls.join(", ")
            )
        })
    }

    /// Whether this process may bind a thread to a CPU, as it does to measure a wake-up: a filter may kill for that.
    pub fn may_bind_threads(&self) -> bool {
        !self.refused.iter().any(|&(call, answer)| call == Call::Affinity && answer.is_fatal())
    }

    /// The functions in which no thread polls because a call does not work that a look there makes. Empty if no wait polls at all.
    pub fn functions_left_out(&self) -> Vec<&'static str> {
        let is_out = |look: &LookKind| self.obstacle.is_none() && self.is_known && !self.looks.has(*look);
        LookKind::ALL.into_iter().filter(is_out).filter_map(functions_of).collect()
    }
}

/// The calls by which it is found out whether the kernel counts switches.
const COUNTING: [Call; 2] = [Call::Yield, Call::Usage];

/// The calls that no look makes.
const OF_NO_LOOK: [Call; 3] = [Call::Affinity, Call::OpenEvent, Call::WaitForAny];

/// The calls that every poll makes.
const PAUSE: [Call; 6] = [Call::Yield, Call::Usage, Call::Class, Call::Priority, Call::Map, Call::WipeOnFork];

/// The calls of a look.
fn calls_of(look: LookKind) -> &'static [Call] {
    match look {
        LookKind::Pause => &PAUSE,
        LookKind::Poll => &[Call::Poll],
        LookKind::Select => &[Call::Select, Call::PSelect, Call::Clock],
        LookKind::Epoll => &[Call::EpollWait],
        LookKind::Readable => &[Call::PPoll, Call::Flags, Call::SocketOption],
        LookKind::Receive => &[Call::Receive, Call::ReceiveMessage, Call::Flags, Call::SocketOption],
        LookKind::Futex => &[Call::Requeue],
        LookKind::Mask => &[Call::Mask],
        LookKind::Memory => &[Call::ReadMemory, Call::WriteMemory],
        LookKind::Membarrier => &[Call::Membarrier],
    }
}

/// The functions that do not poll without a look; none if all do.
fn functions_of(look: LookKind) -> Option<&'static str> {
    Some(match look {
        LookKind::Pause | LookKind::Membarrier => return None,
        LookKind::Poll => "poll and ppoll",
        LookKind::Select => "select and pselect",
        LookKind::Epoll => "epoll_wait, epoll_pwait and epoll_pwait2",
        LookKind::Readable => "read and accept",
        LookKind::Receive => "recv, recvfrom and recvmsg",
        LookKind::Futex => "syscall(SYS_futex)",
        LookKind::Mask => "calls with a signal mask",
        LookKind::Memory => "select, pselect, and calls with a time or a mask that only the kernel reads",
    })
}

/// The first of these calls that did not work.
fn is_refused(refused: &[(Call, Answer)], calls: &[Call]) -> Option<(Call, Answer)> {
    refused.iter().copied().find(|(call, _)| calls.contains(call))
}

/// What forbids a call.
fn forbidding(filters: Option<u32>) -> &'static str {
    if filters == Some(0) { "this kernel, or a limit (ulimit)," } else { "a seccomp filter" }
}

/// `getrusage(2), which every poll needs, kills the process that makes it`
impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Refused { call, answer, filters } => {
                let does = match answer {
                    Answer::Kills => "kills a process that makes it",
                    Answer::Hangs => "does not return",
                    Answer::Fails | Answer::Works => "fails",
                };
                let by = forbidding(*filters);
                write!(f, "{}(2) {does} here, and every poll makes it: {by} forbids it", call.name())
            }
            Obstacle::Uncounted => f.write_str(
                "this kernel does not count involuntary context switches (getrusage(2), ru_nivcsw; gVisor does not), so a thread \
                 that polls could not notice that another thread needs its CPU",
            ),
            Obstacle::Uncertain => f.write_str(
                "it could not be found out whether this kernel counts involuntary context switches: two processes did not get \
                 one CPU in time (sched_setaffinity(2))",
            ),
            Obstacle::NoStatus(error) => write!(
                f,
                "/proc/self/status cannot be read ({error}), so nothing tells whether a seccomp filter is in force: mount /proc"
            ),
            Obstacle::UntoldFilters => f.write_str(
                "a seccomp filter is in force, and the kernel does not tell how many there are (Seccomp_filters in \
                 /proc/self/status, Linux 5.9)",
            ),
            Obstacle::NoChild(error) => {
                write!(f, "a seccomp filter is in force, and no child process could find out what it permits: {error}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filter_forbids_is_left_out_and_nothing_else() {
        let found = |refused: &[Call]| {
            let refused = refused.iter().map(|&call| (call, Answer::Kills)).collect();
            PollSupport::of(Some(1), refused, Some(true))
        };
        let all = found(&[]);
        assert_eq!((all.looks, &all.obstacle), (Looks::ALL, &None));
        assert!(all.variable().unwrap().starts_with("1:pause,poll,"), "{all:?}");
        assert!(all.functions_left_out().is_empty());

        let one = found(&[Call::EpollWait]);
        assert!(!one.looks.has(LookKind::Epoll) && one.looks.with(LookKind::Epoll) == Looks::ALL, "{one:?}");
        assert_eq!(one.functions_left_out(), ["epoll_wait, epoll_pwait and epoll_pwait2"]);
        let two = found(&[Call::Flags]).functions_left_out();
        assert_eq!(two, ["read and accept", "recv, recvfrom and recvmsg"]);
        assert!(found(&[Call::Membarrier]).functions_left_out().is_empty());

        for call in PAUSE {
            let none = found(&[Call::EpollWait, call]);
            let (answer, filters) = (Answer::Kills, Some(1));
            assert_eq!(none.obstacle, Some(Obstacle::Refused { call, answer, filters }));
            assert!(!none.looks.has(LookKind::Pause) && none.functions_left_out().is_empty(), "{none:?}");
        }
    }

    #[test]
    fn call_of_the_measurement_is_no_call_of_a_look() {
        for (answer, may_bind) in [(Answer::Kills, false), (Answer::Fails, true)] {
            let found = PollSupport::of(Some(1), vec![(Call::Affinity, answer)], Some(true));
            assert_eq!(
                (found.may_bind_threads(), found.shortcomings(), found.looks),
                (may_bind, None, Looks::ALL)
            );
        }
    }

    #[test]
    fn no_wait_polls_where_switches_are_not_counted() {
        for (is_counting, obstacle) in [(Some(false), Obstacle::Uncounted), (None, Obstacle::Uncertain)] {
            let found = PollSupport::of(Some(0), Vec::new(), is_counting);
            assert!(!found.looks.has(LookKind::Pause));
            assert_eq!(
                found.variable().as_deref(),
                Some("0:poll,select,epoll,readable,receive,futex,mask,memory,membarrier")
            );
            assert_eq!(found.obstacle, Some(obstacle));
        }
    }

    #[test]
    fn nothing_is_said_to_programs_where_nothing_is_known() {
        let found = PollSupport::find(None);
        assert_eq!((found.variable(), found.obstacle), (None, Some(Obstacle::UntoldFilters)));
    }

    /// Each look has calls, and each call is one of a look.
    #[test]
    fn every_call_belongs_to_a_look() {
        let of_looks: Vec<Call> = LookKind::ALL.into_iter().flat_map(calls_of).copied().collect();
        assert!(Call::ALL.iter().all(|call| of_looks.contains(call) != OF_NO_LOOK.contains(call)));
        assert!(LookKind::ALL.into_iter().all(|look| !calls_of(look).is_empty()));
    }
}
