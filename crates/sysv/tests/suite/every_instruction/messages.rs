//! Message queues: no message is lost or duplicated, and no thread sleeps for ever.
//!
//! Seen red: if recovery leaves a dead receiver the message that it was granted (`recover_dead`),
//! [`sigkill_in_msgrcv_loses_no_message`].

use crate::every_instruction::stepping::{
    End, engines, finish, follow, ignore, length, moments, start, step,
};
use std::thread::JoinHandle;
use std::time::Duration;
use unspin_sys::Errno;
use unspin_sys::ipc::{Msginfo, MsqidDs, flag};
use unspin_sysv::Engine;

const NOWAIT: i32 = flag::IPC_NOWAIT;

fn queue(engine: &Engine) -> i32 {
    engine.msgget(flag::IPC_PRIVATE, 0o600).unwrap()
}

fn remove(engine: &Engine, id: i32) -> Result<i32, Errno> {
    // SAFETY: IPC_RMID takes no address.
    unsafe { engine.msgctl(id, flag::IPC_RMID, 0) }
}

fn status(engine: &Engine, id: i32) -> MsqidDs {
    let mut status = MsqidDs::default();
    // SAFETY: the structure is a msqid_ds.
    unsafe { engine.msgctl(id, flag::IPC_STAT, &raw mut status as usize) }.unwrap();
    status
}

fn set_room(engine: &Engine, id: i32, bytes: u64) {
    let status = MsqidDs { msg_qbytes: bytes, ..status(engine, id) };
    // SAFETY: the structure is a msqid_ds.
    unsafe { engine.msgctl(id, flag::IPC_SET, &raw const status as usize) }.unwrap();
}

fn send(engine: &Engine, id: i32, kind: i64, length: usize) {
    engine.send(id, kind, &text(kind, length), NOWAIT).unwrap();
}

fn text(kind: i64, length: usize) -> Vec<u8> {
    (0..length).map(|i| (kind as usize * 31 + i) as u8).collect()
}

/// Receives one, and sees that it came whole.
fn receive(engine: &Engine, id: i32, kind: i64, flags: i32) -> Result<(i64, usize), Errno> {
    let mut room = vec![0; 8192];
    let (kind, length) = engine.receive(id, &mut room, kind, flags)?;
    assert_eq!(room[..length], text(kind, length), "a text that was not sent");
    Ok((kind, length))
}

/// Everything in the queue, which is as much as it says.
fn drain(engine: &Engine, id: i32) -> Vec<(i64, usize)> {
    let said = status(engine, id);
    let all: Vec<_> = core::iter::from_fn(|| receive(engine, id, 0, NOWAIT).ok()).collect();
    let bytes: usize = all.iter().map(|&(_, length)| length).sum();
    assert_eq!((said.msg_qnum, said.msg_cbytes), (all.len() as u64, bytes as u64), "{all:?}");
    let said = status(engine, id);
    assert_eq!((said.msg_qnum, said.msg_cbytes), (0, 0));
    all
}

/// Kills `operation` after each of its steps. If it sleeps in the end, the steps end there.
fn each_moment(engine: &Engine, operation: impl Fn(i32), before: impl Fn(i32), after: impl Fn(i32, usize)) {
    let set = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
    let total = {
        let id = queue(engine);
        before(id);
        let total = length(engine, set, &|| operation(id));
        eprintln!("{total} instructions");
        after(id, total);
        ignore(remove(engine, id));
        total
    };
    for steps in moments(total) {
        let id = queue(engine);
        before(id);
        step(engine, set, steps, &|| operation(id));
        after(id, steps);
        ignore(remove(engine, id));
    }
}

/// A thread of this process that is in the queue.
fn waiting<T: Send + 'static>(
    engine: &Engine,
    call: impl FnOnce(&Engine) -> T + Send + 'static,
) -> JoinHandle<T> {
    let engine = *engine;
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // SAFETY: gettid takes nothing.
        tell.send(unsafe { libc::gettid() }).unwrap();
        call(&engine)
    });
    let folder = format!("/proc/self/task/{}", told.recv().unwrap());
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}"));
    // On a busy machine a thread may also sleep for another lock of this program, as the allocator's. Those are private
    // futexes, and a waiter of an arena sleeps on a shared one.
    let shared_wait = format!("{} 0x", libc::SYS_futex);
    let is_shared_wait = |call: String| {
        call.starts_with(&shared_wait) && call.split(' ').nth(2) == Some(&format!("{:#x}", libc::FUTEX_WAIT))
    };
    let asleep = || {
        let stat = read("stat").unwrap_or_default();
        // Not all kernels tell the call.
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
            && read("syscall").map_or(true, is_shared_wait)
    };
    let mut seen = 0;
    while seen < 3 {
        seen = if asleep() { seen + 1 } else { 0 };
        std::thread::sleep(Duration::from_micros(300));
    }
    thread
}

#[test]
fn sigkill_in_msgsnd_sends_message_or_not() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(engine.send(id, 2, &text(2, 700), NOWAIT)),
            |id| send(engine, id, 1, 5),
            |id, steps| {
                send(engine, id, 3, 6);
                let all = drain(engine, id);
                assert!(
                    all == [(1, 5), (3, 6)] || all == [(1, 5), (2, 700), (3, 6)],
                    "{all:?} after {steps} steps"
                );
            },
        );
    });
}

#[test]
fn sigkill_in_msgrcv_receives_message_or_leaves_it() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(receive(engine, id, 2, NOWAIT)),
            |id| [1, 2, 3].into_iter().for_each(|kind| send(engine, id, kind, 40)),
            |id, steps| {
                send(engine, id, 4, 40);
                let all: Vec<_> = drain(engine, id).iter().map(|&(kind, _)| kind).collect();
                assert!(all == [1, 3, 4] || all == [1, 2, 3, 4], "{all:?} after {steps} steps");
            },
        );
    });
}

/// The sender dies. The receiver has the message, or still waits and gets the next one. A receiver whose buffer is too
/// small for the message still waits, or gets E2BIG.
#[test]
fn sigkill_of_sender_leaves_receiver_served_or_queued() {
    engines(|engine| {
        let waiters = std::sync::Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(engine.send(id, 2, &text(2, 300), NOWAIT)),
            |id| {
                let small = waiting(engine, move |engine| engine.receive(id, &mut [0; 10], 0, 0));
                let large = waiting(engine, move |engine| receive(engine, id, 0, 0));
                *waiters.lock().unwrap() = Some((small, large));
            },
            |id, steps| {
                let (small, large) = waiters.lock().unwrap().take().unwrap();
                // To the receivers that still wait: the first message has this length, the second that.
                send(engine, id, 3, 8);
                send(engine, id, 4, 9);
                let (small, large) = match (small.join().unwrap(), large) {
                    // It got the 3; the large one has the 2 or gets the 4.
                    (Ok(small), large) => (Ok(small), large.join().unwrap()),
                    (Err(errno), large) => (Err(errno), large.join().unwrap()),
                };
                let left = drain(engine, id);
                let fine = match (small, large) {
                    (Ok((3, 8)), Ok((2, 300))) => left == [(4, 9)],
                    (Ok((3, 8)), Ok((4, 9))) => left.is_empty(),
                    (Err(Errno::E2BIG), Ok((2, 300))) => left == [(3, 8), (4, 9)],
                    _ => false,
                };
                assert!(fine, "{small:?} {large:?} {left:?} after {steps} steps");
            },
        );
    });
}

/// A receiver dies on its way into the queue, or in it. Messages that are sent afterwards go to other receivers.
#[test]
fn sigkill_in_msgrcv_loses_no_message() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(receive(engine, id, 0, 0)),
            |_| {},
            |id, steps| {
                send(engine, id, 1, 100);
                send(engine, id, 2, 200);
                assert_eq!(drain(engine, id), [(1, 100), (2, 200)], "after {steps} steps");
            },
        );
    });
}

/// A receiver gives up its place to another that waits behind it.
#[test]
fn dead_receiver_does_not_block_other_receivers() {
    engines(|engine| {
        let next = std::sync::Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(receive(engine, id, 0, 0)),
            |_| {},
            |id, steps| {
                *next.lock().unwrap() = Some(waiting(engine, move |engine| receive(engine, id, 0, 0)));
                send(engine, id, 1, 100);
                let next = next.lock().unwrap().take().unwrap().join().unwrap();
                assert_eq!(next, Ok((1, 100)), "after {steps} steps");
                assert_eq!(drain(engine, id), [], "after {steps} steps");
            },
        );
    });
}

/// A message that goes to a receiver that died asleep is passed on to the receiver that has waited longest, even if the
/// sender dies meanwhile.
#[test]
fn message_of_dead_receiver_goes_to_next_receiver() {
    engines(|engine| {
        let waiters = std::sync::Mutex::new(None);
        let set = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let was_sent = std::cell::Cell::new(true);
        each_moment(
            engine,
            |id| ignore(engine.send(id, 2, &text(2, 300), NOWAIT)),
            |id| {
                let dead = start(engine, set, &|| ignore(receive(engine, id, 0, 0)));
                assert!(matches!(follow(dead, 1 << 20), End::Asleep(_)), "there is no message");
                let next = waiting(engine, move |engine| receive(engine, id, 0, 0));
                let last = waiting(engine, move |engine| receive(engine, id, -9, 0));
                finish(dead, &End::Killed);
                *waiters.lock().unwrap() = Some((next, last));
            },
            |id, steps| {
                // The first time to the end.
                let was_sent = was_sent.replace(false);
                engine.recover_dead().unwrap();
                assert!(!was_sent || status(engine, id).msg_lrpid != 0);
                send(engine, id, 3, 8);
                send(engine, id, 4, 9);
                let (next, last) = waiters.lock().unwrap().take().unwrap();
                let received = (next.join().unwrap(), last.join().unwrap());
                let left = drain(engine, id);
                let fine = match received {
                    (Ok((2, 300)), Ok((3, 8))) => left == [(4, 9)],
                    (Ok((3, 8)), Ok((4, 9))) => left.is_empty() && !was_sent,
                    _ => false,
                };
                assert!(fine, "{received:?} {left:?} after {steps} steps");
            },
        );
    });
}

/// A sender dies on its way into the queue, or in it: nothing of its message is sent, and the sender behind it
/// proceeds.
#[test]
fn sigkill_in_blocked_msgsnd_sends_nothing() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(engine.send(id, 2, &text(2, 90), 0)),
            |id| {
                set_room(engine, id, 100);
                send(engine, id, 1, 100);
            },
            |id, steps| {
                let next = waiting(engine, move |engine| engine.send(id, 3, &text(3, 80), 0));
                assert_eq!(receive(engine, id, 0, NOWAIT), Ok((1, 100)), "after {steps} steps");
                assert_eq!(next.join().unwrap(), Ok(()), "after {steps} steps");
                assert_eq!(drain(engine, id), [(3, 80)], "after {steps} steps");
            },
        );
    });
}

/// The receiver that makes room dies: the sender that waits for room is woken, or detects it.
#[test]
fn dead_receiver_frees_its_queue_space() {
    engines(|engine| {
        let next = std::sync::Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(receive(engine, id, 1, NOWAIT)),
            |id| {
                set_room(engine, id, 100);
                send(engine, id, 1, 100);
                *next.lock().unwrap() =
                    Some(waiting(engine, move |engine| engine.send(id, 3, &text(3, 80), 0)));
            },
            |id, steps| {
                ignore(receive(engine, id, 1, NOWAIT));
                let next = next.lock().unwrap().take().unwrap();
                assert_eq!(next.join().unwrap(), Ok(()), "after {steps} steps");
                assert_eq!(drain(engine, id), [(3, 80)], "after {steps} steps");
            },
        );
    });
}

/// The process that removes the queue dies. Either the queue exists and works, or it is gone and its waiter has been
/// told. Then nothing of it stays in the arena.
#[test]
fn sigkill_in_msgctl_rmid_removes_queue_or_not() {
    engines(|engine| {
        let waiter = std::sync::Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(remove(engine, id)),
            |id| {
                [10, 5_000, 300].into_iter().for_each(|length| send(engine, id, 1, length));
                *waiter.lock().unwrap() = Some(waiting(engine, move |engine| receive(engine, id, 2, 0)));
            },
            |id, steps| {
                engine.recover_dead().unwrap();
                let waiter = waiter.lock().unwrap().take().unwrap();
                match engine.send(id, 2, &text(2, 7), NOWAIT) {
                    Ok(()) => {
                        assert_eq!(waiter.join().unwrap(), Ok((2, 7)), "after {steps} steps");
                        assert_eq!(drain(engine, id), [(1, 10), (1, 5_000), (1, 300)]);
                        remove(engine, id).unwrap();
                    }
                    Err(errno) => {
                        // EIDRM of a call that finds the removal begun, and completes it.
                        let is_gone = matches!(errno, Errno::EINVAL | Errno::EIDRM);
                        assert!(is_gone, "{errno} after {steps} steps");
                        assert_eq!(waiter.join().unwrap(), Err(Errno::EIDRM), "after {steps} steps");
                    }
                }
                let mut info = Msginfo::default();
                // SAFETY: the structure is a msginfo.
                unsafe { engine.msgctl(0, flag::MSG_INFO, &raw mut info as usize) }.unwrap();
                assert_eq!((info.msgpool, info.msgmap, info.msgtql), (0, 0, 0), "after {steps} steps");
            },
        );
    });
}
