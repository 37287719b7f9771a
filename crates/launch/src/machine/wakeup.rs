//! The cost of a wake-up on this machine: the user states it, or it is measured once after each start of the machine.
//!
//! The measurement takes 20 ms, which is longer than many programs. So its result is kept in the cache, under a name that
//! contains the boot and the processor. An assumed cost is not kept: a later start may meet a quiet machine.

use crate::error::Error;
use crate::library::cache;
use crate::machine::Machine;
use crate::machine::looks;
use crate::replace::engine::Engine;
use sha2::{Digest, Sha256};
use std::fs;
use std::sync::OnceLock;
use unspin_waiting::wakeup::{ASSUMED_NS, MeasuredWakeUp};
use unspin_wire::environment::WAKE_UP_NS;

/// Costs that a machine can have.
const NS: std::ops::RangeInclusive<u64> = 100..=1_000_000_000;

/// Prefix of the names in the cache.
const KEPT: &str = "wakeup-";

/// The cost. Call it only where it is needed, and before a program is started: a running program disturbs the measurement.
pub fn cost() -> Result<MeasuredWakeUp, Error> {
    static COST: OnceLock<MeasuredWakeUp> = OnceLock::new();
    if let Some(stated) = std::env::var_os(WAKE_UP_NS) {
        return stated_cost(&stated.to_string_lossy());
    }
    Ok(*COST.get_or_init(|| read_kept().unwrap_or_else(measure)))
}

/// The cost for a program that runs with this engine: the engine polls about as long. None if the program's own default
/// is as good: the kernel does not poll, and what is assumed here is assumed there.
pub fn ns_for(engine: Engine) -> Option<u64> {
    let cost = (engine != Engine::Kernel).then(cost)?.ok()?;
    cost.is_measured().then_some(cost.futex_ns)
}

fn stated_cost(text: &str) -> Result<MeasuredWakeUp, Error> {
    match text.trim().parse::<u64>() {
        // What the user states is not assumed.
        Ok(ASSUMED_NS) => Ok(ASSUMED_NS + 1),
        Ok(ns) if NS.contains(&ns) => Ok(ns),
        _ => Err(Error::Usage(format!(
            "{WAKE_UP_NS}={text}: state the cost of a wake-up in nanoseconds, from {} to {}, or unset it",
            NS.start(),
            NS.end()
        ))),
    }
    .map(|ns| MeasuredWakeUp { futex_ns: ns, epoll_ns: ns })
}

/// Measures now. Without another thread or descriptor (ulimit -u, ulimit -n) nothing can be measured, and a cost is assumed; and
/// where a seccomp filter kills for a call of the measurement.
fn measure() -> MeasuredWakeUp {
    if !looks::poll_support().may_bind_threads() {
        return MeasuredWakeUp::ASSUMED;
    }
    let cost = MeasuredWakeUp::measure().unwrap_or(MeasuredWakeUp::ASSUMED);
    if cost.is_measured()
        && let Some(name) = name()
    {
        cache::remember(&name, KEPT, &format_cost(cost));
    }
    cost
}

fn read_kept() -> Option<MeasuredWakeUp> {
    read(&cache::recall(&name()?)?)
}

fn format_cost(cost: MeasuredWakeUp) -> String {
    format!("{} {}\n", cost.futex_ns, cost.epoll_ns)
}

/// Reads the text of [`format_cost`]; none for another text.
fn read(text: &str) -> Option<MeasuredWakeUp> {
    let (futex, epoll) = text.strip_suffix('\n')?.split_once(' ')?;
    let [futex_ns, epoll_ns] = [futex, epoll].map(|ns| ns.parse().ok().filter(|ns| NS.contains(ns)));
    Some(MeasuredWakeUp { futex_ns: futex_ns?, epoll_ns: epoll_ns? }).filter(|cost| cost.is_measured())
}

/// The file's name: another one after each boot, on another processor, and with other CPUs. None if the kernel does not name
/// the boot.
fn name() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(name_of(boot.trim(), &Machine::this()))
}

fn name_of(boot: &str, machine: &Machine) -> String {
    let about = format!("{boot}\n{}\n{}\n{}", machine.processor, machine.kernel, machine.cpus);
    let hash: String = Sha256::digest(about).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{KEPT}{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_cost_is_read_back_and_nonsense_is_not() {
        let cost = MeasuredWakeUp { futex_ns: 25_310, epoll_ns: 27_004 };
        assert_eq!(read(&format_cost(cost)), Some(cost));
        for text in
            ["", "25310 27004", "25310\n", "0 27004\n", "x y\n", "25310 99999999999\n", "40000 27004\n"]
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn another_boot_or_processor_has_another_name() {
        let machine = Machine::this();
        let other = Machine { processor: "another".into(), ..machine.clone() };
        let names = [name_of("boot 1", &machine), name_of("boot 2", &machine), name_of("boot 1", &other)];
        assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
        assert_eq!(names[0], name_of("boot 1", &machine));
    }

    #[test]
    fn stated_cost_is_checked() {
        assert_eq!(stated_cost("30000").unwrap(), MeasuredWakeUp { futex_ns: 30_000, epoll_ns: 30_000 });
        assert!(stated_cost("40000").unwrap().is_measured());
        for text in ["", "0", "-1", "fast", "9999999999"] {
            assert!(
                matches!(stated_cost(text), Err(Error::Usage(why)) if why.starts_with("UNSPIN_WAKEUP_NS="))
            );
        }
    }
}
