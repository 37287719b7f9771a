//! The live `kernel.*` settings of System V IPC.

use crate::file;

/// `kernel.sem`: the four limits on semaphores, in the order of the file (proc(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemLimits {
    /// SEMMSL: semaphores in a set.
    pub per_set: u32,
    /// SEMMNS: semaphores in all sets.
    pub total: u32,
    /// SEMOPM: operations in a call.
    pub ops: u32,
    /// SEMMNI: sets.
    pub sets: u32,
}

impl SemLimits {
    /// The defaults of Linux since 3.19 (`include/uapi/linux/sem.h`).
    pub const DEFAULT: SemLimits =
        SemLimits { per_set: 32_000, total: 1_024_000_000, ops: 500, sets: 32_000 };

    /// The settings as they stand now; the defaults where `/proc` cannot be read.
    pub fn read() -> SemLimits {
        let mut buffer = [0u8; 128];
        file::read_small(c"/proc/sys/kernel/sem", &mut buffer)
            .ok()
            .and_then(Self::parse)
            .unwrap_or(Self::DEFAULT)
    }

    fn parse(text: &[u8]) -> Option<SemLimits> {
        let mut numbers = std::str::from_utf8(text).ok()?.split_whitespace().map(|w| w.parse::<u32>().ok());
        let mut next = || numbers.next().flatten();
        Some(SemLimits { per_set: next()?, total: next()?, ops: next()?, sets: next()? })
    }
}

/// The longest file that this process may make, in bytes (`RLIMIT_FSIZE`); `u64::MAX` if there is no limit.
pub fn file_size() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: writes the live structure. A failure, of which the manual knows none, leaves it unlimited.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_file_of_proc() {
        let limits = SemLimits::parse(b"32000\t1024000000\t500\t32000\n");
        assert_eq!(limits, Some(SemLimits::DEFAULT));
        assert_eq!(SemLimits::parse(b"250"), None);
    }
}
