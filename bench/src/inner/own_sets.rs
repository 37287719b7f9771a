//! Processes with sets of their own. They do not affect each other unless the engine makes them share something.

use super::calls::{Set, expect, operation};
use std::io::{Read, Write};
use std::time::Duration;
use unspin_sys::child::{self, End};
use unspin_sys::clock;

/// From the fork to the common start: enough to make a set and to warm up.
const RUN_UP: Duration = Duration::from_millis(40);
/// On a busy machine a process may miss the common start, or never run. Then the whole measurement is repeated.
const TRIES: u32 = 10;
/// Pairs of calls between two looks at the clock: a look is 1 % of them at the most.
const PAIRS: u64 = 200;

/// Millions of semop per second of all processes together. Each is bound to a CPU of its own.
pub fn run(processes: usize, time_ms: u64) -> Result<f64, String> {
    for _ in 0..TRIES {
        if let Some(calls) = all_workers(processes, time_ms)? {
            return Ok(calls as f64 / (time_ms * 1000) as f64);
        }
    }
    Err(format!("the machine is too busy: {processes} processes did not run side by side"))
}

/// The calls made by all processes; `None` if not all were ready at the common start, and ran.
fn all_workers(processes: usize, time_ms: u64) -> Result<Option<u64>, String> {
    let cpus = allowed_cpus();
    if cpus.len() < processes {
        return Err(format!("{processes} processes want as many CPUs, and there are {}", cpus.len()));
    }
    let (mut results, writer) = std::io::pipe().map_err(|e| format!("pipe: {e}"))?;
    let start = clock::monotonic_ns() + RUN_UP.as_nanos() as u64;
    let stop = start + Duration::from_millis(time_ms).as_nanos() as u64;
    for &cpu in &cpus[..processes] {
        let mut writer = writer.try_clone().map_err(|e| format!("pipe: {e}"))?;
        let body = || match worker(cpu, start, stop) {
            Ok(Some(calls)) => writer.write_all(&calls.to_ne_bytes()).map_or(2, |()| 0),
            Ok(None) => 0,
            Err(text) => {
                eprintln!("unspin-bench: {text}");
                1
            }
        };
        child::fork(body).map_err(|e| format!("fork: {e}"))?;
    }
    drop(writer);
    let mut bytes = Vec::new();
    results.read_to_end(&mut bytes).map_err(|e| format!("pipe: {e}"))?;
    while let Ok(ended) = child::wait_any() {
        if ended.end != End::Exited(0) {
            return Err(format!("a process that works on a set of its own: {:?}", ended.end));
        }
    }
    let (counts, _) = bytes.as_chunks::<8>();
    let counts: Vec<u64> = counts.iter().copied().map(u64::from_ne_bytes).collect();
    // A process that never got a CPU measures nothing.
    let all_ran = counts.len() == processes && !counts.contains(&0);
    Ok(all_ran.then(|| counts.iter().sum()))
}

/// The calls made between start and stop; `None` if not ready at the start.
fn worker(cpu: usize, start: u64, stop: u64) -> Result<Option<u64>, String> {
    bind_to(cpu)?;
    let set = Set::private()?;
    let (mut post, mut take) = (operation(1, 0), operation(-1, 0));
    let mut pairs = || {
        for _ in 0..PAIRS {
            // SAFETY: one live operation, as the count says.
            expect(unsafe { libc::semop(set.id, &mut post, 1) }, 0);
            // SAFETY: as above.
            expect(unsafe { libc::semop(set.id, &mut take, 1) }, 0);
        }
    };
    pairs();
    if clock::monotonic_ns() > start {
        return Ok(None);
    }
    while clock::monotonic_ns() < start {
        pairs();
    }
    let mut calls = 0;
    while clock::monotonic_ns() < stop {
        pairs();
        calls += 2 * PAIRS;
    }
    Ok(Some(calls))
}

/// CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a zeroed set is an empty one.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `set` is live and as large as stated.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
    // SAFETY: `set` is a set, and all numbers are below its size.
    let contains = |&cpu: &usize| result == 0 && unsafe { libc::CPU_ISSET(cpu, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(contains).collect()
}

/// From now on the calling thread runs on this CPU only.
pub fn bind_to(cpu: usize) -> Result<(), String> {
    // SAFETY: a zeroed set is an empty one.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `cpu` came out of such a set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is live and as large as stated.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(format!("sched_setaffinity to CPU {cpu}: {}", std::io::Error::last_os_error())),
    }
}
