//! Messages: how senders fill them and how receivers check them.

use std::io::{Error, ErrorKind, Result};

/// A buffer of `bytes` zero bytes; an error if there is not enough memory.
pub fn buffer(bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).map_err(|e| Error::new(ErrorKind::OutOfMemory, e))?;
    buffer.resize(bytes, 0);
    Ok(buffer)
}

/// The byte that all messages of a sender consist of. The marks repeat after 256 senders.
pub fn mark(sender: usize) -> u8 {
    sender as u8
}

/// The messages of one receiver, counted by the senders' marks.
#[derive(Debug)]
pub struct Tally {
    by_mark: [u64; 256],
    torn: u64,
}

impl Tally {
    /// A tally without messages.
    pub fn new() -> Tally {
        Tally { by_mark: [0; 256], torn: 0 }
    }

    /// Counts a message. A message that consists of different bytes is counted as torn.
    pub fn add(&mut self, message: &[u8]) {
        let mark = message[0];
        self.by_mark[usize::from(mark)] += 1;
        if message.iter().any(|&byte| byte != mark) {
            self.torn += 1;
        }
    }

    /// Checks that `each` whole messages have arrived from each of the `senders`. The error describes the first
    /// mismatch.
    pub fn check(&self, senders: usize, each: u64) -> Result<()> {
        let wrong = |text: String| Err(Error::new(ErrorKind::InvalidData, text));
        if self.torn > 0 {
            return wrong(format!("{} messages were mixed up with others", self.torn));
        }
        for (value, &got) in self.by_mark.iter().enumerate() {
            let expected = each * (0..senders).filter(|&s| usize::from(mark(s)) == value).count() as u64;
            if got != expected {
                return wrong(format!(
                    "{got} messages came that are marked as sender {value}'s, not {expected}: messages were lost or doubled"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_doubled_and_torn_messages_are_detected() {
        let tally = |messages: &[[u8; 3]]| {
            let mut tally = Tally::new();
            messages.iter().for_each(|m| tally.add(m));
            tally.check(2, 2).map_err(|e| e.to_string())
        };
        let (zero, one) = ([0; 3], [1; 3]);
        assert_eq!(tally(&[zero, one, one, zero]), Ok(()));
        assert!(
            tally(&[zero, one, one])
                .unwrap_err()
                .starts_with("1 messages came that are marked as sender 0's, not 2")
        );
        assert!(
            tally(&[zero, one, one, zero, one])
                .unwrap_err()
                .starts_with("3 messages came that are marked as sender 1's")
        );
        assert!(
            tally(&[zero, one, one, zero, [2; 3]])
                .unwrap_err()
                .starts_with("1 messages came that are marked as sender 2's, not 0")
        );
        assert!(tally(&[zero, one, [1, 1, 0], zero]).unwrap_err().starts_with("1 messages were mixed up"));
    }

    #[test]
    fn more_senders_than_bytes_share_marks() {
        let mut tally = Tally::new();
        (0..300).for_each(|sender| tally.add(&[mark(sender)]));
        assert!(tally.check(300, 1).is_ok());
        tally.add(&[mark(299)]);
        assert!(tally.check(300, 1).is_err());
    }

    #[test]
    fn buffer_without_memory_is_an_error() {
        assert_eq!(buffer(usize::MAX).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(buffer(3).unwrap(), [0; 3]);
    }
}
