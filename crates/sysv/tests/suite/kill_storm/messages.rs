//! Message queues: no message is received twice or in pieces, and each death loses one message at most.
//!
//! Seen red: without the store that ends a message (`Section::receive`), which then comes again after the next death.

use super::{Noise, WORKERS, check_places, kill_at_random, kills, spawn};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use unspin_sys::Errno;
use unspin_sys::ipc::{Msginfo, MsqidDs, flag};
use unspin_sysv::{Engine, Kind, Options};

/// Messages at most; each has a number below this.
const MOST: usize = 1 << 28;
const QUEUES: usize = 2;

/// The state of all messages, shared by all processes.
struct Ledger {
    next: AtomicUsize,
    sent: Numbers,
    received: Numbers,
}

/// A set of numbers below [`MOST`]: a bit for each.
struct Numbers([AtomicU8; MOST / 8]);

impl Numbers {
    /// Adds a number; whether it was there before.
    fn add(&self, number: usize) -> bool {
        let bit = 1 << (number % 8);
        self.0[number / 8].fetch_or(bit, Relaxed) & bit != 0
    }

    /// How many are in this one, and not in the other.
    fn count_without(&self, other: &Numbers) -> usize {
        let bits = self.0.iter().zip(&other.0).map(|(here, there)| here.load(Relaxed) & !there.load(Relaxed));
        bits.map(|bits| bits.count_ones() as usize).sum()
    }
}

impl Ledger {
    fn new() -> &'static Ledger {
        let (length, access) = (size_of::<Ledger>(), libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory, zeroed, of atomics, that is never unmapped.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            &*at.cast()
        }
    }
}

/// The text begins with the number and goes on with what follows from it; lengths differ widely.
fn text(number: usize, room: &mut [u8; 8192]) -> &[u8] {
    let length = 8 + match number % 16 {
        0 => 8_000,
        1..=3 => 600,
        n => n * 7,
    };
    room[..8].copy_from_slice(&number.to_ne_bytes());
    room[8..length].iter_mut().enumerate().for_each(|(i, byte)| *byte = (number + i) as u8);
    &room[..length]
}

fn send(engine: &Engine, ledger: &Ledger, id: i32, flags: i32) {
    let number = ledger.next.fetch_add(1, Relaxed);
    if number >= MOST {
        eprintln!("there are no more numbers: make fewer kills, or more numbers");
        std::process::abort();
    }
    let mut room = [0; 8192];
    if engine.send(id, 1 + number as i64 % 3, text(number, &mut room), flags).is_ok() {
        ledger.sent.add(number);
    }
}

/// Aborts if what is received is not a message, or one that came before: the parent finds out by the exit status.
fn receive(engine: &Engine, ledger: &Ledger, id: i32, kind: i64, flags: i32) -> Result<(), Errno> {
    let mut room = [0; 8192];
    let (_, length) = engine.receive(id, &mut room, kind, flags)?;
    let number = usize::from_ne_bytes(room[..8].try_into().expect("eight bytes"));
    let whole = number < MOST && room[..length] == *text(number, &mut [0; 8192]);
    if !whole || ledger.received.add(number) {
        std::process::abort();
    }
    Ok(())
}

fn work(engine: &Engine, ledger: &Ledger, ids: [i32; QUEUES], seed: u64) -> ! {
    let mut random = Noise(seed);
    loop {
        let id = ids[random.below(QUEUES as u64) as usize];
        match random.below(16) {
            // Few operations may sleep: a worker that sleeps with no thread left to wake it does no more work.
            0 => send(engine, ledger, id, 0),
            1 => drop(receive(engine, ledger, id, 0, 0)),
            2..=6 => send(engine, ledger, id, flag::IPC_NOWAIT),
            7 => drop(churn(engine)),
            8 => drop(set_room(engine, id, 10_000 + random.below(20_000))),
            n => drop(receive(engine, ledger, id, n as i64 % 4 - 1, flag::IPC_NOWAIT)),
        }
    }
}

/// A queue is created and removed with its messages.
fn churn(engine: &Engine) -> Result<i32, Errno> {
    let id = engine.msgget(flag::IPC_PRIVATE, 0o600)?;
    for length in [0, 50, 5_000] {
        let _ = engine.send(id, 1, &vec![7; length], flag::IPC_NOWAIT);
    }
    // SAFETY: IPC_RMID takes no address.
    unsafe { engine.msgctl(id, flag::IPC_RMID, 0) }
}

fn status(engine: &Engine, id: i32) -> MsqidDs {
    let mut status = MsqidDs::default();
    // SAFETY: the structure is a msqid_ds.
    unsafe { engine.msgctl(id, flag::IPC_STAT, &raw mut status as usize) }.unwrap();
    status
}

fn set_room(engine: &Engine, id: i32, bytes: u64) -> Result<i32, Errno> {
    let status = MsqidDs { msg_qbytes: bytes.min(16_384), ..status(engine, id) };
    // SAFETY: the structure is a msqid_ds.
    unsafe { engine.msgctl(id, flag::IPC_SET, &raw const status as usize) }
}

fn storm(kind: Kind) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    let ids = [1, 2].map(|key| engine.msgget(key, flag::IPC_CREAT | 0o600).unwrap());
    let ledger = Ledger::new();
    kill_at_random(|seed| spawn(|| work(&engine, ledger, ids, seed)));
    for id in ids {
        check_queue(&engine, ledger, id);
    }
    let lost = ledger.sent.count_without(&ledger.received);
    let sent = ledger.next.load(Relaxed);
    eprintln!("{kind}: {sent} messages, {lost} taken by {} deaths", kills() + WORKERS);
    assert!(lost <= kills() + WORKERS, "{lost} messages lost");
    check_places(&engine);
    check_memory(&engine, ids);
}

/// The counts of the queue match its contents, and every waiter is served.
fn check_queue(engine: &Engine, ledger: &'static Ledger, id: i32) {
    // First, messages granted to dead receivers are returned.
    engine.recover_dead().unwrap();
    let mut count = status(engine, id).msg_qnum;
    while receive(engine, ledger, id, 0, flag::IPC_NOWAIT).is_ok() {
        count -= 1;
    }
    let now = status(engine, id);
    assert_eq!((count, now.msg_qnum, now.msg_cbytes), (0, 0, 0));
    set_room(engine, id, 16_384).unwrap();
    let waiter = {
        let engine = *engine;
        std::thread::spawn(move || receive(&engine, ledger, id, 0, 0))
    };
    send(engine, ledger, id, flag::IPC_NOWAIT);
    assert_eq!(waiter.join().unwrap(), Ok(()));
}

/// Queues that workers did not live to remove go; afterwards as much fits into the arena as before.
fn check_memory(engine: &Engine, ids: [i32; QUEUES]) {
    for index in 0..32_768 {
        let mut status = MsqidDs::default();
        // SAFETY: the structure is a msqid_ds; IPC_RMID takes no address.
        unsafe {
            if let Ok(id) = engine.msgctl(index, flag::MSG_STAT, &raw mut status as usize)
                && !ids.contains(&id)
            {
                engine.msgctl(id, flag::IPC_RMID, 0).unwrap();
            }
        }
    }
    let mut info = Msginfo::default();
    // SAFETY: the structure is a msginfo.
    unsafe { engine.msgctl(0, flag::MSG_INFO, &raw mut info as usize) }.unwrap();
    assert_eq!((info.msgpool, info.msgmap, info.msgtql), (QUEUES as i32, 0, 0));
}

#[test]
fn engines_survive_a_kill_storm() {
    Kind::IN_ARENAS.into_iter().for_each(storm);
}
