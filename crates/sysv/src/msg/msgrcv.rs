//! msgrcv(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/msg.c`: `do_msgrcv`): sign of the id and of the size (EINVAL); for
//! MSG_COPY its flags (EINVAL) and the buffer (EFAULT: the kernel reads it, see `prepare_copy`); id (EINVAL);
//! permission (EACCES); removal (EIDRM); the message (E2BIG, ENOMSG). That a buffer cannot be written is found only
//! when the message has already been taken; the message is then lost (EFAULT).

use super::mailbox;
use super::memory::{MemoryOwner, Received, RecvBuffer};
use super::object::within;
use super::section::{Caller, QueuePosition, QueueSection};
use super::selector::Selector;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::Access;
use crate::thread::Thread;
use crate::waiting::{self, CallerBuffers, WaitResult, WaitTarget};
use core::cell::Cell;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::ipc::flag::{IPC_NOWAIT, MSG_COPY, MSG_EXCEPT, MSG_NOERROR};
use unspin_sys::{Errno, clock, fault, ipc};
use unspin_wire::Event;

impl Engine {
    /// msgrcv(2), with the arguments that a C program gives. Returns the number of bytes of text received.
    ///
    /// # Safety
    /// If `message` is valid, the program must want the type there, a `long`, and up to `size` bytes of text behind it.
    /// For an invalid address the call fails with `EFAULT`.
    #[inline]
    pub unsafe fn msgrcv(
        &self,
        id: i32,
        message: usize,
        size: usize,
        mtype: i64,
        flags: i32,
    ) -> Result<usize, Errno> {
        let Some(inner) = self.inner else {
            // SAFETY: the caller's promise is the kernel's.
            return unsafe { ipc::msgrcv(id, message, size, mtype, flags) };
        };
        let text = message.wrapping_add(8);
        let buffer = RecvBuffer { memory: MemoryOwner::Program, mtype: message, text, room: size };
        receive(inner, id, buffer, mtype, flags).map(|received| received.bytes)
    }

    /// msgrcv(2) from Rust. Returns the type of the message and the length of its text, which is in `text`. See
    /// [`Engine::send`] for an example.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use unspin_sys::{Errno, ipc::flag};
    /// use unspin_sysv::{Engine, Kind, Options};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
    /// let id = engine.msgget(flag::IPC_PRIVATE, 0o600)?;
    /// engine.send(id, 1, b"a long one", 0)?;
    ///
    /// let mut text = [0; 6];
    /// assert_eq!(engine.receive(id, &mut text, 0, 0), Err(Errno::E2BIG), "it stays in the queue");
    /// assert_eq!(engine.receive(id, &mut text, 0, flag::MSG_NOERROR), Ok((1, 6)));
    /// assert_eq!(&text, b"a long");
    /// # Ok(())
    /// # }
    /// ```
    pub fn receive(&self, id: i32, text: &mut [u8], mtype: i64, flags: i32) -> Result<(i64, usize), Errno> {
        match self.inner {
            None => {
                let mut message = vec![0u8; 8 + text.len()];
                let at = message.as_mut_ptr() as usize;
                // SAFETY: a live vector, with room for the type and for the text behind it.
                let bytes = unsafe { ipc::msgrcv(id, at, text.len(), mtype, flags) }?;
                let (mtype, got) = message.split_at(8);
                text[..bytes].copy_from_slice(&got[..bytes]);
                Ok((i64::from_ne_bytes(mtype.try_into().expect("eight bytes")), bytes))
            }
            Some(inner) => {
                let at = text.as_mut_ptr() as usize;
                let buffer = RecvBuffer { memory: MemoryOwner::Ours, mtype: at, text: at, room: text.len() };
                receive(inner, id, buffer, mtype, flags).map(|received| (received.mtype, received.bytes))
            }
        }
    }
}

#[inline(always)]
fn receive(
    inner: &'static Inner,
    id: i32,
    buffer: RecvBuffer,
    mtype: i64,
    flags: i32,
) -> Result<Received, Errno> {
    if id < 0 || buffer.room > isize::MAX as usize {
        return Err(Errno::EINVAL);
    }
    let thread = Thread::of(inner)?;
    waiting::interrupt(thread, CallerBuffers::Gone);
    let (wanted, received, limit) = (Selector::new(mtype, flags), Cell::default(), Cell::default());
    let receiving = MsgrcvCall { inner, thread, id, buffer, wanted, flags, received, limit };
    if flags & MSG_COPY != 0 {
        return receiving.copy();
    }
    match receiving.attempt(Try::First)? {
        Progress::Done => Ok(receiving.received.get()),
        step => receiving.go_on(step),
    }
}

/// A call under way.
struct MsgrcvCall {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    buffer: RecvBuffer,
    wanted: Selector,
    flags: i32,
    /// The result of the successful attempt. It is not in the attempt's return value, because there it would be copied
    /// in words of another size than it was written in.
    received: Cell<Received>,
    /// The largest message that may come, once the call has asked the kernel. If it is raised, a sender makes a receiver
    /// with a small mailbox try again.
    limit: Cell<Option<u64>>,
}

/// The result of an attempt.
#[derive(Clone, Copy)]
enum Progress {
    Done,
    /// The mailbox is too small; messages of up to this many bytes may come.
    NoMailbox(usize),
    /// The call must wait, and wakers could not tell by the thread's robust word whether it lives.
    LacksWord,
    /// The call must wait, and the largest message that may come is not known. It is asked for outside the lock.
    LacksLimit,
    /// Queued; the number of the wait.
    Queued(u64),
}

/// Whether a call has waited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    /// The call has waited.
    Again,
}

impl MsgrcvCall {
    /// Most bytes that a received message may have.
    fn most(&self) -> u64 {
        if self.flags & MSG_NOERROR != 0 { u64::MAX } else { self.buffer.room as u64 }
    }

    #[inline(always)]
    fn attempt(&self, try_number: Try) -> Result<Progress, Errno> {
        let caller = Caller { pid: self.thread.pid(), now: clock::realtime_seconds() };
        let position = (Call::Msgrcv, self.id, Access::Read);
        within(self.inner, self.thread, position, |section| {
            match section.receive(self.wanted, self.most(), &self.buffer, caller)? {
                Some(received) => {
                    self.received.set(received);
                    Ok(Progress::Done)
                }
                None => self.wait_for_room(section, try_number),
            }
        })
        .unwrap_or_else(|errno| match try_number {
            // A call that has waited reports that the queue was removed meanwhile.
            Try::Again if errno == Errno::EINVAL => Err(Errno::EIDRM),
            _ => Err(errno),
        })
    }

    #[cold]
    fn wait_for_room(&self, section: &mut QueueSection, try_number: Try) -> Result<Progress, Errno> {
        if self.flags & IPC_NOWAIT != 0 {
            return Err(Errno::ENOMSG);
        }
        if self.thread.wants_participant_word() {
            return Ok(Progress::LacksWord);
        }
        let known = || self.thread.message_limit.known_at(clock::realtime_tick());
        let Some(limit) = self.limit.get().or_else(known) else {
            return Ok(Progress::LacksLimit);
        };
        // A message is handed over complete, although the receiver may want less of it, so that it can go back
        // complete.
        let longest = self.most().min(limit) as usize;
        let record = self.thread.record();
        if mailbox::capacity(&self.inner.arena, record) < Some(longest) {
            return Ok(Progress::NoMailbox(longest));
        }
        // For a message that was handed over the kernel records the thread, not the process, as the receiver.
        record.waiter.pid.store(self.thread.identity().tid, Relaxed);
        let wait = self.thread.waits.begin(WaitTarget::Message(self.buffer));
        match try_number {
            Try::First => section.await_message(self.wanted, self.most(), QueuePosition::Last),
            Try::Again => section.await_message(self.wanted, self.most(), QueuePosition::Kept),
        }
        Ok(Progress::Queued(wait))
    }

    /// The rest of a call that the first attempt did not complete.
    #[cold]
    fn go_on(&self, mut step: Progress) -> Result<Received, Errno> {
        let mut try_number = Try::First;
        loop {
            match step {
                Progress::Done => return Ok(self.received.get()),
                Progress::LacksWord => self.inner.take_participant_word(self.thread),
                Progress::LacksLimit => {
                    self.limit.set(Some(self.thread.message_limit.read(clock::realtime_tick())));
                }
                Progress::NoMailbox(longest) => mailbox::provide(self.inner, self.thread, longest)?,
                Progress::Queued(wait) => {
                    self.thread.count(Event::Blocked, 1);
                    match waiting::wait(self.inner, self.thread, wait, None) {
                        WaitResult::Done(received) => return Ok(received),
                        WaitResult::Failed(errno) => return Err(errno),
                        WaitResult::Retry => {
                            try_number = Try::Again;
                            self.limit.set(None);
                        }
                    }
                }
            }
            step = self.attempt(try_number)?;
        }
    }

    fn copy(&self) -> Result<Received, Errno> {
        if self.flags & MSG_EXCEPT != 0 || self.flags & IPC_NOWAIT == 0 {
            return Err(Errno::EINVAL);
        }
        let limit = self.thread.message_limit.read(clock::realtime_tick());
        let room = self.buffer.room.min(usize::try_from(limit).unwrap_or(usize::MAX));
        if self.buffer.memory == MemoryOwner::Program {
            // The memory that `prepare_copy` reads, from the type on.
            fault::probe(self.buffer.mtype, room)?;
        }
        let buffer = RecvBuffer { room, ..self.buffer };
        within(self.inner, self.thread, (Call::Msgrcv, self.id, Access::Read), |section| {
            section.copy(self.wanted, self.most(), &buffer)
        })?
    }
}
