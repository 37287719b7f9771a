//! What every user has sent and received, in memory that all processes share.
//!
//! The counts are complete however a run ends: the master reads them when client or server has been killed.

use crate::options::Options;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;
use unspin_sys::local;
use unspin_sys::mem::Mapping;

/// What is counted of each user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Messages that the client has written.
    Sent,
    /// Messages of the user that the server has read.
    Reached,
    /// Messages for the user that the server has written.
    Left,
    /// Messages that the user has received for the first time.
    Received,
    /// Of those, messages that came after one that should have come later.
    OutOfOrder,
    /// Messages that have come before.
    Repeated,
    /// Messages that no user of the room has sent so.
    Altered,
    /// 1 when the server has confirmed that the user is in its room.
    Entered,
}

/// The words of a user: a cache line for each thread that counts. They are the client's writer, the server's reader, the
/// server's writer, and the client's reader. Only the client's main thread counts entries, before these threads work.
const WORDS: usize = 4 * LINE;
/// Words of a cache line.
const LINE: usize = 8;

impl Count {
    const ALL: [Count; 8] = [
        Count::Sent,
        Count::Reached,
        Count::Left,
        Count::Received,
        Count::OutOfOrder,
        Count::Repeated,
        Count::Altered,
        Count::Entered,
    ];

    /// The index among the words of a user.
    fn word(self) -> usize {
        match self {
            Count::Sent => 0,
            Count::Reached => LINE,
            Count::Left => 2 * LINE,
            Count::Received => 3 * LINE,
            Count::OutOfOrder => 3 * LINE + 1,
            Count::Repeated => 3 * LINE + 2,
            Count::Altered => 3 * LINE + 3,
            Count::Entered => 3 * LINE + 4,
        }
    }
}

/// The counts of all users.
#[derive(Debug)]
pub struct Accounts {
    words: Mapping,
    users: usize,
    connections: usize,
    /// What a run that keeps the rules has sent and received.
    expected: (u64, u64),
}

impl Accounts {
    /// Accounts on which nothing is counted. Children that are forked from now on share them.
    pub fn new(options: &Options) -> Result<Arc<Accounts>, Errno> {
        let connections = options.connections();
        let words = Mapping::map_shared_with_children(connections * WORDS * 8)?;
        let expected = (options.messages_sent(), options.messages_received());
        Ok(Arc::new(Accounts { words, users: options.users, connections, expected }))
    }

    /// Sets all counts to zero, between two runs.
    pub fn clear(&self) {
        for word in self.words.words() {
            // Relaxed: no process counts between two runs.
            word.store(0, Relaxed);
        }
    }

    /// A counter for the one thread or task that counts this of the user.
    pub fn counter(self: &Arc<Accounts>, room: u32, user: u32, count: Count) -> Counter {
        let user = room as usize * self.users + user as usize;
        assert!(user < self.connections, "the room has this user");
        Counter { accounts: Arc::clone(self), word: user * WORDS + count.word() }
    }

    /// The sum of all counts of all users: it grows while anything moves.
    pub fn progress(&self) -> u64 {
        Count::ALL.into_iter().map(|count| self.sum(count)).sum()
    }

    fn sum(&self, count: Count) -> u64 {
        (0..self.connections).map(|user| self.of(user, count)).sum()
    }

    fn of(&self, user: usize, count: Count) -> u64 {
        // Relaxed: counts of threads that still work may be a little old. Those of a process that has ended are
        // complete, because the kernel has told its end.
        self.words.words()[user * WORDS + count.word()].load(Relaxed)
    }

    /// Whether every message was sent once and received once by each other user, in order.
    pub fn is_complete(&self) -> bool {
        let faults = [Count::OutOfOrder, Count::Repeated, Count::Altered];
        (self.sum(Count::Sent), self.sum(Count::Received)) == self.expected
            && faults.into_iter().all(|count| self.sum(count) == 0)
    }

    /// The first user that has not received each message once and in order.
    fn first_fault(&self) -> Option<usize> {
        let due = self.expected.1 / self.connections as u64;
        let faults = [Count::OutOfOrder, Count::Repeated, Count::Altered];
        (0..self.connections).find(|&user| {
            self.of(user, Count::Received) != due || faults.into_iter().any(|count| self.of(user, count) > 0)
        })
    }
}

/// What was delivered: the end of the line that reports a failed run.
impl fmt::Display for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sent, received) = self.expected;
        let entered = self.sum(Count::Entered);
        if entered < self.connections as u64 {
            write!(f, "{entered} of {} users had entered their rooms, ", self.connections)?;
        }
        write!(
            f,
            "{} of {sent} messages were sent, {} reached the server, {} left it, {} of {received} were received",
            self.sum(Count::Sent),
            self.sum(Count::Reached),
            self.sum(Count::Left),
            self.sum(Count::Received)
        )
    }
}

/// Which rules were broken: the counts of [`Accounts`], and where to look first.
pub struct Faults<'a>(pub &'a Accounts);

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts = self.0;
        let lost = accounts.expected.1.saturating_sub(accounts.sum(Count::Received));
        write!(
            f,
            "{accounts}: {lost} lost, {} repeated, {} out of order, {} altered",
            accounts.sum(Count::Repeated),
            accounts.sum(Count::OutOfOrder),
            accounts.sum(Count::Altered)
        )?;
        match accounts.first_fault() {
            Some(user) => {
                write!(f, " (first: user {} of room {})", user % accounts.users, user / accounts.users)
            }
            None => Ok(()),
        }
    }
}

/// One count of one user. Its holder is the only one that changes it.
#[derive(Debug)]
pub struct Counter {
    accounts: Arc<Accounts>,
    word: usize,
}

impl Counter {
    /// Counts one more.
    pub fn increment(&self) {
        local::add(&self.accounts.words.words()[self.word], 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Arc<Accounts> {
        let options = Options { rooms: 2, users: 2, messages: 1, ..Options::default() };
        Accounts::new(&options).unwrap()
    }

    /// Each user sends its message, and receives that of the other.
    fn complete(accounts: &Arc<Accounts>) {
        for (room, user) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for count in [Count::Entered, Count::Sent, Count::Reached, Count::Left, Count::Received] {
                accounts.counter(room, user, count).increment();
            }
        }
    }

    #[test]
    fn complete_run_has_no_fault() {
        let accounts = accounts();
        assert!(!accounts.is_complete());
        complete(&accounts);
        assert!(accounts.is_complete());
        assert_eq!(accounts.first_fault(), None);
        assert_eq!(accounts.progress(), 20);
        assert_eq!(
            accounts.to_string(),
            "4 of 4 messages were sent, 4 reached the server, 4 left it, 4 of 4 were received"
        );
        accounts.clear();
        assert_eq!(accounts.progress(), 0);
        assert!(accounts.to_string().starts_with("0 of 4 users had entered their rooms, 0 of 4 messages"));
    }

    #[test]
    fn every_fault_makes_the_run_incomplete_and_is_named() {
        for (count, text) in [
            (Count::Repeated, "1 repeated"),
            (Count::OutOfOrder, "1 out of order"),
            (Count::Altered, "1 altered"),
        ] {
            let accounts = accounts();
            complete(&accounts);
            accounts.counter(1, 0, count).increment();
            assert!(!accounts.is_complete());
            let text_of = Faults(&accounts).to_string();
            assert!(text_of.contains("received: 0 lost") && text_of.contains(text), "{text_of}");
            assert!(text_of.ends_with("(first: user 0 of room 1)"), "{text_of}");
        }
    }

    #[test]
    fn missing_message_is_lost() {
        let accounts = accounts();
        accounts.counter(0, 0, Count::Received).increment();
        let text = Faults(&accounts).to_string();
        assert!(text.contains("3 lost") && text.ends_with("(first: user 1 of room 0)"), "{text}");
    }
}
