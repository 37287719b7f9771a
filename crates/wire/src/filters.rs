//! The number of seccomp filters of a process, from the text of its `/proc/PID/status` (proc(5)).

/// Reads the text in pieces: the list of a user's groups stands before the number, and is as long as it likes.
#[derive(Default)]
pub struct FilterCount {
    /// The beginning of the current line.
    line: [u8; 32],
    /// Bytes of the current line.
    length: usize,
    /// What the line `Seccomp:` says; none in it: no number.
    mode: Option<Option<u32>>,
    filters: Option<u32>,
}

impl FilterCount {
    /// Reads the next piece.
    pub fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            if byte == b'\n' {
                self.end_line();
                self.length = 0;
                continue;
            }
            if let Some(place) = self.line.get_mut(self.length) {
                *place = byte;
            }
            self.length += 1;
        }
    }

    fn end_line(&mut self) {
        let Some(line) = self.line.get(..self.length) else { return };
        let number = |value: &[u8]| core::str::from_utf8(value).ok()?.trim().parse::<u32>().ok();
        if let Some(mode) = line.strip_prefix(b"Seccomp:") {
            self.mode = Some(number(mode));
        } else if let Some(filters) = line.strip_prefix(b"Seccomp_filters:") {
            self.filters = number(filters);
        }
    }

    /// The number, when the whole text was read; none if the process has filters and the kernel does not tell how many (before
    /// Linux 5.9).
    pub fn number(&self) -> Option<u32> {
        match self.mode {
            // A kernel without seccomp.
            None => Some(0),
            Some(Some(0)) => Some(0),
            // A process in strict mode has no filter, and may make no call.
            Some(_) => self.filters.filter(|&filters| filters > 0),
        }
    }

    /// The number from the whole text.
    pub fn of(status: &[u8]) -> Option<u32> {
        let mut count = FilterCount::default();
        count.read(status);
        count.number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_counted_in_the_status() {
        let status =
            |lines: &str| FilterCount::of(format!("Name:\tx\nNoNewPrivs:\t1\n{lines}Cpus:\t3\n").as_bytes());
        assert_eq!(status("Seccomp:\t0\nSeccomp_filters:\t0\n"), Some(0));
        assert_eq!(status("Seccomp:\t2\nSeccomp_filters:\t12\n"), Some(12));
        assert_eq!(status("Seccomp:\t2\n"), None, "before Linux 5.9");
        assert_eq!(status("Seccomp:\t0\n"), Some(0), "before Linux 5.9");
        assert_eq!(status("Seccomp:\t1\nSeccomp_filters:\t0\n"), None, "strict mode");
        assert_eq!(status("Seccomp:\tx\n"), None);
        assert_eq!(status(""), Some(0), "a kernel without seccomp");
        let own = std::fs::read("/proc/self/status").unwrap();
        assert!(FilterCount::of(&own).is_some(), "{}", String::from_utf8_lossy(&own));
    }

    #[test]
    fn text_may_be_long_and_comes_in_pieces_of_any_length() {
        let groups: String = (0..60_000).map(|group| format!("{} ", 1_234_500_000 + group)).collect();
        let status = format!("Name:\tx\nGroups:\t{groups}\nSeccomp:\t2\nSeccomp_filters:\t3\nCpus:\t3\n");
        for piece in [1, 7, 4096] {
            let mut count = FilterCount::default();
            status.as_bytes().chunks(piece).for_each(|piece| count.read(piece));
            assert_eq!(count.number(), Some(3), "{piece}");
        }
    }
}
