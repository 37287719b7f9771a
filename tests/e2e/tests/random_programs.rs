//! Random programs of several processes, on the kernel and on each engine.
//!
//! Each is a script for `c/script.c`: processes take turns, may fall asleep in semop, and are woken by what others
//! do. After every step all values, pids and counts are printed, so the first step at which an engine leaves the
//! kernel's way is the first line that differs, and proptest shortens the program to what is needed for it.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::fmt::Write;
use unspin_e2e::{Run, World, assert_same, build};

const IPC_CREAT: i32 = 0o1000;
const IPC_EXCL: i32 = 0o2000;
const IPC_NOWAIT: i32 = 0o4000;
/// GETPID GETVAL GETNCNT GETZCNT, and two commands that do not exist.
const READERS: [i32; 6] = [11, 12, 14, 15, 9, 99];

/// One line of a script, behind the process.
#[derive(Clone, Debug)]
struct Step {
    process: u8,
    command: char,
    slot: u8,
    numbers: Vec<i32>,
}

fn get() -> impl Strategy<Value = (char, Vec<i32>)> {
    let nsems = prop_oneof![8 => 1..=3, 1 => Just(0), 1 => Just(-1)];
    let flags = prop_oneof![
        6 => Just(IPC_CREAT | 0o600),
        2 => Just(0),
        2 => Just(IPC_CREAT | IPC_EXCL | 0o666),
        1 => Just(0o600),
    ];
    (0..=3, nsems, flags).prop_map(|(key, nsems, flags)| ('G', vec![key, nsems, flags]))
}

fn operation() -> impl Strategy<Value = [i32; 3]> {
    let number = prop_oneof![12 => 0..=2, 1 => Just(3)];
    let delta = prop_oneof![20 => -3..=3, 1 => Just(32_767), 1 => Just(-32_768)];
    let flags = prop_oneof![3 => Just(0), 1 => Just(IPC_NOWAIT)];
    (number, delta, flags).prop_map(|(number, delta, flags)| [number, delta, flags])
}

fn operate() -> impl Strategy<Value = (char, Vec<i32>)> {
    // The first number says whether the timeout is zero; without it the process may fall asleep.
    let zero_timeout = prop_oneof![2 => Just(0), 1 => Just(1)];
    let count = prop_oneof![6 => 1..=1usize, 4 => 2..=4usize, 1 => Just(0usize)];
    (zero_timeout, count.prop_flat_map(|n| prop::collection::vec(operation(), n))).prop_map(
        |(zero, operations)| {
            let zero = if only_waits_for_zero(&operations) { 1 } else { zero };
            ('O', [vec![zero], operations.concat()].concat())
        },
    )
}

/// Such a vector, asleep, is counted by Linux where it could not proceed when it was last tried, and it is tried
/// again only when some value has become zero (`do_smart_wakeup_zero`). The engines count it where it cannot proceed
/// now, as the manual has it. So none of these falls asleep here; `c/sleeping.c` has some.
fn only_waits_for_zero(operations: &[[i32; 3]]) -> bool {
    operations.len() > 1 && operations.iter().all(|&[_, delta, _]| delta == 0)
}

fn control() -> impl Strategy<Value = (char, Vec<i32>)> {
    let value = || prop_oneof![10 => 0..=4, 1 => Just(32_767), 1 => Just(-1), 1 => Just(32_768)];
    prop_oneof![
        4 => (-1..=3, value()).prop_map(|(number, value)| ('V', vec![number, value])),
        2 => prop::collection::vec(value(), 3).prop_map(|values| ('A', values)),
        2 => (-1..=3, prop::sample::select(&READERS[..])).prop_map(|(n, command)| ('C', vec![n, command])),
        1 => (0..=0o777).prop_map(|mode| ('M', vec![mode])),
        1 => Just(('R', vec![])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let call = prop_oneof![1 => get(), 8 => operate(), 3 => control()];
    (0..4u8, 0..3u8, call).prop_map(|(process, slot, (command, numbers))| Step {
        process,
        command,
        slot,
        numbers,
    })
}

/// Begins with a set in each slot, so that most steps have something to work on.
fn script() -> impl Strategy<Value = Vec<Step>> {
    let first = |slot: u8| Step {
        process: 0,
        command: 'G',
        slot,
        numbers: vec![i32::from(slot) + 1, i32::from(slot) + 1, IPC_CREAT | 0o600],
    };
    prop::collection::vec(step(), 1..60).prop_map(move |steps| [(0..3).map(first).collect(), steps].concat())
}

fn text(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |mut text, step| {
        let _ = write!(text, "{} {} {}", step.process, step.command, step.slot);
        for number in &step.numbers {
            let _ = write!(text, " {number}");
        }
        text + "\n"
    })
}

#[test]
fn engines_follow_the_kernel() {
    let Some(program) = build("script") else { return };
    // A failing program is printed whole, and belongs into a test of its own rather than into a seed file.
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&script(), |steps| {
        let script = text(&steps);
        let run = |world| Run::new(program.path(), world).input(script.as_str()).output();
        let kernel = run(World::Bare);
        assert!(kernel.status.success(), "the kernel itself: {kernel}");
        for world in World::ENGINES {
            assert_same(&script, world, &kernel, &run(world));
        }
        Ok(())
    });
    if let Err(TestError::Fail(why, steps)) = result {
        panic!("{why}\nthe shortest program found:\n{}", text(&steps));
    }
}

/// Programs to try; `PROPTEST_CASES` says otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}
