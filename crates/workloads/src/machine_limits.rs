//! The limits of the machine for threads and memory, which a workload checks before it starts anything.

/// The current limits.
#[derive(Clone, Copy, Debug)]
pub struct MachineLimits {
    /// Number of threads that the kernel allows (`kernel.threads-max`, `kernel.pid_max`), and the name of the setting.
    pub tasks: (usize, &'static str),
    /// Maximum number of mappings of a process: `vm.max_map_count`.
    pub mappings: usize,
    /// Available memory in bytes.
    pub memory: u128,
}

/// Mappings per thread of Rust's standard library: its stack and its signal stack, each with an inaccessible guard
/// page, which is a mapping of its own.
const MAPPINGS_PER_THREAD: u128 = 4;
/// Mappings of everything else: program, libraries, malloc arenas.
const OTHER_MAPPINGS: u128 = 1000;

/// Number of mappings that a process with this many threads needs.
pub fn mappings(threads: u128) -> u128 {
    threads.saturating_mul(MAPPINGS_PER_THREAD).saturating_add(OTHER_MAPPINGS)
}

impl MachineLimits {
    /// The current limits. A value that cannot be read imposes no limit; the kernel's own error is reported then.
    pub fn read() -> MachineLimits {
        let number = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok();
        let setting = |file: &str| number(file).unwrap_or(usize::MAX);
        let threads = (setting("/proc/sys/kernel/threads-max"), "kernel.threads-max");
        let pids = (setting("/proc/sys/kernel/pid_max"), "kernel.pid_max");
        MachineLimits {
            tasks: threads.min(pids),
            mappings: setting("/proc/sys/vm/max_map_count"),
            memory: available(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default()),
        }
    }
}

/// Bytes that the kernel considers available without swapping; no limit if it does not report them.
fn available(meminfo: &str) -> u128 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u128>().ok());
    kilobytes.map_or(u128::MAX, |kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_proc() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:    2000 kB\n"), 2_048_000);
        assert_eq!(available(""), u128::MAX);
    }
}
