//! msgsnd(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/msg.c`: `ksys_msgsnd`, `do_msgsnd`): type (EFAULT), length and sign
//! of the id (EINVAL), type below 1 (EINVAL), text (EFAULT), id (EINVAL), permission (EACCES), removal (EIDRM), room
//! (EAGAIN).

use super::cell::CellSize;
use super::memory::{MemoryOwner, OutgoingMessage};
use super::object::within;
use super::section::{Caller, QueuePosition, QueueSection, Sent};
use super::{MsgQueue, mailbox};
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::Access;
use crate::thread::Thread;
use crate::waiting::{self, CallerBuffers, WaitResult, WaitTarget};
use unspin_sys::ipc::flag::IPC_NOWAIT;
use unspin_sys::{Errno, clock, fault, ipc};
use unspin_wire::Event;

impl Engine {
    /// msgsnd(2), with the arguments that a C program gives. `message` is the address of the type, a `long`, and of
    /// `size` bytes of text behind it.
    ///
    /// # Safety
    /// If `message` is readable for that many bytes, no thread may write them during the call. For any other address
    /// the call fails with `EFAULT`.
    #[inline]
    pub unsafe fn msgsnd(&self, id: i32, message: usize, size: usize, flags: i32) -> Result<i32, Errno> {
        let Some(inner) = self.inner else {
            // SAFETY: the caller's promise is the kernel's.
            return unsafe { ipc::msgsnd(id, message, size, flags) };
        };
        let mtype = fault::load_word(message)? as i64;
        let outgoing =
            OutgoingMessage { mtype, memory: MemoryOwner::Program, text: message.wrapping_add(8), size };
        send(inner, id, outgoing, flags).map(|()| 0)
    }

    /// msgsnd(2) from Rust. `mtype` is the message's type and must be above 0.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use unspin_sys::{Errno, ipc::flag};
    /// use unspin_sysv::{Engine, Kind, Options};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
    /// let id = engine.msgget(flag::IPC_PRIVATE, 0o600)?;
    /// engine.send(id, 7, b"hello", 0)?;
    /// engine.send(id, 3, b"first", flag::IPC_NOWAIT)?;
    ///
    /// let mut text = [0; 16];
    /// // The lowest type up to 9.
    /// let (kind, length) = engine.receive(id, &mut text, -9, 0)?;
    /// assert_eq!((kind, &text[..length]), (3, &b"first"[..]));
    /// assert_eq!(engine.receive(id, &mut text, 3, flag::IPC_NOWAIT), Err(Errno::ENOMSG));
    /// # Ok(())
    /// # }
    /// ```
    pub fn send(&self, id: i32, mtype: i64, text: &[u8], flags: i32) -> Result<(), Errno> {
        match self.inner {
            None => {
                let message: Vec<u8> = [&mtype.to_ne_bytes(), text].concat();
                // SAFETY: a live vector: the type, and the text behind it.
                unsafe { ipc::msgsnd(id, message.as_ptr() as usize, text.len(), flags) }.map(drop)
            }
            Some(inner) => {
                let (text, size) = (text.as_ptr() as usize, text.len());
                send(inner, id, OutgoingMessage { mtype, memory: MemoryOwner::Ours, text, size }, flags)
            }
        }
    }
}

#[inline(always)]
fn send(inner: &'static Inner, id: i32, outgoing: OutgoingMessage, flags: i32) -> Result<(), Errno> {
    let thread = Thread::of(inner)?;
    waiting::interrupt(thread, CallerBuffers::Gone);
    let tick = clock::realtime_tick();
    if id < 0 || !thread.message_limit.permits(outgoing.size, tick) || outgoing.mtype < 1 {
        return Err(Errno::EINVAL);
    }
    let sending = MsgsndCall { inner, thread, id, outgoing, flags };
    match sending.attempt(tick.0, Try::First)? {
        Progress::Done => Ok(()),
        step => sending.go_on(step),
    }
}

/// A call under way.
struct MsgsndCall {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    outgoing: OutgoingMessage,
    flags: i32,
}

/// The result of an attempt.
#[derive(Clone, Copy)]
enum Progress {
    Done,
    /// There is no free cell of this size.
    NoCell(CellSize),
    /// The mailbox is too small for the message to wait in it.
    NoMailbox,
    /// The call must wait, and wakers could not tell by the thread's robust word whether it lives.
    LacksWord,
    /// Queued; the number of the wait.
    Queued(u64),
}

/// Whether a call has waited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    /// After the wait with this number.
    After(u64),
}

impl Try {
    /// A call that has waited reports that the queue was removed meanwhile.
    fn error(self, errno: Errno) -> Errno {
        if self != Try::First && errno == Errno::EINVAL { Errno::EIDRM } else { errno }
    }
}

impl MsgsndCall {
    #[inline(always)]
    fn attempt(&self, now: i64, try_number: Try) -> Result<Progress, Errno> {
        let position = (Call::Msgsnd, self.id, Access::Alter);
        within(self.inner, self.thread, position, |section| self.put(section, now, try_number))
            .unwrap_or_else(|errno| Err(self.refusal(errno, try_number)))
    }

    #[inline(always)]
    fn put(&self, section: &mut QueueSection, now: i64, try_number: Try) -> Result<Progress, Errno> {
        let caller = Caller { pid: self.thread.pid(), now };
        let kept = match try_number {
            Try::First => None,
            Try::After(wait) => self.kept_message(wait),
        };
        match section.send(kept.as_ref().unwrap_or(&self.outgoing), caller)? {
            Sent::Done => Ok(Progress::Done),
            Sent::NoCell(size) => Ok(Progress::NoCell(size)),
            Sent::Full => self.wait_for_room(section, try_number, kept.is_some()),
        }
    }

    /// The error of a refused call: `EFAULT` if the text cannot be read, because the kernel copies the text before its
    /// other checks.
    #[cold]
    fn refusal(&self, errno: Errno, try_number: Try) -> Errno {
        match try_number {
            Try::First => self.outgoing.probe().err().unwrap_or(errno),
            Try::After(_) => try_number.error(errno),
        }
    }

    /// The message from the mailbox, where it has been since that wait began; `None` if a signal handler has begun
    /// another wait since.
    fn kept_message(&self, wait: u64) -> Option<OutgoingMessage> {
        self.thread
            .waits
            .is_last(wait)
            .then(|| mailbox::kept_message(&self.inner.arena, self.thread.record(), &self.outgoing))?
    }

    #[cold]
    fn wait_for_room(
        &self,
        section: &mut QueueSection,
        try_number: Try,
        is_kept: bool,
    ) -> Result<Progress, Errno> {
        let (arena, record) = (&self.inner.arena, self.thread.record());
        if try_number == Try::First {
            self.outgoing.probe()?;
        }
        if self.flags & IPC_NOWAIT != 0 {
            return Err(Errno::EAGAIN);
        }
        if self.thread.wants_participant_word() {
            return Ok(Progress::LacksWord);
        }
        if mailbox::capacity(arena, record) < Some(self.outgoing.size) {
            return Ok(Progress::NoMailbox);
        }
        if !is_kept {
            mailbox::keep(arena, record, &self.outgoing)?;
        }
        let wait = self.thread.waits.begin(WaitTarget::Room);
        match try_number {
            Try::First => section.await_room(self.outgoing.size, QueuePosition::Last),
            Try::After(_) => section.await_room(self.outgoing.size, QueuePosition::Kept),
        }
        Ok(Progress::Queued(wait))
    }

    /// The rest of a call that the first attempt did not complete.
    #[cold]
    fn go_on(&self, mut step: Progress) -> Result<(), Errno> {
        let mut try_number = Try::First;
        loop {
            match step {
                Progress::Done => return Ok(()),
                Progress::NoCell(size) => self.grow(size, try_number)?,
                Progress::LacksWord => self.inner.take_participant_word(self.thread),
                Progress::NoMailbox => mailbox::provide(self.inner, self.thread, self.outgoing.size)?,
                Progress::Queued(wait) => {
                    self.thread.count(Event::Blocked, 1);
                    if let WaitResult::Failed(errno) = waiting::wait(self.inner, self.thread, wait, None) {
                        return Err(errno);
                    }
                    try_number = Try::After(wait);
                }
            }
            step = self.attempt(clock::realtime_seconds(), try_number)?;
        }
    }

    /// Gives the queue a slab with cells of this size. It takes the registry lock before the queue's lock (lock order).
    fn grow(&self, size: CellSize, try_number: Try) -> Result<(), Errno> {
        self.inner.with_registry(self.thread, Class::Msg, Call::Msgsnd, |_| {
            let queue = self.inner.find::<MsgQueue>(self.id).map_err(|errno| try_number.error(errno))?;
            let record = self.thread.record();
            if let Some(slab) = queue.1.new_slab(&self.inner.arena, record, size)? {
                self.inner.guard_found(self.thread, Call::Msgsnd, queue).section().adopt_slab(slab);
            }
            Ok(())
        })
    }
}
