//! The machine and the build with which a figure was measured.

pub mod floor;
pub mod looks;
pub mod wakeup;

use serde::Serialize;
use std::fs;
use unspin_sys::sched;

/// The machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Number of CPUs that programs may use.
    pub cpus: usize,
    /// The model name of the processor.
    pub processor: String,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// Host name.
    pub host: String,
}

impl Machine {
    /// This machine.
    pub fn this() -> Machine {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Machine {
            cpus: sched::affinity_count(),
            processor: processor(&line("/proc/cpuinfo")),
            kernel: line("/proc/sys/kernel/osrelease"),
            host: line("/proc/sys/kernel/hostname"),
        }
    }
}

fn processor(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|l| l.starts_with("model name"));
    line.and_then(|l| l.split_once(':')).map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}

/// The build of unspin.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Build {
    /// Version of the package.
    pub version: &'static str,
    /// The output of `git describe --always --dirty` at the build.
    pub commit: &'static str,
}

impl Build {
    /// The version and the commit of this binary, in one text.
    pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("UNSPIN_COMMIT"), ")");

    /// This binary.
    pub const THIS: Build = Build { version: env!("CARGO_PKG_VERSION"), commit: env!("UNSPIN_COMMIT") };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_name_may_be_missing() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Fast  CPU\n"), "Fast  CPU");
        assert_eq!(processor(""), "unknown processor");
        assert!(!Machine::this().kernel.is_empty());
    }
}
