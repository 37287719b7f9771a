//! A room of the server: passes each message on to the other users.

use crate::message;
use crate::queue::{FULL, Queue};
use std::pin::Pin;
use std::sync::Arc;
use unspin_workloads::libc_pthread::Monitor;

/// A message on its way to several users.
pub type Shared = Arc<[u8]>;

/// The messages for one user, which its writer takes.
pub type Outbox = Arc<Queue<Shared>>;

/// The users of a room. Lock order: the room, then an outbox.
#[derive(Debug)]
pub struct Room {
    state: Pin<Box<Monitor<State>>>,
}

#[derive(Debug)]
struct State {
    /// The outbox of each user; none before the user has entered.
    outboxes: Vec<Option<Outbox>>,
    /// The position of the next message.
    position: u32,
    /// Number of users that send nothing any more.
    ended: usize,
}

impl Room {
    /// A room for this many users, none of which has entered.
    #[inline(never)] // A lock meter names the locks by this function.
    pub fn new(users: usize) -> Room {
        let state = State { outboxes: vec![None; users], position: 0, ended: 0 };
        Room { state: Monitor::new(state, 0) }
    }

    /// A user enters. None if there is no such user, or if it has entered already.
    pub fn enter(&self, user: u32) -> Option<Outbox> {
        let mut state = self.state.enter();
        let place = state.outboxes.get_mut(user as usize).filter(|place| place.is_none())?;
        Some(Arc::clone(place.insert(Arc::new(Queue::new()))))
    }

    /// Passes a message on to all users but its sender. The lock is held until it is in all outboxes, so all users get
    /// the messages of the room in one order. Returns the longest outbox if that is full.
    pub fn pass_on(&self, sender: u32, frame: &mut [u8]) -> Option<Outbox> {
        let mut state = self.state.enter();
        message::set_position(frame, state.position);
        state.position = state.position.wrapping_add(1);
        let message: Shared = Arc::from(&*frame);
        let mut longest = (FULL - 1, None);
        for (user, outbox) in state.outboxes.iter().enumerate() {
            let Some(outbox) = outbox.as_ref().filter(|_| user != sender as usize) else { continue };
            let length = outbox.push([Arc::clone(&message)]);
            if length > longest.0 {
                longest = (length, Some(Arc::clone(outbox)));
            }
        }
        longest.1
    }

    /// A user sends nothing any more. After the last one all outboxes are closed: no more messages will come.
    pub fn note_user_end(&self) {
        let mut state = self.state.enter();
        state.ended += 1;
        if state.ended == state.outboxes.len() {
            state.outboxes.iter().flatten().for_each(|outbox| outbox.close());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use message::{Header, header, write};

    fn frame(user: u32, sequence: u32) -> Vec<u8> {
        let mut frame = vec![0; 16];
        write(&mut frame, Header { room: 0, user, sequence, position: 0 });
        frame
    }

    #[test]
    fn message_goes_to_all_but_its_sender_with_its_position() {
        let room = Room::new(3);
        let outboxes = [0, 1, 2].map(|user| room.enter(user).unwrap());
        assert!(room.pass_on(1, &mut frame(1, 0)).is_none());
        assert!(room.pass_on(2, &mut frame(2, 0)).is_none());
        (0..3).for_each(|_| room.note_user_end());
        let got: [Vec<(u32, u32)>; 3] = outboxes.map(|outbox| {
            std::iter::from_fn(|| outbox.take()).map(|m| (header(&m).user, header(&m).position)).collect()
        });
        assert_eq!(got, [vec![(1, 0), (2, 1)], vec![(2, 1)], vec![(1, 0)]]);
    }

    #[test]
    fn unknown_user_and_second_entry_are_refused() {
        let room = Room::new(2);
        assert!(room.enter(2).is_none());
        assert!(room.enter(1).is_some());
        assert!(room.enter(1).is_none());
    }

    #[test]
    fn longest_full_outbox_is_returned() {
        let room = Room::new(3);
        let outboxes = [0, 1, 2].map(|user| room.enter(user).unwrap());
        for sequence in 0..FULL as u32 - 1 {
            assert!(room.pass_on(0, &mut frame(0, sequence)).is_none());
        }
        outboxes[1].take();
        let full = room.pass_on(0, &mut frame(0, FULL as u32)).unwrap();
        assert!(Arc::ptr_eq(&full, &outboxes[2]));
        outboxes[2].abandon();
        outboxes[1].take();
        assert!(room.pass_on(0, &mut frame(0, FULL as u32 + 1)).is_none());
    }
}
