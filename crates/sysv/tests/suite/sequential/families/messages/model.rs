//! A simple model of the calls: one process, one map, no lock, no waiters.
//!
//! Order of checks: Linux 6.18, `ipc/msg.c` and `ipc/util.c`.

use super::program::{Call, Command, Memory};
use crate::families::names::{Name, Names};
use std::collections::BTreeMap;
use unspin_sys::Errno;
use unspin_sys::ipc::flag;

/// A deliberate mistake of the model. The comparison must find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// No mistake.
    #[default]
    None,
    /// Of several of the lowest type the last is received.
    LastOfEquals,
    /// Messages are limited by their bytes only, not by their number.
    BytesOnly,
    /// A message that cannot be written where it is to go stays in the queue.
    FaultsKeep,
    /// A message that is too large is lost.
    TooLargeLoses,
}

/// A queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    pub key: u8,
    pub mode: u32,
    pub most: u64,
    /// Type, length, and number of the call that sent it, from which the text follows.
    pub messages: Vec<(i64, usize, u8)>,
    /// Whether a message was ever sent or received, and by which process.
    pub sent: Option<i32>,
    pub received: Option<i32>,
}

impl Queue {
    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.1 as u64).sum()
    }
}

/// What a call answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A number, or an error.
    Number(Result<i64, Errno>),
    /// A message: type, length, and the call that sent it.
    Message(i64, usize, u8),
    /// `IPC_STAT`, `MSG_STAT`: the queue as it is but for the messages' texts, and what the call returned.
    Status(i64, Queue),
    /// msgget made a queue: any id that is not in use.
    New(Queue),
}

/// All queues.
pub struct Model {
    queues: BTreeMap<i32, Queue>,
    names: Names,
    pid: i32,
    flaw: Flaw,
}

type Outcome<T> = Result<T, Errno>;

impl Model {
    pub fn new(flaw: Flaw) -> Model {
        Model { queues: BTreeMap::new(), names: Names::default(), pid: std::process::id() as i32, flaw }
    }

    /// The id behind a name.
    pub fn id(&self, name: Name) -> i32 {
        self.names.id(name)
    }

    /// Ids of all queues that are there.
    pub fn ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.queues.keys().copied()
    }

    /// Notes which id a new queue got; `false` if it cannot have got that one.
    pub fn name(&mut self, id: i32, queue: Queue) -> bool {
        self.queues.insert(id, queue);
        self.names.note(id)
    }

    /// Performs a call, which is the `number`-th.
    pub fn call(&mut self, number: u8, call: &Call) -> Answer {
        let answer = match *call {
            Call::Get { key, flags } => self.get(key, flags),
            Call::Send { queue, kind, size, memory } => {
                self.send(self.id(queue), (kind, size, number), memory).map(|()| Answer::Number(Ok(0)))
            }
            Call::Receive { queue, kind, room, flags, memory } => {
                self.receive(self.id(queue), kind, room, flags, memory)
            }
            Call::Control { queue, command } => self.control(self.id(queue), command),
        };
        answer.unwrap_or_else(|errno| Answer::Number(Err(errno)))
    }

    fn get(&mut self, key: u8, flags: i32) -> Outcome<Answer> {
        if let Some((&id, _)) = self.queues.iter().find(|(_, queue)| key != 0 && queue.key == key) {
            if flags & flag::IPC_EXCL != 0 && flags & flag::IPC_CREAT != 0 {
                return Err(Errno::EEXIST);
            }
            return Ok(Answer::Number(Ok(i64::from(id))));
        }
        if key != 0 && flags & flag::IPC_CREAT == 0 {
            return Err(Errno::ENOENT);
        }
        let mode = flags as u32 & 0o777;
        Ok(Answer::New(Queue { key, mode, most: 16_384, messages: vec![], sent: None, received: None }))
    }

    fn send(&mut self, id: i32, message: (i64, usize, u8), memory: Memory) -> Outcome<()> {
        let (kind, size, _) = message;
        if memory == Memory::Bad {
            return Err(Errno::EFAULT);
        }
        if size > 8_192 || id < 0 || kind < 1 {
            return Err(Errno::EINVAL);
        }
        let queue = self.queues.get_mut(&id).ok_or(Errno::EINVAL)?;
        let fits = (queue.messages.len() as u64) < queue.most || self.flaw == Flaw::BytesOnly;
        if queue.bytes() + size as u64 > queue.most || !fits {
            return Err(Errno::EAGAIN);
        }
        queue.messages.push(message);
        queue.sent = Some(self.pid);
        Ok(())
    }

    fn receive(&mut self, id: i32, kind: i64, room: usize, flags: i32, memory: Memory) -> Outcome<Answer> {
        let copies = flags & flag::MSG_COPY != 0;
        if id < 0 || room as isize as i64 <= -1 || copies && flags & flag::MSG_EXCEPT != 0 {
            return Err(Errno::EINVAL);
        }
        let copied = room.min(8_192);
        if copies && memory == Memory::Bad && copied > 0 {
            return Err(Errno::EFAULT);
        }
        let (pid, flaw) = (self.pid, self.flaw);
        let queue = self.queues.get_mut(&id).ok_or(Errno::EINVAL)?;
        let at = find(&queue.messages, kind, flags, flaw).ok_or(Errno::ENOMSG)?;
        let (kind, size, number) = queue.messages[at];
        if size > room && flags & flag::MSG_NOERROR == 0 {
            if flaw == Flaw::TooLargeLoses && !copies {
                queue.messages.remove(at);
            }
            return Err(Errno::E2BIG);
        }
        if copies && size > copied {
            return Err(Errno::EINVAL);
        }
        if !copies {
            if memory == Memory::Good || flaw != Flaw::FaultsKeep {
                queue.messages.remove(at);
            }
            queue.received = Some(pid);
        }
        if memory == Memory::Bad {
            return Err(Errno::EFAULT);
        }
        Ok(Answer::Message(kind, size.min(room), number))
    }

    fn control(&mut self, id: i32, command: Command) -> Outcome<Answer> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        match command {
            Command::Unknown(_) => return Err(Errno::EINVAL),
            Command::BadAddress(flag::IPC_SET) => return Err(Errno::EFAULT),
            Command::StatIndex => {
                let at = |id: i32| id & 0x7FFF;
                let (&id, queue) =
                    self.queues.iter().find(|(i, _)| at(**i) == at(id)).ok_or(Errno::EINVAL)?;
                return Ok(Answer::Status(i64::from(id), queue.clone()));
            }
            _ => {}
        }
        let queue = self.queues.get_mut(&id).ok_or(Errno::EINVAL)?;
        match command {
            Command::Stat => return Ok(Answer::Status(0, queue.clone())),
            Command::BadAddress(_) => return Err(Errno::EFAULT),
            Command::Set(extra, most) => (queue.mode, queue.most) = (0o600 | extra, most),
            Command::Remove => drop(self.queues.remove(&id)),
            Command::StatIndex | Command::Unknown(_) => unreachable!("answered above"),
        }
        Ok(Answer::Number(Ok(0)))
    }
}

/// Which message is meant.
fn find(messages: &[(i64, usize, u8)], kind: i64, flags: i32, flaw: Flaw) -> Option<usize> {
    if flags & flag::MSG_COPY != 0 {
        return usize::try_from(kind).ok().filter(|&n| n < messages.len());
    }
    let mut kinds = messages.iter().map(|message| message.0);
    match kind {
        0 => kinds.next().map(|_| 0),
        ..0 => {
            let highest = kind.checked_neg().unwrap_or(i64::MAX);
            let lowest = kinds.clone().min().filter(|&kind| kind <= highest)?;
            match flaw {
                Flaw::LastOfEquals => messages.iter().rposition(|message| message.0 == lowest),
                _ => kinds.position(|kind| kind == lowest),
            }
        }
        _ if flags & flag::MSG_EXCEPT != 0 => kinds.position(|other| other != kind),
        _ => kinds.position(|other| other == kind),
    }
}
