//! How much is recorded of each acquisition.

use core::fmt;
use core::str::FromStr;

/// How much is recorded. All levels except `Counts` time waits: the clock costs little beside a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Number of attempts by outcome. No clock is read.
    Counts,
    /// In addition the duration of each wait, and of one hold in `every`, chosen at random per thread.
    Sampled {
        /// The mean number of holds of which one is timed; at least 1.
        every: u32,
    },
    /// The duration of each hold and each wait.
    Full,
    /// As `Full`, until timing its holds is assumed to cost a thread more than a few percent of its time. From then on, of the
    /// locks that the thread takes often at one place, one hold in [`AUTO_EVERY`](Level::AUTO_EVERY) is timed, chosen at
    /// random, and stands for that many.
    Auto,
}

impl Level {
    /// The level `sampled` without a number.
    pub const SAMPLED: Level = Level::Sampled { every: Level::AUTO_EVERY };

    /// The mean number of holds of which one is timed, of a frequent lock in a thread that level `auto` samples.
    pub const AUTO_EVERY: u32 = 16;

    /// The level as the two words of the header.
    pub(crate) fn to_words(self) -> [u64; 2] {
        match self {
            Level::Counts => [1, 0],
            Level::Sampled { every } => [2, every.into()],
            Level::Full => [3, 1],
            Level::Auto => [4, Level::AUTO_EVERY.into()],
        }
    }

    pub(crate) fn from_words(words: [u64; 2]) -> Option<Level> {
        match words {
            [1, _] => Some(Level::Counts),
            [2, every @ 1..=0xFFFF_FFFF] => Some(Level::Sampled { every: every as u32 }),
            [3, _] => Some(Level::Full),
            [4, _] => Some(Level::Auto),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Counts => f.write_str("counts"),
            Level::Sampled { every } => write!(f, "sampled={every}"),
            Level::Full => f.write_str("full"),
            Level::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Level {
    type Err = String;

    /// Parses `auto`, `counts`, `sampled`, `sampled=N` or `full`.
    fn from_str(text: &str) -> Result<Level, String> {
        match text.split_once('=') {
            None if text == "counts" => Ok(Level::Counts),
            None if text == "sampled" => Ok(Level::SAMPLED),
            None if text == "full" => Ok(Level::Full),
            None if text == "auto" => Ok(Level::Auto),
            Some(("sampled", every)) => match every.parse() {
                Ok(every @ 1..) => Ok(Level::Sampled { every }),
                _ => Err(format!("sampled={every}: give a number from 1, such as sampled=16")),
            },
            _ => Err(format!("there is no level {text}: auto, counts, sampled, sampled=N, full")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_survive_both_encodings() {
        for level in
            [Level::Counts, Level::SAMPLED, Level::Sampled { every: u32::MAX }, Level::Full, Level::Auto]
        {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(Level::from_words(level.to_words()), Some(level));
        }
        for bad in ["", "all", "sampled=0", "sampled=x", "full=2", "auto=2"] {
            assert!(bad.parse::<Level>().is_err(), "{bad}");
        }
        assert_eq!(Level::from_words([2, 0]), None);
    }
}
