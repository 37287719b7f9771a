//! What a user has received from the other users of its room, and whether it is what they sent.

use crate::message;
use crate::options::Pace;
use std::ops::Range;

/// What a received message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receipt {
    /// The next message in order.
    InOrder,
    /// It came for the first time, but after a message that should have come later.
    OutOfOrder,
    /// It has come before.
    Repeated,
    /// No user of the room has sent it so, or not to this user.
    Altered,
}

/// The messages that one user has received. Messages that are missing are found by counting: they are those that never
/// came for the first time.
#[derive(Debug)]
pub struct Receipts {
    room: u32,
    user: u32,
    /// Messages that each user sends.
    messages: u32,
    pace: Pace,
    /// What has come from each user of the room.
    senders: Vec<Sender>,
    /// The least position in the room that the next message may have.
    next_position: u64,
    /// The least turn that the next message may have.
    next_turn: u64,
}

/// What has come from one user.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// The number after the highest that has come.
    next: u32,
    /// Numbers below it that have not come.
    missing: Vec<Range<u32>>,
}

impl Receipts {
    /// Nothing received yet, by `user` of `room`, in a room of `users` users that send `messages` messages each.
    pub fn new(room: u32, user: u32, users: u32, messages: u32, pace: Pace) -> Receipts {
        let senders = vec![Sender::default(); users as usize];
        Receipts { room, user, messages, pace, senders, next_position: 0, next_turn: 0 }
    }

    /// Notes a message.
    pub fn note(&mut self, frame: &[u8]) -> Receipt {
        let header = message::header(frame);
        let users = self.senders.len() as u64;
        let is_possible = header.room == self.room
            && header.user != self.user
            && u64::from(header.user) < users
            && header.sequence < self.messages;
        if !is_possible || !message::is_intact(frame) {
            return Receipt::Altered;
        }
        let receipt = self.senders[header.user as usize].note(header.sequence);
        if receipt == Receipt::Repeated {
            return receipt;
        }
        let position = u64::from(header.position);
        let turn = u64::from(header.sequence) * users + u64::from(header.user);
        let is_late = position < self.next_position || self.pace == Pace::Turns && turn < self.next_turn;
        self.next_position = self.next_position.max(position + 1);
        self.next_turn = self.next_turn.max(turn + 1);
        if is_late { Receipt::OutOfOrder } else { receipt }
    }
}

impl Sender {
    fn note(&mut self, sequence: u32) -> Receipt {
        if sequence >= self.next {
            if sequence > self.next {
                self.missing.push(self.next..sequence);
            }
            self.next = sequence + 1;
            return Receipt::InOrder;
        }
        let Some(index) = self.missing.iter().position(|range| range.contains(&sequence)) else {
            return Receipt::Repeated;
        };
        let range = self.missing.swap_remove(index);
        let parts = [range.start..sequence, sequence + 1..range.end];
        self.missing.extend(parts.into_iter().filter(|part| !part.is_empty()));
        Receipt::OutOfOrder
    }
}

#[cfg(test)]
mod tests {
    use super::Receipt::{Altered, InOrder, OutOfOrder, Repeated};
    use super::*;
    use message::{Header, write};

    /// A message of room 1 in a room of 3 users; its position is that of its turn.
    fn frame(user: u32, sequence: u32) -> Vec<u8> {
        let mut frame = vec![0; 20];
        write(&mut frame, Header { room: 1, user, sequence, position: sequence * 3 + user });
        frame
    }

    /// Receipts of user 0 for these messages (user and number), 4 from each user.
    fn receipts(pace: Pace, messages: &[(u32, u32)]) -> Vec<Receipt> {
        let mut receipts = Receipts::new(1, 0, 3, 4, pace);
        messages.iter().map(|&(user, sequence)| receipts.note(&frame(user, sequence))).collect()
    }

    #[test]
    fn messages_in_order_are_accepted() {
        assert_eq!(receipts(Pace::Turns, &[(1, 0), (2, 0), (1, 1), (2, 1)]), [InOrder; 4]);
    }

    #[test]
    fn lost_message_does_not_put_the_later_ones_out_of_order() {
        assert_eq!(receipts(Pace::Turns, &[(1, 0), (1, 1), (2, 1), (1, 3)]), [InOrder; 4]);
    }

    #[test]
    fn repeated_message_is_found_whenever_it_comes() {
        assert_eq!(receipts(Pace::Turns, &[(1, 0), (1, 0), (2, 0)]), [InOrder, Repeated, InOrder]);
        assert_eq!(receipts(Pace::Turns, &[(1, 0), (1, 3), (1, 0)]), [InOrder, InOrder, Repeated]);
        let gap_filled = [(1, 3), (1, 1), (1, 1), (1, 0), (1, 2), (1, 2)];
        let expected = [InOrder, OutOfOrder, Repeated, OutOfOrder, OutOfOrder, Repeated];
        assert_eq!(receipts(Pace::Turns, &gap_filled), expected);
    }

    #[test]
    fn exchanged_messages_are_out_of_order() {
        // Two of one user, and two of different users.
        assert_eq!(receipts(Pace::Turns, &[(1, 1), (1, 0), (1, 2)]), [InOrder, OutOfOrder, InOrder]);
        assert_eq!(receipts(Pace::Turns, &[(2, 0), (1, 0), (1, 1)]), [InOrder, OutOfOrder, InOrder]);
    }

    #[test]
    fn free_running_users_may_overtake_each_other_but_not_their_position() {
        let note = |messages: [(u32, u32, u32); 2]| {
            let mut receipts = Receipts::new(1, 0, 3, 4, Pace::FreeRunning);
            messages.map(|(user, sequence, position)| {
                let mut frame = frame(user, sequence);
                message::set_position(&mut frame, position);
                receipts.note(&frame)
            })
        };
        assert_eq!(note([(1, 0, 0), (1, 1, 1)]), [InOrder, InOrder]);
        assert_eq!(note([(1, 0, 1), (2, 0, 0)]), [InOrder, OutOfOrder]);
        assert_eq!(note([(1, 0, 1), (2, 0, 1)]), [InOrder, OutOfOrder], "two messages with one position");
    }

    #[test]
    fn message_that_no_user_of_the_room_sent_is_altered() {
        let mut receipts = Receipts::new(1, 0, 3, 4, Pace::Turns);
        let mut note = |change: &dyn Fn(&mut Header)| {
            let mut header = Header { room: 1, user: 1, sequence: 0, position: 1 };
            change(&mut header);
            let mut frame = vec![0; 20];
            write(&mut frame, header);
            receipts.note(&frame)
        };
        assert_eq!(note(&|h| h.room = 2), Altered);
        assert_eq!(note(&|h| h.user = 0), Altered, "its own message");
        assert_eq!(note(&|h| h.user = 3), Altered);
        assert_eq!(note(&|h| h.sequence = 4), Altered);
        assert_eq!(note(&|_| {}), InOrder);
        let mut text = frame(2, 0);
        text[17] ^= 1;
        assert_eq!(receipts.note(&text), Altered);
    }
}
