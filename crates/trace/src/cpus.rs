//! The CPUs of the machine.

use crate::error::Error;
use std::fs;

/// The CPUs that are in use.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// A file with a line for each CPU, for containers without `/sys`.
const STAT: &str = "/proc/stat";

/// The numbers of the CPUs that are online.
pub fn online() -> Result<Vec<usize>, Error> {
    if let Ok(text) = fs::read_to_string(ONLINE) {
        return Ok(parse(&text));
    }
    let text = fs::read_to_string(STAT).map_err(|e| Error::File(STAT.into(), e))?;
    Ok(parse_stat(&text))
}

/// Number of CPUs that are online; at least 1.
pub fn cpus() -> usize {
    online().map_or(1, |cpus| cpus.len().max(1))
}

/// `0-3,5`
fn parse(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// The lines that begin with `cpu0`, `cpu1`; `cpu` is their sum: proc_stat(5).
fn parse_stat(text: &str) -> Vec<usize> {
    let cpu = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
    text.lines().filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed() {
        assert_eq!(parse("0-3,5\n"), [0, 1, 2, 3, 5]);
        assert_eq!(parse("0\n"), [0]);
        assert!(parse("").is_empty());
        assert!(!online().unwrap().is_empty());
    }

    #[test]
    fn both_files_list_the_same_cpus() {
        assert_eq!(parse_stat("cpu  9 0\ncpu0 4 0\ncpu3 5 0\nintr 7\n"), [0, 3]);
        assert_eq!(parse_stat(&fs::read_to_string(STAT).unwrap()), online().unwrap());
    }
}
