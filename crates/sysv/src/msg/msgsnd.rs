//! msgsnd(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/msg.c`: `ksys_msgsnd`, `do_msgsnd`): type (EFAULT), length and sign
//! of the id (EINVAL), type below 1 (EINVAL), text (EFAULT), id (EINVAL), permission (EACCES), removal (EIDRM), room
//! (EAGAIN).

use super::cell::Size;
use super::memory::{Letter, Memory};
use super::object::within;
use super::section::{Caller, Place, Section, Sent};
use super::{MessageQueue, mailbox};
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::Access;
use crate::thread::Thread;
use crate::waiting::{self, Aim, Buffer, End};
use unspin_meter::Event;
use unspin_sys::ipc::flag::IPC_NOWAIT;
use unspin_sys::{Errno, clock, fault, ipc};

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
        let kind = fault::load_word(message)? as i64;
        let letter = Letter { kind, memory: Memory::Program, text: message.wrapping_add(8), size };
        send(inner, id, letter, flags).map(|()| 0)
    }

    /// msgsnd(2) from Rust. `kind` is the message's type and must be above 0.
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
    pub fn send(&self, id: i32, kind: i64, text: &[u8], flags: i32) -> Result<(), Errno> {
        match self.inner {
            None => {
                let message: Vec<u8> = [&kind.to_ne_bytes(), text].concat();
                // SAFETY: a live vector: the type, and the text behind it.
                unsafe { ipc::msgsnd(id, message.as_ptr() as usize, text.len(), flags) }.map(drop)
            }
            Some(inner) => {
                let (text, size) = (text.as_ptr() as usize, text.len());
                send(inner, id, Letter { kind, memory: Memory::Ours, text, size }, flags)
            }
        }
    }
}

#[inline(always)]
fn send(inner: &'static Inner, id: i32, letter: Letter, flags: i32) -> Result<(), Errno> {
    let thread = Thread::of(inner)?;
    waiting::interrupt(thread, Buffer::Gone);
    let tick = clock::realtime_tick();
    if id < 0 || !thread.message_limit.permits(letter.size, tick) || letter.kind < 1 {
        return Err(Errno::EINVAL);
    }
    let sending = Sending { inner, thread, id, letter, flags };
    match sending.attempt(tick.0, Turn::First)? {
        Step::Done => Ok(()),
        step => sending.go_on(step),
    }
}

/// A call under way.
struct Sending {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    letter: Letter,
    flags: i32,
}

/// The result of an attempt.
#[derive(Clone, Copy)]
enum Step {
    Done,
    /// There is no free cell of this size.
    NoCell(Size),
    /// The mailbox is too small for the message to wait in it.
    NoMailbox,
    /// Queued; the number of the wait.
    Queued(u64),
}

/// Whether a call has waited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    /// After the wait with this number.
    After(u64),
}

impl Turn {
    /// A call that has waited reports that the queue was removed meanwhile.
    fn error(self, errno: Errno) -> Errno {
        if self != Turn::First && errno == Errno::EINVAL { Errno::EIDRM } else { errno }
    }
}

impl Sending {
    #[inline(always)]
    fn attempt(&self, now: i64, turn: Turn) -> Result<Step, Errno> {
        let place = (Call::Msgsnd, self.id, Access::Alter);
        within(self.inner, self.thread, place, |section| self.put(section, now, turn))
            .unwrap_or_else(|errno| Err(self.refusal(errno, turn)))
    }

    #[inline(always)]
    fn put(&self, section: &mut Section, now: i64, turn: Turn) -> Result<Step, Errno> {
        let caller = Caller { pid: self.thread.pid(), now };
        let kept = match turn {
            Turn::First => None,
            Turn::After(wait) => self.kept(wait),
        };
        match section.send(kept.as_ref().unwrap_or(&self.letter), caller)? {
            Sent::Done => Ok(Step::Done),
            Sent::NoCell(size) => Ok(Step::NoCell(size)),
            Sent::Full => self.queue_up(section, turn, kept.is_some()),
        }
    }

    /// The error of a refused call: `EFAULT` if the text cannot be read, because the kernel copies the text before its
    /// other checks.
    #[cold]
    fn refusal(&self, errno: Errno, turn: Turn) -> Errno {
        match turn {
            Turn::First => self.letter.probe().err().unwrap_or(errno),
            Turn::After(_) => turn.error(errno),
        }
    }

    /// The message from the mailbox, where it has been since that wait began; `None` if a signal handler has begun
    /// another wait since.
    fn kept(&self, wait: u64) -> Option<Letter> {
        self.thread
            .waits
            .is_last(wait)
            .then(|| mailbox::kept(&self.inner.arena, self.thread.person(), &self.letter))?
    }

    #[cold]
    fn queue_up(&self, section: &mut Section, turn: Turn, is_kept: bool) -> Result<Step, Errno> {
        let (arena, person) = (&self.inner.arena, self.thread.person());
        if turn == Turn::First {
            self.letter.probe()?;
        }
        if self.flags & IPC_NOWAIT != 0 {
            return Err(Errno::EAGAIN);
        }
        if mailbox::capacity(arena, person) < Some(self.letter.size) {
            return Ok(Step::NoMailbox);
        }
        if !is_kept {
            mailbox::keep(arena, person, &self.letter)?;
        }
        let wait = self.thread.waits.begin(Aim::Room);
        match turn {
            Turn::First => section.await_room(self.letter.size, Place::Last),
            Turn::After(_) => section.await_room(self.letter.size, Place::Kept),
        }
        Ok(Step::Queued(wait))
    }

    /// The rest of a call that the first attempt did not complete.
    #[cold]
    fn go_on(&self, mut step: Step) -> Result<(), Errno> {
        let mut turn = Turn::First;
        loop {
            match step {
                Step::Done => return Ok(()),
                Step::NoCell(size) => self.grow(size, turn)?,
                Step::NoMailbox => mailbox::provide(self.inner, self.thread, self.letter.size)?,
                Step::Queued(wait) => {
                    self.thread.count(Event::Blocked, 1);
                    if let End::Failed(errno) = waiting::wait(self.inner, self.thread, wait, None) {
                        return Err(errno);
                    }
                    turn = Turn::After(wait);
                }
            }
            step = self.attempt(clock::realtime_seconds(), turn)?;
        }
    }

    /// Gives the queue a slab with cells of this size. It takes the registry lock before the queue's lock (lock order).
    fn grow(&self, size: Size, turn: Turn) -> Result<(), Errno> {
        self.inner.with_registry(self.thread, Class::Msg, Call::Msgsnd, |_| {
            let queue = self.inner.find::<MessageQueue>(self.id).map_err(|errno| turn.error(errno))?;
            self.inner.guard_found(self.thread, Call::Msgsnd, queue).section().grow(size)
        })
    }
}
