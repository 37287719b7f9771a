//! Where a result was measured, with which build, and what disturbed it.

use serde::{Deserialize, Serialize};
use unspin_report::DISTURBED;

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMachine {
    /// Number of CPUs that programs could use.
    pub cpus: usize,
    /// The model name of the processor.
    pub processor: String,
    /// The kernel's release.
    pub kernel: String,
    /// Host name.
    pub host: String,
}

impl StoredMachine {
    /// What distinguishes it from others: its name and its processor. Machines can have one name (localhost, copies of an image). The
    /// CPUs are those that programs could use, and a session may be given a part of them.
    pub fn identity(&self) -> (&str, &str) {
        (&self.host, &self.processor)
    }
}

/// The build of unspin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredBuild {
    /// Version of the package.
    pub version: String,
    /// The output of `git describe --always --dirty` at the build.
    pub commit: String,
}

/// What disturbed a run or a session. CPU times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct StoredDisturbance {
    /// CPU time of all CPUs, including idle time: the total of which the others are shares.
    pub total_s: f64,
    /// CPU time that the hypervisor gave to other guests.
    pub steal_s: f64,
    /// CPU time of other programs, and of the kernel for no process.
    pub others_s: f64,
    /// What the CPU quota took; none without a quota.
    #[serde(default)]
    pub throttling: Option<StoredThrottling>,
}

impl StoredDisturbance {
    /// The shares of the CPUs that the hypervisor and other programs took.
    pub fn shares(&self) -> (f64, f64) {
        let share = |part: f64| if self.total_s > 0.0 { part / self.total_s } else { 0.0 };
        (share(self.steal_s), share(self.others_s))
    }

    /// The share of the CPUs that the program could not have, from [`DISTURBED`] on.
    pub fn taken(&self) -> Option<f64> {
        let (steal, others) = self.shares();
        Some(steal + others).filter(|&taken| taken >= DISTURBED)
    }
}

/// What a CPU quota took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct StoredThrottling {
    /// Periods in which threads of a control group ran.
    pub periods: u64,
    /// Periods in which the group was stopped.
    pub throttled: u64,
    /// For how long, in seconds, summed over the CPUs.
    pub throttled_s: f64,
}
