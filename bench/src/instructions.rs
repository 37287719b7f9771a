//! Instructions per call, counted by valgrind: the same on a busy machine as on an idle one.
//!
//! Callgrind counts what a process executes in user mode. A program that does its work N times, and one that does it
//! 2 N times, differ by N calls and by nothing else. Valgrind has no vDSO: a clock is a system call there, which counts
//! as one instruction and not as the dozen that it is.

use crate::inner::{Call, Company, EffortOptions, Section, Task};
use crate::measurement::World;
use crate::recorded::Recorded;
use crate::start;
use crate::tools::{self, Tools};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Calls of the shorter run.
const TIMES: u64 = 20_000;

/// Counts, and prints a table.
pub fn run(mutrace: Option<&Path>) -> Result<(), String> {
    if let Err(reason) = tools::output(Command::new("valgrind").arg("--version")) {
        println!("skipped: valgrind cannot be used ({reason}): apt-get install valgrind");
        return Ok(());
    }
    let tools = Tools::prepare(mutrace)?;
    println!("instructions per call in user mode, by callgrind; {}\n", tools.version);
    println!("{:<32}{:>9}{:>9}{:>9}{:>9}", "", "kernel", "control", "global", "rcu");
    for (name, call, calls) in [
        ("semop +1 and -1", Call::Semop, 2),
        ("semop -1 IPC_NOWAIT: EAGAIN", Call::Eagain, 1),
        ("semctl GETVAL", Call::Getval, 1),
        ("semget of an existing key", Call::Semget, 1),
    ] {
        let task = |times| Task::Call { call, effort: EffortOptions::times(times) };
        let count = |world| per_time(world, &tools, |times| start::words(&task(times)));
        let counts = World::ENGINES.into_iter().map(count).collect::<Result<Vec<f64>, String>>()?;
        let counts: String = counts.iter().map(|n| format!("{:>9.1}", n / f64::from(calls))).collect();
        println!("{name:<32}{counts}");
    }
    println!();
    for (name, section) in [
        ("RCU read section, as the engine", Section::Slot),
        ("  Reader::read", Section::Reader),
        ("  crossbeam-epoch", Section::Epoch),
    ] {
        let task = |times| Task::Section { section, effort: EffortOptions::times(times) };
        let count = per_time(World::Bare, &tools, |times| start::words(&task(times)))?;
        println!("{name:<32}{count:>9.1}");
    }
    match &tools.liburcu {
        Ok(program) => {
            let words = |times: u64| Ok(vec![program.into(), "times".into(), times.to_string().into()]);
            println!("{:<32}{:>9.1}", "  liburcu-memb", per_time(World::Bare, &tools, words)?);
        }
        Err(reason) => println!("{:<32}skipped: {reason}", "  liburcu-memb"),
    }
    println!();
    meter(&tools)?;
    println!();
    waits(&tools)
}

/// The waits' part: what a hook costs a wait that is over at once.
fn waits(tools: &Tools) -> Result<(), String> {
    if let Err(reason) = &tools.waits {
        println!("waits: not counted: {reason}");
        return Ok(());
    }
    println!("{:<32}{:>9}{:>9}{:>9}", "", "bare", "system", "poll");
    let program = tools.kit()?.program("waits");
    for (name, what) in [
        ("read of a byte, and its write", "read"),
        ("epoll_wait of a ready set", "epoll"),
        ("sem_wait, and its post", "free"),
    ] {
        let words = |times: u64| {
            Ok(vec![program.clone().into(), what.into(), "times".into(), times.to_string().into()])
        };
        let worlds = [World::Bare, World::WaitsSystem, World::WaitsPoll];
        let counts = worlds.map(|world| per_time(world, tools, words).map(|n| format!("{n:>9.1}")));
        let counts = counts.into_iter().collect::<Result<String, String>>()?;
        println!("{name:<32}{counts}");
    }
    Ok(())
}

/// The meter's part of the table: what a mutex costs in each of its worlds.
fn meter(tools: &Tools) -> Result<(), String> {
    let names = World::METER.map(|world| if world == World::Bare { "bare" } else { world.label() });
    println!("{:<32}{}", "", names.map(|name| format!("{name:>9}")).concat());
    for (name, company) in
        [("mutex lock and unlock", Company::Sleeper), ("  in a process of one thread", Company::Nobody)]
    {
        let words = |times| start::words(&Task::Pair { company, effort: EffortOptions::times(times) });
        let count = |world| match (world, &tools.mutrace) {
            (World::Mutrace, Err(_)) => Ok("-".to_owned()),
            _ => per_time(world, tools, words).map(|n| format!("{n:.1}")),
        };
        let counts = World::METER.into_iter().map(count).collect::<Result<Vec<String>, String>>()?;
        println!("{name:<32}{}", counts.iter().map(|n| format!("{n:>9}")).collect::<String>());
    }
    if let Err(reason) = &tools.mutrace {
        println!("mutrace: not counted: {reason}");
    }
    Ok(())
}

/// What one time more costs.
fn per_time(
    world: World,
    tools: &Tools,
    words: impl Fn(u64) -> Result<Vec<OsString>, String>,
) -> Result<f64, String> {
    let (once, twice) = (count(world, tools, words(TIMES)?)?, count(world, tools, words(2 * TIMES)?)?);
    Ok((twice as f64 - once as f64) / TIMES as f64)
}

/// All instructions of a run.
fn count(world: World, tools: &Tools, program: Vec<OsString>) -> Result<u64, String> {
    let file = tools.scratch().join("callgrind");
    let mut words: Vec<OsString> = vec!["valgrind".into(), "--tool=callgrind".into()];
    let mut option = OsString::from("--callgrind-out-file=");
    option.push(&file);
    words.push(option);
    words.extend(program);
    let recorded = Recorded::new(world, tools)?;
    let path = recorded.as_ref().map(Recorded::path);
    tools::output(&mut start::inside(world, tools, words, path)?)?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("callgrind's output: {e}"))?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    total.and_then(|n| n.trim().parse().ok()).ok_or_else(|| "callgrind's output holds no total".into())
}
