//! A process that holds a semaphore with SEM_UNDO is killed, and another waits for it.

use super::calls::{Set, expect, operation};
use std::io::{PipeReader, Read, Write};
use std::time::Duration;
use unspin_sys::child::{self, End, Signal};
use unspin_sys::clock;

/// From the moment in which the waiter is counted to the kill: longer than any thread spins, so that the waiter sleeps.
const SETTLE: Duration = Duration::from_millis(5);

/// Microseconds from the kill to the waiter's return from semop: the median over so many holders.
pub fn run(rounds: u32) -> Result<f64, String> {
    let mut times = (0..rounds.max(1)).map(|_| round()).collect::<Result<Vec<f64>, String>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn round() -> Result<f64, String> {
    let set = Set::private()?;
    change(set.id, 1, 0);
    let (mut holding, mut held) = pipe()?;
    let parent = std::process::id();
    let holder = child::fork(|| {
        let _ = child::die_with_parent(parent);
        change(set.id, -1, libc::SEM_UNDO);
        let _ = held.write_all(&[1]);
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    });
    let holder = holder.map_err(|e| format!("fork: {e}"))?;
    drop(held);
    read::<1>(&mut holding)?;
    let (mut ending, mut ended) = pipe()?;
    let waiter = child::fork(|| {
        let _ = child::die_with_parent(parent);
        change(set.id, -1, 0);
        let now = clock::monotonic_ns();
        ended.write_all(&now.to_ne_bytes()).map_or(1, |()| 0)
    });
    waiter.map_err(|e| format!("fork: {e}"))?;
    drop(ended);
    // SAFETY: GETNCNT takes no fourth argument.
    while unsafe { libc::semctl(set.id, 0, libc::GETNCNT) } != 1 {
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(SETTLE);
    let killed = clock::monotonic_ns();
    child::signal(holder, Signal::Kill).map_err(|e| format!("kill: {e}"))?;
    let returned = u64::from_ne_bytes(read(&mut ending)?);
    for _ in 0..2 {
        let ended = child::wait_any().map_err(|e| format!("wait: {e}"))?;
        if ended.pid != holder && ended.end != End::Exited(0) {
            return Err(format!("the process that waits: {:?}", ended.end));
        }
    }
    Ok((returned.saturating_sub(killed)) as f64 / 1e3)
}

fn change(id: i32, by: i16, flags: i32) {
    let mut operation = operation(by, flags);
    // SAFETY: one live operation, as the count says.
    expect(unsafe { libc::semop(id, &mut operation, 1) }, 0);
}

fn pipe() -> Result<(PipeReader, std::io::PipeWriter), String> {
    std::io::pipe().map_err(|e| format!("pipe: {e}"))
}

fn read<const N: usize>(from: &mut PipeReader) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|e| format!("a process died before its time: {e}"))?;
    Ok(bytes)
}
