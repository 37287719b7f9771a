//! The CPUs: how many, whose, how steady.

use super::check::Check;
use std::collections::BTreeSet;
use std::fs;
use unspin_launch::machine::Machine;
use unspin_observe::disturbance::CpuTime;
use unspin_report::figures::Percent;
use unspin_sys::sched;

/// A share of steal time above which measurements suffer.
const STEAL_MAX: f64 = 0.01;

/// How many CPUs, and of which kind.
pub fn cpus() -> Check {
    const NAME: &str = "CPUs";
    let (allowed, online) = (sched::affinity_count(), unspin_trace::cpus());
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let place = is_guest(&text).map(|is_guest| format!(", {}", place(is_guest))).unwrap_or_default();
    let found = format!("{allowed} of {online}, {}{place}", Machine::this().processor);
    match allowed {
        1 => Check::limited(
            NAME,
            found,
            "threads never run side by side: spinning and polling cannot gain, and `scale` has nothing to compare",
            (online > 1).then_some(
                "taskset -c 0-63 unspin …, or a container with more CPUs (docker run --cpuset-cpus)",
            ),
        ),
        _ => Check::ok(NAME, found),
    }
}

/// Whether a hypervisor says that it is one: the flag in `/proc/cpuinfo`. None if there are no flags.
fn is_guest(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn place(is_guest: bool) -> String {
    let name = |file: &str| fs::read_to_string(format!("/sys/class/dmi/id/{file}")).unwrap_or_default();
    match (is_guest, name("sys_vendor").trim()) {
        (false, _) => "not a virtual machine".into(),
        (true, "") => "a virtual machine".into(),
        (true, vendor) => format!("a virtual machine ({vendor})"),
    }
}

/// What the hypervisor takes.
pub fn steal() -> Check {
    const NAME: &str = "steal time";
    let CpuTime { steal_s, total_s, .. } = CpuTime::since_boot();
    let share = if total_s > 0.0 { steal_s / total_s } else { 0.0 };
    let found = format!("the hypervisor has taken {} of the CPUs' time since boot", Percent::Short.of(share));
    match share > STEAL_MAX {
        true => Check::limited(
            NAME,
            found,
            "times vary from run to run: a proof takes more rounds, or shows only large differences",
            Some("a host with CPUs of your own; unspin prove --time-budget 10m"),
        ),
        false => Check::ok(NAME, found),
    }
}

/// What other programs take.
pub fn load() -> Check {
    const NAME: &str = "other programs";
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let Some(average) = text.split(' ').next().and_then(|word| word.parse::<f64>().ok()) else {
        return Check::ok(NAME, "/proc/loadavg does not tell");
    };
    let found = format!("a load of {average} in the last minute");
    match average > sched::affinity_count() as f64 / 2.0 {
        true => Check::limited(
            NAME,
            found,
            "what is measured now is shared with them, and polling gains less",
            Some("unspin prove --wait-for-quiet"),
        ),
        false => Check::ok(NAME, found),
    }
}

/// Whether the frequency is steady.
pub fn frequency() -> Check {
    const NAME: &str = "CPU frequency";
    let governors: BTreeSet<String> = sched::allowed_cpus()
        .iter()
        .filter_map(|cpu| {
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
        })
        .collect();
    let names = governors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match (governors.is_empty(), names == "performance") {
        (true, _) => Check::ok(NAME, "no governor here: the host or the processor decides"),
        (false, true) => Check::ok(NAME, "the governor is performance"),
        (false, false) => Check::limited(
            NAME,
            format!("the governor is {names}"),
            "a CPU that has slept is slow at first: times vary, and a wake-up takes longer",
            Some("cpupower frequency-set -g performance"),
        ),
    }
}

/// How the time is read.
pub fn clock() -> Check {
    const NAME: &str = "clock";
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(file).unwrap_or_default();
    match source.trim() {
        "" => Check::ok(NAME, "the kernel does not tell its clock source"),
        // Both are read without a system call.
        source @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page") => {
            Check::ok(NAME, format!("the kernel's clock source is {source}"))
        }
        source => Check::limited(
            NAME,
            format!("the kernel's clock source is {source}, which is read by a system call"),
            "programs that read the clock often are slow here; the time-stamp counters of the CPUs, which the meter reads, may differ",
            Some("boot with tsc=reliable, if `dmesg | grep -i tsc` shows that the kernel gave it up wrongly"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_has_the_flag_of_a_hypervisor() {
        assert_eq!(is_guest("model name\t: x\nflags\t\t: fpu hypervisor sse\n"), Some(true));
        assert_eq!(is_guest("flags\t\t: fpu sse\nmodel name\t: hypervisor\n"), Some(false));
        assert_eq!(is_guest(""), None);
    }
}
