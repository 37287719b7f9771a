//! The machine before anything is measured on it: what other programs use of it.

use super::budget::duration;
use super::interrupt::Interrupt;
use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_observe::disturbance::{CpuTime, Disturbance};

/// A machine on which others use less than this percent is quiet: more than the background of an idle system.
const QUIET_PERCENT: f64 = 5.0;
/// From this percent on the user is told before the time budget is spent.
const BUSY_PERCENT: f64 = 20.0;
/// Time of one look: some 20 ticks of the kernel's clock on each CPU.
const LOOK: Duration = Duration::from_millis(200);
/// Time of one look of `--wait-for-quiet`: long enough not to take a pause of another program for its end.
const LONG_LOOK: Duration = Duration::from_secs(2);

/// What others use of the CPUs.
#[derive(Clone, Debug)]
pub struct Others {
    /// Percent of all CPUs that other programs use, the hypervisor's others included.
    percent: f64,
    /// The first three figures of `/proc/loadavg`; empty if it cannot be read.
    load: String,
}

/// How the wait for a quiet machine has ended.
#[derive(Debug)]
pub enum WaitEnd {
    /// It is quiet.
    Quiet,
    /// ^C came.
    Interrupted,
}

impl Others {
    /// Looks for a moment. None if ^C comes.
    pub fn now(interrupt: &Interrupt) -> Option<Others> {
        Others::during(LOOK, interrupt)
    }

    fn during(time: Duration, interrupt: &Interrupt) -> Option<Others> {
        let before = CpuTime::since_boot();
        let began = Instant::now();
        while began.elapsed() < time {
            if interrupt.has_come() {
                return None;
            }
            thread::sleep(LOOK.min(time.saturating_sub(began.elapsed())));
        }
        Some(Others::of(&Disturbance::between(&before, &CpuTime::since_boot(), 0.0)))
    }

    fn of(disturbance: &Disturbance) -> Others {
        let (stolen, others) = disturbance.percent();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().take(3).collect::<Vec<_>>().join(", ");
        Others { percent: stolen + others, load }
    }

    /// What the user should know before the time budget is spent; none if the machine is quiet enough.
    pub fn warning(&self) -> Option<String> {
        (self.percent >= BUSY_PERCENT).then(|| {
            format!(
                "{self}: only large differences can be proven now, and short waits may not be found. --wait-for-quiet waits \
                 until they have ended"
            )
        })
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "other programs use {:.0} % of the CPUs", self.percent)?;
        if self.load.is_empty() { Ok(()) } else { write!(f, " (load {})", self.load) }
    }
}

/// Waits until others use next to nothing, for `limit` at most; `tell` is told once why that takes time.
///
/// # Errors
/// If the machine is not quiet by then.
pub fn wait_for_quiet(
    limit: Duration,
    interrupt: &Interrupt,
    mut tell: impl FnMut(&Others),
) -> Result<WaitEnd, Error> {
    let began = Instant::now();
    let mut has_told = false;
    loop {
        let Some(others) = Others::during(LONG_LOOK.min(limit.max(LOOK)), interrupt) else {
            return Ok(WaitEnd::Interrupted);
        };
        if others.percent < QUIET_PERCENT {
            return Ok(WaitEnd::Quiet);
        }
        if began.elapsed() >= limit {
            return Err(Error::Unjudged(format!(
                "--wait-for-quiet {}: {others} still; end them (top(1) shows them), wait longer, or leave the option out",
                duration(limit.as_secs_f64())
            )));
        }
        if !has_told {
            tell(&others);
            has_told = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_machine_is_said_and_a_quiet_one_is_not() {
        let others =
            |others_s| Others::of(&Disturbance { total_s: 4.0, steal_s: 0.2, others_s, throttling: None });
        assert_eq!(others(0.5).warning(), None);
        let warning = others(3.0).warning().unwrap();
        assert!(warning.starts_with("other programs use 80 % of the CPUs"), "{warning}");
    }
}
