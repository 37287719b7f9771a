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

/// A handle of a message queue. It may be copied, and dropping it does not remove the queue.
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
/// // A server answers each client with a message of the type that the client has asked for.
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

/// Selects a message of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The oldest message.
    First,
    /// The oldest message of this type, which must be above zero.
    Kind(i64),
    /// The oldest message of any other type than this: `MSG_EXCEPT`.
    Except(i64),
    /// The oldest message of the lowest type, among types up to this one.
    UpTo(i64),
}

impl Which {
    /// `msgtyp` and flags of msgrcv(2). `None` for a type that no message can have, which msgrcv would interpret
    /// differently.
    fn arguments(self) -> Option<(i64, i32)> {
        match self {
            Which::First => Some((0, 0)),
            Which::Kind(mtype) if mtype > 0 => Some((mtype, 0)),
            Which::Except(mtype) if mtype > 0 => Some((mtype, MSG_EXCEPT)),
            Which::UpTo(mtype) if mtype > 0 => Some((-mtype, 0)),
            Which::Kind(_) | Which::Except(_) | Which::UpTo(_) => None,
        }
    }
}

impl MessageQueue {
    /// The queue with this key, which must exist: `ENOENT` otherwise. msgget(2).
    pub fn open(engine: &Engine, key: i32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, 0)
    }

    /// The queue with this key. If there is none, makes it with these permission bits. msgget(2).
    pub fn create(engine: &Engine, key: i32, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, IPC_CREAT | permissions(mode))
    }

    /// Like [`MessageQueue::create`], but fails with `EEXIST` if the queue exists.
    pub fn create_new(engine: &Engine, key: i32, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, key, IPC_CREAT | IPC_EXCL | permissions(mode))
    }

    /// Makes a queue without a key. Other processes find it only by its id.
    pub fn private(engine: &Engine, mode: u32) -> Result<MessageQueue, Errno> {
        MessageQueue::get(engine, IPC_PRIVATE, permissions(mode))
    }

    /// The queue with this id. Whether it exists is not checked yet.
    pub fn from_id(engine: &Engine, id: i32) -> MessageQueue {
        MessageQueue { engine: *engine, id }
    }

    fn get(engine: &Engine, key: i32, flags: i32) -> Result<MessageQueue, Errno> {
        Ok(MessageQueue { engine: *engine, id: engine.msgget(key, flags)? })
    }

    /// The queue's id, by which other processes find it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Puts a message into the queue. If there is no room, sleeps until there is. msgsnd(2).
    pub fn send(&self, message: &Message) -> Result<(), Errno> {
        self.send_with(message, 0)
    }

    /// Like [`MessageQueue::send`], but fails with `EAGAIN` if there is no room.
    pub fn try_send(&self, message: &Message) -> Result<(), Errno> {
        self.send_with(message, IPC_NOWAIT)
    }

    fn send_with(&self, message: &Message, flags: i32) -> Result<(), Errno> {
        self.engine.send(self.id, message.mtype(), message.text(), flags)
    }

    /// Takes a message out of the queue. If there is none, sleeps until there is. msgrcv(2). `E2BIG` if its text does
    /// not fit into `into`: then it stays in the queue. `EINVAL` if the type in `which` is below one.
    pub fn receive(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, 0)
    }

    /// Like [`MessageQueue::receive`], but fails with `ENOMSG` if there is no message.
    pub fn try_receive(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, IPC_NOWAIT)
    }

    /// Like [`MessageQueue::receive`], but truncates a text that is too long: `MSG_NOERROR`.
    pub fn receive_beginning(&self, which: Which, into: &mut Message) -> Result<(), Errno> {
        self.receive_with(which, into, MSG_NOERROR)
    }

    fn receive_with(&self, which: Which, into: &mut Message, flags: i32) -> Result<(), Errno> {
        let (mtype, more) = which.arguments().ok_or(Errno::EINVAL)?;
        self.fill(into, mtype, flags | more)
    }

    /// Copies the message at a position in the queue (0 is the oldest), and leaves it there: `MSG_COPY`. `ENOMSG` if
    /// there is none; `ENOSYS` from a kernel that was built without checkpointing.
    pub fn peek(&self, place: usize, into: &mut Message) -> Result<(), Errno> {
        let place = i64::try_from(place).map_err(|_| Errno::ENOMSG)?;
        self.fill(into, place, MSG_COPY | IPC_NOWAIT)
    }

    fn fill(&self, into: &mut Message, mtype: i64, flags: i32) -> Result<(), Errno> {
        into.fill(|room| self.engine.receive(self.id, room, mtype, flags))
    }

    /// Owner, permissions, times, and number and bytes of messages: `IPC_STAT`. msgctl(2).
    pub fn status(&self) -> Result<MsqidDs, Errno> {
        let mut status = MsqidDs::default();
        // SAFETY: a live structure of the type that the command writes.
        unsafe { self.engine.msgctl(self.id, IPC_STAT, &raw mut status as usize) }?;
        Ok(status)
    }

    /// Sets owner, permission bits and `msg_qbytes` from `status`, and nothing else: `IPC_SET`.
    pub fn set_status(&self, status: &MsqidDs) -> Result<(), Errno> {
        // SAFETY: a live structure of the type that the command reads.
        unsafe { self.engine.msgctl(self.id, IPC_SET, &raw const *status as usize) }.map(drop)
    }

    /// Removes the queue and its messages, for all processes: `IPC_RMID`. Waiting calls fail with `EIDRM`.
    pub fn remove(self) -> Result<(), Errno> {
        // SAFETY: the command takes no address.
        unsafe { self.engine.msgctl(self.id, IPC_RMID, 0) }.map(drop)
    }
}
