//! The options, and the check against the kernel's limits.

use super::Error;
use unspin_sys::limits::SemLimits;

/// The options of Hartner 2002.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-g`: number of semaphore sets, each with its own ring of processes.
    pub groups: usize,
    /// `-s`: semaphores per set, one process for each. With 1 a process posts to itself, so calls are measured but not
    /// hand-offs.
    pub semaphores: usize,
    /// `-n`: how many times the token goes round each ring.
    pub repetitions: u32,
    /// `-r`: reset the kernel's profile counters before the test starts.
    pub profile_reset: ProfileReset,
    /// `-d`: print each step to standard error.
    pub debug: Debug,
    /// `-v`: report the time of each process too.
    pub verbosity: Verbosity,
}

/// Whether the kernel's profile counters are to be reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileReset {
    /// Before the test starts.
    Yes,
    /// Leave the counters as they are.
    No,
}

/// Whether steps are printed to standard error as they are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Debug {
    /// Yes.
    On,
    /// No.
    Off,
}

/// The amount of detail in the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verbosity {
    /// The averages.
    Summary,
    /// Also a line for each process.
    Processes,
}

impl Options {
    /// Number of processes in all rings: one per semaphore.
    pub fn processes(&self) -> usize {
        self.groups * self.semaphores
    }

    /// Number of posts by the ring's processes: one per semaphore and repetition.
    pub fn hand_offs(&self) -> u64 {
        self.processes() as u64 * u64::from(self.repetitions)
    }

    pub(super) fn debug(&self, text: impl FnOnce() -> String) {
        if self.debug == Debug::On {
            eprintln!("semopbench: {}", text());
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_against(&SemLimits::read(), pid_max())
    }

    fn check_against(&self, limits: &SemLimits, pid_max: usize) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::Option(text));
        if self.groups == 0 || self.semaphores == 0 || self.repetitions == 0 {
            return refuse("-g, -s and -n must be at least 1".into());
        }
        if self.groups > limits.sets as usize {
            return refuse(format!(
                "-g {}: the kernel allows {} semaphore sets (fourth number of kernel.sem)",
                self.groups, limits.sets
            ));
        }
        // Independent of kernel.sem, `sem_num` of a `struct sembuf` has 16 bits.
        let per_set = limits.per_set.min(65_536) as usize;
        if self.semaphores > per_set {
            return refuse(format!(
                "-s {}: the kernel allows {per_set} semaphores in a set (first number of kernel.sem)",
                self.semaphores
            ));
        }
        if self.processes() > limits.total as usize {
            return refuse(format!(
                "-g {} -s {}: the kernel allows {} semaphores in all (second number of kernel.sem)",
                self.groups, self.semaphores, limits.total
            ));
        }
        if self.processes() >= pid_max {
            return refuse(format!(
                "-g {} -s {}: that is {} processes, and kernel.pid_max is {pid_max}",
                self.groups,
                self.semaphores,
                self.processes()
            ));
        }
        Ok(())
    }
}

fn pid_max() -> usize {
    let text = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    text.trim().parse().unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(groups: usize, semaphores: usize, repetitions: u32) -> Options {
        Options {
            groups,
            semaphores,
            repetitions,
            profile_reset: ProfileReset::No,
            debug: Debug::Off,
            verbosity: Verbosity::Summary,
        }
    }

    #[test]
    fn error_names_the_limit() {
        let limits = SemLimits { per_set: 100, total: 1000, ops: 10, sets: 50 };
        let refusal = |g, s, n| options(g, s, n).check_against(&limits, 900).unwrap_err().to_string();
        assert!(refusal(0, 1, 1).contains("at least 1"));
        assert!(refusal(1, 0, 1).contains("at least 1"));
        assert!(refusal(1, 1, 0).contains("at least 1"));
        assert!(refusal(51, 1, 1).starts_with("-g 51: the kernel allows 50"));
        assert!(refusal(1, 101, 1).starts_with("-s 101: the kernel allows 100"));
        assert!(refusal(11, 100, 1).contains("allows 1000 semaphores in all"));
        assert!(refusal(9, 100, 1).contains("kernel.pid_max is 900"));
        assert!(options(8, 100, 1).check_against(&limits, 900).is_ok());
        assert!(options(1, 1, 1).check_against(&limits, 900).is_ok());
    }
}
