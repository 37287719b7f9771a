//! Steps that the program `c/script.c` knows, made up at random.

use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;

const IPC_CREAT: i32 = 0o1000;
const IPC_EXCL: i32 = 0o2000;
const IPC_NOWAIT: i32 = 0o4000;
const SEM_UNDO: i32 = 0x1000;
const MSG_NOERROR: i32 = 0o10_000;
const MSG_EXCEPT: i32 = 0o20_000;
const MSG_COPY: i32 = 0o40_000;
const SHM_RDONLY: i32 = 0o10_000;
const SHM_RND: i32 = 0o20_000;
const SHM_REMAP: i32 = 0o40_000;
/// GETPID GETVAL GETNCNT GETZCNT, and two commands that do not exist.
const READERS: [i32; 6] = [11, 12, 14, 15, 9, 99];

/// Processes of a program, and slots that ids of each mechanism are kept in.
const PROCESSES: i32 = 4;
const SLOTS: u8 = 3;

/// One line of a script.
#[derive(Clone, Debug)]
pub struct Step {
    /// With 10 added it is a thread that makes the call, and ends.
    process: u8,
    command: &'static str,
    slot: u8,
    numbers: Vec<i32>,
}

/// What a program is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// Sets of semaphores.
    Semaphores,
    /// Message queues.
    Messages,
    /// Shared memory.
    Segments,
    /// All of it.
    Everything,
}

impl About {
    /// Each of them.
    pub const ALL: [About; 4] = [About::Semaphores, About::Messages, About::Segments, About::Everything];

    /// Whether the program is about `family`, which is not everything.
    fn has(self, family: About) -> bool {
        self == family || self == About::Everything
    }
}

/// A command and its numbers.
type Call = (&'static str, Vec<i32>);

/// Flags of the calls that make objects.
fn making() -> impl Strategy<Value = i32> {
    prop_oneof![
        6 => Just(IPC_CREAT | 0o600),
        2 => Just(0),
        2 => Just(IPC_CREAT | IPC_EXCL | 0o666),
        1 => Just(0o600),
    ]
}

fn semget() -> impl Strategy<Value = Call> {
    let nsems = prop_oneof![8 => 1..=3, 1 => Just(0), 1 => Just(-1)];
    (0..=3, nsems, making()).prop_map(|(key, nsems, flags)| ("semget", vec![key, nsems, flags]))
}

fn operation() -> impl Strategy<Value = [i32; 3]> {
    let number = prop_oneof![8 => 0..=1, 3 => Just(2), 1 => Just(3)];
    let delta = prop_oneof![
        12 => 1..=3,
        8 => -2..=-1,
        4 => Just(0),
        1 => select(&[32_767, -32_768][..]),
    ];
    let flags = prop_oneof![
        8 => Just(0),
        2 => Just(IPC_NOWAIT),
        6 => Just(SEM_UNDO),
        1 => Just(SEM_UNDO | IPC_NOWAIT),
    ];
    (number, delta, flags).prop_map(|(number, delta, flags)| [number, delta, flags])
}

fn semop() -> impl Strategy<Value = Call> {
    // The first number says whether the timeout is zero; without it the process may fall asleep.
    let zero_timeout = prop_oneof![6 => Just(0), 1 => Just(1)];
    let count = prop_oneof![6 => 1..=1usize, 4 => 2..=4usize, 1 => Just(0usize)];
    (zero_timeout, count.prop_flat_map(|n| prop::collection::vec(operation(), n))).prop_map(
        |(zero, operations)| {
            let zero = if only_waits_for_zero(&operations) { 1 } else { zero };
            ("semop", [vec![zero], operations.concat()].concat())
        },
    )
}

/// Such a vector, asleep, is counted by Linux where it could not proceed when it was last tried, and it is tried
/// again only when some value has become zero (`do_smart_wakeup_zero`). The engines count it where it cannot proceed
/// now, as the manual has it. So none of these falls asleep here; `c/sleeping.c` has some.
fn only_waits_for_zero(operations: &[[i32; 3]]) -> bool {
    operations.len() > 1 && operations.iter().all(|&[_, delta, _]| delta == 0)
}

fn semctl() -> impl Strategy<Value = Call> {
    let value = || prop_oneof![10 => 0..=4, 1 => Just(32_767), 1 => Just(-1), 1 => Just(32_768)];
    prop_oneof![
        4 => (-1..=3, value()).prop_map(|(number, value)| ("setval", vec![number, value])),
        2 => prop::collection::vec(value(), 3).prop_map(|values| ("setall", values)),
        3 => (-1..=3, select(&READERS[..])).prop_map(|(number, command)| ("semctl", vec![number, command])),
        1 => (0..=0o777).prop_map(|mode| ("semset", vec![mode])),
        1 => Just(("semrm", vec![])),
    ]
}

fn semaphores() -> impl Strategy<Value = Call> {
    prop_oneof![3 => semget(), 20 => semop(), 6 => semctl()]
}

/// Bytes of messages, and of the queues that hold them, so that queues are full soon.
fn size() -> impl Strategy<Value = i32> {
    prop_oneof![10 => 0..=40, 2 => 41..=120, 1 => select(&[200, 4_100, 8_192, 8_193, -1][..])]
}

fn room() -> impl Strategy<Value = i32> {
    prop_oneof![6 => 20..=130, 2 => 0..=5, 1 => select(&[300, 9_000, 16_384][..])]
}

fn messages() -> impl Strategy<Value = Call> {
    let may_wait = || prop_oneof![5 => Just(0), 2 => Just(IPC_NOWAIT)];
    let sent = prop_oneof![12 => 1..=4, 1 => select(&[0, -1, i32::MAX][..])];
    let wanted = prop_oneof![6 => Just(0), 8 => 1..=4, 4 => -4..=-1, 1 => select(&[i32::MAX, i32::MIN][..])];
    let buffer = prop_oneof![6 => Just(9_000), 5 => size()];
    let more = prop_oneof![
        8 => Just(0),
        2 => Just(MSG_NOERROR),
        2 => Just(MSG_EXCEPT),
        1 => Just(MSG_COPY),
        1 => Just(MSG_COPY | IPC_NOWAIT),
        1 => Just(MSG_COPY | MSG_EXCEPT | IPC_NOWAIT),
    ];
    prop_oneof![
        2 => (0..=3, making()).prop_map(|(key, flags)| ("msgget", vec![key, flags])),
        12 => (sent, size(), may_wait()).prop_map(|(kind, size, flags)| ("msgsnd", vec![kind, size, flags])),
        12 => (buffer, wanted, may_wait(), more)
            .prop_map(|(size, kind, flags, more)| ("msgrcv", vec![size, kind, flags | more])),
        3 => (0..=0o777, room()).prop_map(|(mode, room)| ("msgset", vec![mode, room])),
        1 => Just(("msgrm", vec![])),
    ]
}

fn segments() -> impl Strategy<Value = Call> {
    let bytes = prop_oneof![8 => select(&[1, 100, 4_096, 4_097, 16_384][..]), 1 => select(&[0, -1][..])];
    let bay = || prop_oneof![5 => 0..=1, 2 => 2..=3, 2 => 4..=5];
    let how = prop_oneof![
        6 => Just(0),
        2 => Just(SHM_RDONLY),
        2 => Just(SHM_REMAP),
        1 => Just(SHM_RND),
        1 => Just(SHM_RND | SHM_REMAP),
    ];
    let beside = || prop_oneof![10 => Just(0), 1 => select(&[1, 4_096][..])];
    let page = || 0..4;
    prop_oneof![
        3 => (0..=3, bytes, making()).prop_map(|(key, size, flags)| ("shmget", vec![key, size, flags])),
        6 => (bay(), how, beside()).prop_map(|(bay, how, beside)| ("shmat", vec![bay, how, beside])),
        3 => (bay(), beside()).prop_map(|(bay, beside)| ("shmdt", vec![bay, beside])),
        2 => (bay(), page(), 1..=2).prop_map(|(bay, page, pages)| ("munmap", vec![bay, page, pages])),
        3 => (bay(), page()).prop_map(|(bay, page)| ("poke", vec![bay, page])),
        3 => (bay(), page()).prop_map(|(bay, page)| ("peek", vec![bay, page])),
        1 => (0..=0o777).prop_map(|mode| ("shmset", vec![mode])),
        2 => Just(("shmrm", vec![])),
    ]
}

/// Ends and beginnings.
fn lives() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (0..=1).prop_map(|zombie| ("kill", vec![zombie])),
        2 => (0..=2).prop_map(|how| ("exit", vec![how])),
        4 => (0..PROCESSES).prop_map(|child| ("fork", vec![child])),
        3 => Just(("exec", vec![0])),
        1 => Just(("exec", vec![1])),
        3 => (0..=1).prop_map(|restarts| ("signal", vec![restarts])),
    ]
}

fn step(about: About) -> impl Strategy<Value = Step> {
    let weight = |family, weight| if about.has(family) { weight } else { 0 };
    let call = prop::strategy::Union::new_weighted(
        vec![
            (weight(About::Semaphores, 20), semaphores().boxed()),
            (weight(About::Messages, 20), messages().boxed()),
            (weight(About::Segments, 20), segments().boxed()),
            (if about == About::Everything { 8 } else { 3 }, lives().boxed()),
        ]
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .collect(),
    );
    let thread = prop_oneof![12 => Just(0u8), 1 => Just(10)];
    (0..PROCESSES as u8, thread, 0..SLOTS, call).prop_map(|(process, thread, slot, (command, numbers))| {
        // Fork, exec and the end of a process are steps of its main thread.
        let thread = if matches!(command, "fork" | "exec" | "exit" | "kill" | "signal") { 0 } else { thread };
        Step { process: process + thread, command, slot, numbers }
    })
}

/// An object in each slot, so that most steps have something to work on.
fn first(about: About) -> Vec<Step> {
    let by_zero = |command, slot, numbers| Step { process: 0, command, slot, numbers };
    let make = IPC_CREAT | 0o600;
    let mut steps = vec![];
    for slot in 0..SLOTS {
        let n = i32::from(slot) + 1;
        if about.has(About::Semaphores) {
            steps.push(by_zero("semget", slot, vec![n, n.max(2), make]));
        }
        if about.has(About::Messages) {
            steps.push(by_zero("msgget", slot, vec![n, make]));
            steps.push(by_zero("msgset", slot, vec![0o600, 40 * n]));
        }
        if about.has(About::Segments) {
            steps.push(by_zero("shmget", slot, vec![n, 6_000 * n - 5_900, make]));
        }
    }
    steps
}

/// Programs.
pub fn script(about: About) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(about), 1..60).prop_map(move |steps| [first(about), steps].concat())
}

/// A program as `c/script.c` reads it.
pub fn text(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |mut text, step| {
        let _ = write!(text, "{} {} {}", step.process, step.command, step.slot);
        for number in &step.numbers {
            let _ = write!(text, " {number}");
        }
        text + "\n"
    })
}
