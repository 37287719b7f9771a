//! Message queues.

use super::Message;
use super::sem_set::permissions;
use crate::Engine;
use unspin_sys::Errno;
use unspin_sys::ipc::MsqidDs;
use unspin_sys::ipc::flag::{
    IPC_CREAT, IPC_EXCL, IPC_NOWAIT, IPC_PRIVATE, IPC_RMID, IPC_SET, IPC_STAT, MSG_COPY, MSG_EXCEPT,
    MSG_NOERROR,
};

/// A message queue. A handle: copied freely, and dropping it removes nothing.
///
/// ```
/// use unspin_sysv::typed::{Message, MessageQueue, Which};
/// use unspin_sysv::{Engine, Kind, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
/// let queue = MessageQueue::private(&engine, 0o600)?;
///
/// // A server answers each client under the number that the client gave.
/// const REQUEST: i64 = 1;
/// let server = std::thread::spawn(move || {
///     let mut request = Message::with_capacity(100);
///     queue.receive(Which::Kind(REQUEST), &mut request)?;
///     let client = i64::from(request.text()[0]);
///     queue.send(&Message::new(client, b"done"))
/// });
/// let mut answer = Message::with_capacity(100);
/// queue.send(&Message::new(REQUEST, &[42]))?;
/// queue.receive(Which::Kind(42), &mut answer)?;
/// assert_eq!(answer.text(), b"done");
/// server.join().unwrap()?;
///
/// assert_eq!(queue.try_receive(Which::First, &mut answer), Err(unspin_sysv::Errno::ENOMSG));
/// queue.remove()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MessageQueue {
    engine: Engine,
    id: i32,
}

/// Which message of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The oldest.
    First,
    /// The oldest of this type, which is above zero.
    Kind(i64),
    /// The oldest of another type than this: `MSG_EXCEPT`.
    Except(i64),
    /// Of those whose type is this or less, one of the lowest type, the oldest of them.
    UpTo(i64),
}

impl Which {
    /// `msgtyp` and flags of msgrcv(2). `None` for a type that no message has, and that would mean something else there.
    fn arguments(self) -> Option<(i64, i32)> {
        match self {
            Which::First => Some((0, 0)),
            Which::Kind(kind) if kind > 0 => Some((kind, 0)),
            Which::Except(kind) if kind > 0 => Some((kind, MSG_EXCEPT)),
            Which::UpTo(kind) if kind > 0 => Some((-kind, 0)),
            Which::Kind(_) | Which::Except(_) | Which::UpTo(_) => None,
        }
    }
}

impl MessageQueue {
    /// The queue of a key, which must exist: `ENOENT` otherwise. msgget(2).
    pub fn open(engine: &Engine, key: i32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, 0)
    }

    /// The queue of a key, made with these permission bits if there is none.
    pub fn create(engine: &Engine, key: i32, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, IPC_CREAT | permissions(mode))
    }

    /// As [`MessageQueue::create`], and `EEXIST` if there is one.
    pub fn create_new(engine: &Engine, key: i32, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, IPC_CREAT | IPC_EXCL | permissions(mode))
    }

    /// A queue that no key finds, only its id.
    pub fn private(engine: &Engine, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, IPC_PRIVATE, permissions(mode))
    }

    /// The queue of an id that somebody told us. Nothing is looked up yet.
    pub fn from_id(engine: &Engine, id: i32) -> MessageQueue {
        MessageQueue { engine: *engine, id }
    }

    fn get(engine: &Engine, key: i32, flags: i32) -> Result<MessageQueue, Errno> {
        Ok(MessageQueue { engine: *engine, id: engine.msgget(key, flags)? })
    }

    /// Its id, by which other processes find it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Puts a message into the queue, or sleeps until there is room. msgsnd(2).
    pub fn send(&self, message: &Message) -> Result<(), Errno> {
        self.send_with(message, 0)
    }

    /// As [`MessageQueue::send`], and `EAGAIN` if there is no room.
    pub fn try_send(&self, message: &Message) -> Result<(), Errno> {
        self.send_with(message, IPC_NOWAIT)
    }

    fn send_with(&self, message: &Message, flags: i32) -> Result<(), Errno> {
        self.engine.send(self.id, message.kind(), message.text(), flags)
    }

    /// Takes a message out of the queue, or sleeps until there is one. msgrcv(2). `E2BIG` if its text is longer than
    /// `into` has room for: then it stays in the queue. `EINVAL` for a type below one.
    pub fn receive(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, 0)
    }

    /// As [`MessageQueue::receive`], and `ENOMSG` if there is none.
    pub fn try_receive(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, IPC_NOWAIT)
    }

    /// As [`MessageQueue::receive`]; a text that is too long is cut off instead: `MSG_NOERROR`.
    pub fn receive_beginning(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, MSG_NOERROR)
    }

    fn receive_with(&self, which: Which, into: &mut Message, flags: i32) -> Result<(), Errno> {
        let (kind, more) = which.arguments().ok_or(Errno::EINVAL)?;
        self.fill(into, kind, flags | more)
    }

    /// A copy of the message at a place in the queue, the oldest at 0, which stays in it: `MSG_COPY`. `ENOMSG` if there is
    /// none; `ENOSYS` from a kernel that was built without checkpointing.
    pub fn peek(&self, place: usize, into: &mut Message) -> Result<(), Errno> {
        let place = i64::try_from(place).map_err(|_| Errno::ENOMSG)?;
        self.fill(into, place, MSG_COPY | IPC_NOWAIT)
    }

    fn fill(&self, into: &mut Message, kind: i64, flags: i32) -> Result<(), Errno> {
        into.fill(|room| self.engine.receive(self.id, room, kind, flags))
    }

    /// Owner, permissions, times, how much is in it: `IPC_STAT`.
    pub fn status(&self) -> Result<MsqidDs, Errno> {
        let mut status = MsqidDs::default();
        // SAFETY: the structure that the command writes.
        unsafe { self.engine.msgctl(self.id, IPC_STAT, &raw mut status as usize) }?;
        Ok(status)
    }

    /// Sets owner, permission bits and `msg_qbytes` as they are in `status`, and nothing else of it: `IPC_SET`.
    pub fn set_status(&self, status: &MsqidDs) -> Result<(), Errno> {
        // SAFETY: the structure that the command reads.
        unsafe { self.engine.msgctl(self.id, IPC_SET, &raw const *status as usize) }.map(drop)
    }

    /// Removes the queue and what is in it, for everybody: `IPC_RMID`. Who sleeps gets `EIDRM`.
    pub fn remove(self) -> Result<(), Errno> {
        // SAFETY: the command takes no address.
        unsafe { self.engine.msgctl(self.id, IPC_RMID, 0) }.map(drop)
    }
}
