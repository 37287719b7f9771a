//! Messages of System V: to oneself, and to another process and back.

use super::calls::expect;
use super::own_sets::{allowed_cpus, bind_to};
use super::timing::{Effort, per_call};
use clap::ValueEnum;
use std::ffi::{c_int, c_long, c_void};
use std::io::Error;
use unspin_sys::child::{self, End};

/// Where two processes run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Each on a CPU of its own
    TwoCpus,
    /// Both on one CPU
    OneCpu,
}

/// Bytes of a message that goes to and fro.
const PING_BYTES: usize = 64;
const PING: c_long = 1;
const PONG: c_long = 2;

/// Nanoseconds of msgsnd and msgrcv.
pub fn pair(bytes: usize, effort: &Effort) -> Result<f64, String> {
    let queue = Queue::private()?;
    let mut message = Message::new(PING, bytes);
    Ok(per_call(effort, || {
        queue.send(&message);
        expect(queue.receive(&mut message, PING), bytes as c_int);
    }))
}

/// Microseconds from a message to the answer of another process.
pub fn ping_pong(placement: Placement, effort: &Effort) -> Result<f64, String> {
    let cpus = allowed_cpus();
    let (here, there) = match (placement, &cpus[..]) {
        (Placement::TwoCpus, &[here, there, ..]) => (here, there),
        (Placement::OneCpu, &[here, ..]) => (here, here),
        _ => return Err(format!("there are only {} CPUs", cpus.len())),
    };
    let queue = Queue::private()?;
    let answering = || match bind_to(there) {
        Ok(()) => {
            answer(&queue);
            0
        }
        Err(text) => {
            eprintln!("unspin-bench: {text}");
            1
        }
    };
    child::fork(answering).map_err(|e| format!("fork: {e}"))?;
    bind_to(here)?;
    let mut message = Message::new(PING, PING_BYTES);
    let ns = per_call(effort, || {
        message.set_kind(PING);
        queue.send(&message);
        expect(queue.receive(&mut message, PONG), PING_BYTES as c_int);
    });
    // Its removal ends the other.
    drop(queue);
    match child::wait_any().map_err(|e| format!("wait: {e}"))?.end {
        End::Exited(0) => Ok(ns / 1e3),
        end => Err(format!("the process that answers: {end:?}")),
    }
}

/// Sends back what it gets, until the queue is gone.
fn answer(queue: &Queue) {
    let mut message = Message::new(PONG, PING_BYTES);
    while queue.receive(&mut message, PING) != -1 {
        message.set_kind(PONG);
        queue.send(&message);
    }
    let why = Error::last_os_error().raw_os_error();
    assert!(matches!(why, Some(libc::EIDRM | libc::EINVAL)), "msgrcv: {}", Error::last_os_error());
}

/// `struct msgbuf`: a type, and the text behind it.
struct Message {
    words: Vec<c_long>,
    bytes: usize,
}

impl Message {
    fn new(kind: c_long, bytes: usize) -> Message {
        let mut words = vec![0; 1 + bytes.div_ceil(size_of::<c_long>())];
        words[0] = kind;
        Message { words, bytes }
    }

    fn set_kind(&mut self, kind: c_long) {
        self.words[0] = kind;
    }
}

/// A queue without a key, removed when dropped.
struct Queue {
    id: c_int,
}

impl Queue {
    fn private() -> Result<Queue, String> {
        // SAFETY: no pointers.
        match unsafe { libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o600) } {
            -1 => Err(format!("msgget: {}", Error::last_os_error())),
            id => Ok(Queue { id }),
        }
    }

    #[inline(always)]
    fn send(&self, message: &Message) {
        let address = message.words.as_ptr().cast::<c_void>();
        // SAFETY: a type and so many bytes of text.
        expect(unsafe { libc::msgsnd(self.id, address, message.bytes, 0) }, 0);
    }

    /// The bytes of text, or -1.
    #[inline(always)]
    fn receive(&self, message: &mut Message, kind: c_long) -> c_int {
        let address = message.words.as_mut_ptr().cast::<c_void>();
        // SAFETY: room for a type and so many bytes of text.
        unsafe { libc::msgrcv(self.id, address, message.bytes, kind, 0) as c_int }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID reads no structure.
        unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
