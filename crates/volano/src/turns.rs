//! When a user sends: in turns with the others of its room, or at once.
//!
//! The rule of VolanoMark: a user sends when the number of messages that it has sent and received, divided by the
//! number of users of its room, leaves the user's own number as remainder.

use crate::options::{Options, Pace};
use crate::queue::Queue;
use std::sync::Arc;

/// The permission to send one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn;

/// The turns of a user, which its writer takes.
pub type TurnQueue = Arc<Queue<Turn>>;

/// Gives a user its turns.
#[derive(Debug)]
pub struct Turns {
    queue: TurnQueue,
    user: u64,
    users: u64,
    pace: Pace,
    /// Messages that the user sends.
    messages: u64,
    /// Turns that it has got, or gets at the start.
    given: u64,
    /// Messages that it has received.
    received: u64,
}

/// The turns that a user gets at the start.
#[derive(Debug)]
pub struct Start {
    queue: TurnQueue,
    turns: u64,
    /// Whether these are all.
    are_all: bool,
}

impl Turns {
    /// For a user that has sent and received nothing.
    pub fn new(user: u32, options: &Options) -> Turns {
        let messages = options.messages as u64;
        let given = match options.pace {
            Pace::FreeRunning => messages,
            // 0 messages are sent and received, which leaves 0.
            Pace::Turns => u64::from(user == 0),
        };
        Turns {
            queue: Arc::new(Queue::new()),
            user: u64::from(user),
            users: options.users as u64,
            pace: options.pace,
            messages,
            given,
            received: 0,
        }
    }

    /// The queue from which the writer takes.
    pub fn queue(&self) -> TurnQueue {
        Arc::clone(&self.queue)
    }

    /// What the user gets when the run starts.
    pub fn start(&self) -> Start {
        Start { queue: self.queue(), turns: self.given, are_all: self.given == self.messages }
    }

    /// The user has received a message.
    pub fn note_received(&mut self) {
        self.received += 1;
        let is_its_turn = (self.given + self.received) % self.users == self.user;
        if self.pace == Pace::Turns && is_its_turn && self.given < self.messages {
            self.queue.push([Turn]);
            self.given += 1;
            if self.given == self.messages {
                self.queue.close();
            }
        }
    }
}

impl Start {
    /// The run starts.
    pub fn go(&self) {
        if self.turns > 0 {
            self.queue.push(std::iter::repeat_n(Turn, self.turns as usize));
        }
        if self.are_all {
            self.queue.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which the users of a room send: the writers are served at once.
    fn order(users: usize, messages: usize) -> Vec<usize> {
        let options = Options { users, messages, ..Options::default() };
        let mut turns: Vec<Turns> = (0..users).map(|user| Turns::new(user as u32, &options)).collect();
        turns.iter().for_each(|turns| turns.start().go());
        let mut order = Vec::new();
        let mut sender = 0;
        while order.len() < users * messages {
            assert_eq!(turns[sender].queue().take(), Some(Turn));
            order.push(sender);
            (0..users).filter(|&user| user != sender).for_each(|user| turns[user].note_received());
            sender = (sender + 1) % users;
        }
        for turns in turns {
            assert_eq!(turns.queue().take(), None, "closed after the last turn");
        }
        order
    }

    #[test]
    fn users_send_one_after_another() {
        assert_eq!(order(3, 2), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(2, 1), [0, 1]);
    }

    #[test]
    fn free_running_user_has_all_turns_at_the_start() {
        let options = Options { messages: 5, pace: Pace::FreeRunning, ..Options::default() };
        let mut turns = Turns::new(7, &options);
        turns.start().go();
        turns.note_received();
        let queue = turns.queue();
        assert_eq!(std::iter::from_fn(|| queue.take()).count(), 5);
    }
}
