//! Follows the states of all threads.

use super::kept_waits::KeptWaits;
use super::states::{Blocked, Interval, SchedState, Sleep, States};
use crate::lens::collector::Collector;
use crate::lens::spaces::{SpaceId, Spaces};
use crate::lens::timeline::track::Track;
use crate::observed::{Sink, trace_error};
use std::collections::HashMap;
use unspin_launch::error::Error;
use unspin_trace::{
    CallChain, Event, Payload, Record, RunningThread, Stacks, Switch, SystemCall, Tracefs, Tracer,
};

/// Indices of the events.
pub const SWITCH: usize = 1;
pub const WAKEUP: usize = 2;

/// Adds up how long threads were in each state.
#[derive(Debug, Default)]
pub struct OffCpuLens {
    threads: HashMap<u32, OffCpuThread>,
    pub(super) spaces: Spaces,
    pub(super) on_cpu_ns: u64,
    pub(super) runnable_ns: u64,
    pub(super) blocked: HashMap<(SpaceId, Blocked), Sum>,
    /// Threads that were seen.
    pub(super) seen: u64,
    /// The longest times blocked, if they are to be kept.
    pub(super) kept: Option<Box<KeptWaits>>,
}

/// The times that threads were blocked in one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub count: u64,
    pub ns: u64,
    pub max_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct OffCpuThread {
    pid: u32,
    states: States,
}

impl Collector for OffCpuLens {
    const HAS_KERNEL_NAMES: bool = true;

    /// The events that it needs, in the order that [`note`](Sink::note) expects. Threads get CPUs by the records of
    /// context switches, because `sched:sched_switch` belongs to the thread that leaves the CPU.
    fn with_events() -> Result<(OffCpuLens, Vec<Event>), Error> {
        let tracefs = Tracefs::find().map_err(trace_error)?;
        let switch =
            tracefs.tracepoint("sched:sched_switch", &["prev_pid", "prev_state"]).map_err(trace_error)?;
        let wakeup = tracefs.tracepoint("sched:sched_wakeup", &["pid"]).map_err(trace_error)?;
        let events = vec![
            Event::context_switches(),
            Event::tracepoint(switch, CallChain::Both),
            Event::tracepoint_of_all(wakeup),
        ];
        Ok((OffCpuLens::default(), events))
    }

    fn drain(&mut self, now: u64) -> OffCpuLens {
        let cut = |thread: &mut OffCpuThread| (thread.pid, thread.states.cut(now));
        let parts: Vec<(u32, Interval)> = self.threads.values_mut().map(cut).collect();
        for (pid, part) in parts {
            self.add_time(pid, part);
        }
        OffCpuLens {
            threads: HashMap::new(),
            spaces: self.spaces.clone(),
            on_cpu_ns: std::mem::take(&mut self.on_cpu_ns),
            runnable_ns: std::mem::take(&mut self.runnable_ns),
            blocked: std::mem::take(&mut self.blocked),
            seen: self.seen,
            kept: None,
        }
    }

    fn absorb(&mut self, earlier: &OffCpuLens) {
        self.on_cpu_ns += earlier.on_cpu_ns;
        self.runnable_ns += earlier.runnable_ns;
        for (one, sum) in &earlier.blocked {
            self.blocked.entry(*one).or_default().merge(sum);
        }
    }

    fn keep_waits(&mut self) {
        self.kept = Some(Box::default());
    }
}

impl OffCpuLens {
    /// Adds a state that has ended at this time, by a waker if the thread was blocked and woken.
    fn add(&mut self, pid: u32, tid: u32, interval: Interval, end: u64, waker: Option<Track>) {
        if let Some(sum) = self.add_time(pid, interval) {
            sum.count += 1;
        }
        if let Some(kept) = &mut self.kept {
            let space = self.spaces.of(pid);
            kept.note(Track::Thread(pid, tid), space, interval, end, waker);
        }
    }

    /// Adds the time only. Returns the sum, if the thread was blocked.
    fn add_time(&mut self, pid: u32, interval: Interval) -> Option<&mut Sum> {
        match interval.state {
            SchedState::OnCpu => self.on_cpu_ns += interval.ns,
            SchedState::Runnable => self.runnable_ns += interval.ns,
            SchedState::Blocked(blocked) => {
                let space = self.spaces.of(pid);
                let sum = self.blocked.entry((space, blocked)).or_default();
                sum.ns += interval.ns;
                sum.max_ns = sum.max_ns.max(interval.ns);
                return Some(sum);
            }
        }
        None
    }

    /// Changes the state of a thread. `first` is the state that an unknown thread had before.
    fn change(
        &mut self,
        pid: u32,
        tid: u32,
        now: u64,
        first: SchedState,
        to: impl FnOnce(&mut States) -> Interval,
    ) {
        let thread = self.threads.entry(tid).or_insert_with(|| {
            self.seen += 1;
            OffCpuThread { pid, states: States::new(first, now) }
        });
        let interval = to(&mut thread.states);
        self.add(pid, tid, interval, now, None);
    }

    fn note_begin(&mut self, pid: u32, tid: u32, states: States) {
        self.seen += 1;
        self.threads.insert(tid, OffCpuThread { pid, states });
    }

    /// A thread executes a program. All other threads of its process end. If it was not the first thread, it takes over the
    /// number of the first one, and no record says that its own number has ended.
    fn note_exec(&mut self, pid: u32, tid: u32, now: u64) {
        let others = self.threads.iter().filter(|&(&other, thread)| thread.pid == pid && other != tid);
        let others: Vec<u32> = others.map(|(&other, _)| other).collect();
        let has_new_number = !self.threads.contains_key(&tid) && !others.is_empty();
        others.into_iter().for_each(|other| self.note_end(other, now));
        // It was counted under its own number.
        self.seen -= u64::from(has_new_number);
        self.change(pid, tid, now, SchedState::OnCpu, |states| states.enter_cpu(now));
    }

    fn note_end(&mut self, tid: u32, now: u64) {
        if let Some(OffCpuThread { pid, states }) = self.threads.remove(&tid) {
            self.add(pid, tid, states.end(now), now, None);
            if let Some(kept) = &mut self.kept {
                kept.forget(tid);
            }
        }
    }
}

/// The idle threads of the CPUs.
const IDLE: u32 = 0;

impl Sink for OffCpuLens {
    fn note(&mut self, record: &Record, _: &Stacks) {
        let Record { time, pid, tid, .. } = *record;
        match &record.payload {
            Payload::Sample(sample) if sample.event == WAKEUP => {
                let woken = sample.values[0] as u32;
                let Some(thread) = self.threads.get_mut(&woken) else { return };
                let owner = thread.pid;
                if let Some(interval) = thread.states.wake(time) {
                    let waker = (pid != IDLE).then_some(Track::Thread(pid, tid));
                    self.add(owner, woken, interval, time, waker);
                }
            }
            _ if pid == IDLE => {}
            Payload::Sample(sample) if sample.event == SWITCH => {
                let [_, state, ..] = sample.values;
                let next = leaving(state).map_or(SchedState::Runnable, |sleep| {
                    SchedState::Blocked(Blocked::At(sample.stack, sleep))
                });
                self.change(pid, tid, time, SchedState::OnCpu, |states| states.leave_cpu(next, time));
            }
            Payload::Switch(Switch::In) => {
                self.change(pid, tid, time, SchedState::Runnable, |states| states.enter_cpu(time));
            }
            payload => {
                match payload {
                    // A known thread was in `/proc` when the observation began.
                    Payload::Fork { .. } if !self.threads.contains_key(&tid) => {
                        self.note_begin(pid, tid, States::new(SchedState::Runnable, time));
                    }
                    // This is also the first record of a command: its events become active when its thread executes a
                    // program.
                    Payload::Comm { exec: true, .. } => self.note_exec(pid, tid, time),
                    Payload::Exit => self.note_end(tid, time),
                    _ => {}
                }
                self.spaces.note(record);
            }
        }
    }

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        for thread in tracer.running_threads() {
            if let Some(state) = state_of(&thread) {
                self.note_begin(thread.pid, thread.tid, States::read(state, now));
            }
        }
    }

    fn end(&mut self, now: u64) {
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        tids.into_iter().for_each(|tid| self.note_end(tid, now));
    }
}

/// How a thread that leaves its CPU blocks; none if it could go on. The bits are those of `prev_state` in the format file:
/// S, D, T, t, X, Z, P, I.
fn leaving(state: u64) -> Option<Sleep> {
    match state & 0xFF {
        0 => None,
        state if state & 0x0C != 0 => Some(Sleep::Stopped),
        state if state & 0x01 != 0 => Some(Sleep::Interruptible),
        _ => Some(Sleep::Uninterruptible),
    }
}

/// The state of a thread by `/proc`; none if it has ended.
fn state_of(thread: &RunningThread) -> Option<SchedState> {
    let number = thread.call.map(|SystemCall { number, .. }| number);
    let sleep = match thread.state {
        'R' => return Some(SchedState::Runnable),
        'X' | 'Z' => return None,
        'D' => Sleep::Uninterruptible,
        'T' | 't' => Sleep::Stopped,
        _ => Sleep::Interruptible,
    };
    Some(SchedState::Blocked(Blocked::Before(number, sleep)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PID, blocked_at, note, sample};
    use super::*;
    use unspin_trace::StackId;

    #[test]
    fn states_add_up_to_the_life_of_the_thread() {
        let lens = blocked_at(&[StackId::EMPTY]);
        let blocked: u64 = lens.blocked.values().map(|sum| sum.ns).sum();
        assert_eq!((lens.on_cpu_ns, lens.runnable_ns, blocked), (20_000, 20_000, 1_000_000));
        assert_eq!(lens.seen, 1, "the waker is not observed");
    }

    #[test]
    fn drained_parts_add_up_to_the_whole() {
        let mut lens = OffCpuLens::default();
        note(&mut lens, 0, 5, Payload::Comm { name: "a".into(), exec: true });
        note(&mut lens, 10, 5, sample(SWITCH, &[5, 1], StackId::EMPTY));
        let first = lens.drain(40);
        note(&mut lens, 100, 7, sample(WAKEUP, &[5], StackId::EMPTY));
        let blocked = |lens: &OffCpuLens| {
            lens.blocked.values().fold((0, 0), |(n, ns), sum| (n + sum.count, ns + sum.ns))
        };
        assert_eq!((first.on_cpu_ns, blocked(&first)), (10, (0, 30)), "it has not ended");
        let mut second = lens.drain(105);
        assert_eq!((second.runnable_ns, blocked(&second)), (5, (1, 60)));
        second.absorb(&first);
        assert_eq!((second.on_cpu_ns, second.runnable_ns, blocked(&second)), (10, 5, (1, 90)));
    }

    /// The exit of the first thread comes before the exec. The executing thread then gets the number of the first one.
    #[test]
    fn exec_by_another_than_the_first_thread_ends_that_thread() {
        let mut lens = OffCpuLens::default();
        note(&mut lens, 0, PID, Payload::Comm { name: "a".into(), exec: true });
        note(&mut lens, 10, 5, Payload::Fork { parent: PID });
        note(&mut lens, 20, PID, sample(SWITCH, &[PID.into(), 1], StackId::EMPTY));
        note(&mut lens, 20, 5, Payload::Switch(Switch::In));
        note(&mut lens, 30, PID, Payload::Exit);
        note(&mut lens, 40, PID, Payload::Comm { name: "b".into(), exec: true });
        note(&mut lens, 50, PID, sample(SWITCH, &[PID.into(), 1], StackId::EMPTY));
        lens.end(1_000_000);
        let blocked: u64 = lens.blocked.values().map(|sum| sum.ns).sum();
        assert_eq!((lens.on_cpu_ns, lens.runnable_ns, blocked), (20 + 20 + 10, 10, 10 + 999_950));
        assert_eq!(lens.seen, 2, "the thread that executes goes on under another number");
    }

    #[test]
    fn thread_that_is_preempted_is_runnable() {
        let mut lens = OffCpuLens::default();
        note(&mut lens, 0, 5, Payload::Comm { name: "a".into(), exec: true });
        note(&mut lens, 10, 5, sample(SWITCH, &[5, 0x100], StackId::EMPTY));
        lens.end(25);
        assert_eq!((lens.on_cpu_ns, lens.runnable_ns, lens.blocked.len()), (10, 15, 0));
    }

    #[test]
    fn running_threads_begin_with_the_state_of_proc() {
        let call = Some(SystemCall { number: 202, arguments: [0; 6] });
        let thread = |state| RunningThread { pid: 1, tid: 1, state, call };
        let blocked = |sleep| Some(SchedState::Blocked(Blocked::Before(Some(202), sleep)));
        assert_eq!(state_of(&thread('S')), blocked(Sleep::Interruptible));
        assert_eq!(state_of(&thread('D')), blocked(Sleep::Uninterruptible));
        assert_eq!(state_of(&thread('R')), Some(SchedState::Runnable));
        assert_eq!(state_of(&thread('Z')), None);
    }
}
