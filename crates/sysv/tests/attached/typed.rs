//! The Rust interface: every engine returns the same results as the kernel.

use core::time::Duration;
use std::io::Write;
use std::sync::atomic::Ordering::SeqCst;
use unspin_sys::Errno;
use unspin_sysv::typed::{Message, MessageQueue, Segment, SemOp, SemSet, Which};
use unspin_sysv::{Engine, Kind, Options};

/// A range of keys that no other test uses at the same time.
fn key(n: i32) -> i32 {
    0x7F00_0000 | (std::process::id() as i32 & 0xFFFF) << 8 | n
}

fn on_every_engine(test: impl Fn(&Engine)) {
    for kind in Kind::ALL {
        let dir = tempfile::tempdir().unwrap();
        test(&Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap());
    }
}

#[test]
fn sets_are_opened_and_created_as_files_are() {
    on_every_engine(|engine| {
        let key = key(1);
        assert_eq!(SemSet::open(engine, key).unwrap_err(), Errno::ENOENT);
        assert_eq!(SemSet::create(engine, key, usize::MAX, 0o600).unwrap_err(), Errno::EINVAL);
        let set = SemSet::create_new(engine, key, 3, 0o640).unwrap();
        assert_eq!(SemSet::create_new(engine, key, 3, 0o600).unwrap_err(), Errno::EEXIST);
        assert_eq!(SemSet::create(engine, key, 3, 0o600).unwrap().id(), set.id());
        assert_eq!(SemSet::create(engine, key, 4, 0o600).unwrap_err(), Errno::EINVAL);
        assert_eq!(SemSet::open(engine, key).unwrap().id(), set.id());
        let mut status = SemSet::from_id(engine, set.id()).status().unwrap();
        assert_eq!((status.sem_nsems, status.sem_perm.mode), (3, 0o640));
        status.sem_perm.mode = 0o600;
        set.set_status(&status).unwrap();
        assert_eq!(set.status().unwrap().sem_perm.mode, 0o600);
        set.remove().unwrap();
        assert_eq!(set.remove(), Err(Errno::EINVAL));
    });
}

#[test]
fn typed_values_and_operations() {
    on_every_engine(|engine| {
        let set = SemSet::private(engine, 3, 0o600).unwrap();
        assert_eq!(set.set_values(&[1, 2]), Err(Errno::EINVAL));
        assert_eq!(set.set_values(&[1, 2, 3, 4]), Err(Errno::EINVAL));
        assert_eq!(set.set_values(&[1, 2, 32_768]), Err(Errno::ERANGE));
        assert_eq!(set.values(), Ok(vec![0; 3]));
        set.set_values(&[1, 2, 3]).unwrap();
        assert_eq!(set.set_value(1, 32_768), Err(Errno::ERANGE));
        assert_eq!(set.set_value(3, 1), Err(Errno::EINVAL));
        set.set_value(1, 9).unwrap();
        set.operate(&[SemOp::take(1, 4), SemOp::post(0, 1), SemOp::take(2, 3), SemOp::wait_for_zero(2)])
            .unwrap();
        assert_eq!(set.values(), Ok(vec![2, 5, 0]));
        assert_eq!((set.value(1), set.value(3)), (Ok(5), Err(Errno::EINVAL)));
        assert_eq!(set.last_pid(2), Ok(std::process::id() as i32));
        assert_eq!(set.operate(&[SemOp::post(0, 1), SemOp::take(2, 1).nowait()]), Err(Errno::EAGAIN));
        assert_eq!(set.operate(&[SemOp::post(0, 32_767)]), Err(Errno::ERANGE));
        assert_eq!(set.operate(&[SemOp::post(3, 1)]), Err(Errno::EFBIG));
        assert_eq!(set.operate(&[]), Err(Errno::EINVAL));
        assert_eq!(set.operate_within(&[SemOp::take(2, 1)], Duration::from_millis(1)), Err(Errno::EAGAIN));
        assert_eq!(set.operate_within(&[SemOp::take(1, 5)], Duration::MAX), Ok(()));
        assert_eq!(set.values(), Ok(vec![2, 0, 0]));
        set.remove().unwrap();
        assert_eq!((set.values(), set.set_values(&[1, 2, 3])), (Err(Errno::EINVAL), Err(Errno::EINVAL)));
    });
}

#[test]
fn typed_waiters_are_counted_and_served() {
    on_every_engine(|engine| {
        let set = SemSet::private(engine, 2, 0o600).unwrap();
        set.set_value(1, 1).unwrap();
        let taker = std::thread::spawn(move || set.operate(&[SemOp::take(0, 2)]));
        let zero = std::thread::spawn(move || set.operate(&[SemOp::wait_for_zero(1)]));
        while (set.takers(0), set.zero_waiters(1)) != (Ok(1), Ok(1)) {
            std::thread::yield_now();
        }
        assert_eq!((set.takers(1), set.zero_waiters(0)), (Ok(0), Ok(0)));
        set.operate(&[SemOp::post(0, 2), SemOp::take(1, 1)]).unwrap();
        assert_eq!((taker.join().unwrap(), zero.join().unwrap()), (Ok(()), Ok(())));
        let sleeper = std::thread::spawn(move || set.operate(&[SemOp::take(0, 1)]));
        while set.takers(0) != Ok(1) {
            std::thread::yield_now();
        }
        set.remove().unwrap();
        assert_eq!(sleeper.join().unwrap(), Err(Errno::EIDRM));
    });
}

#[test]
fn queues_are_opened_and_created_as_files_are() {
    on_every_engine(|engine| {
        let key = key(2);
        assert_eq!(MessageQueue::open(engine, key).unwrap_err(), Errno::ENOENT);
        let queue = MessageQueue::create_new(engine, key, 0o640).unwrap();
        assert_eq!(MessageQueue::create_new(engine, key, 0o600).unwrap_err(), Errno::EEXIST);
        assert_eq!(MessageQueue::create(engine, key, 0o600).unwrap().id(), queue.id());
        assert_eq!(MessageQueue::open(engine, key).unwrap().id(), queue.id());
        let mut status = MessageQueue::from_id(engine, queue.id()).status().unwrap();
        assert_eq!((status.msg_perm.mode, status.msg_qnum), (0o640, 0));
        status.msg_qbytes = 10;
        queue.set_status(&status).unwrap();
        queue.send(&Message::new(1, &[0; 10])).unwrap();
        assert_eq!(queue.try_send(&Message::new(1, b"x")), Err(Errno::EAGAIN));
        queue.remove().unwrap();
        assert_eq!(queue.remove(), Err(Errno::EINVAL));
    });
}

#[test]
fn msgrcv_selects_messages_by_type() {
    on_every_engine(|engine| {
        let queue = MessageQueue::private(engine, 0o600).unwrap();
        let mut message = Message::with_capacity(16);
        assert_eq!(queue.send(&Message::new(0, b"no type")), Err(Errno::EINVAL));
        for (kind, text) in [(5, "a"), (3, "b"), (4, "c"), (3, "d"), (9, "e")] {
            queue.send(&Message::new(kind, text.as_bytes())).unwrap();
        }
        let mut next = |which| {
            queue.try_receive(which, &mut message)?;
            Ok::<_, Errno>((message.mtype(), message.text().to_vec()))
        };
        assert_eq!(next(Which::UpTo(4)), Ok((3, b"b".to_vec())));
        assert_eq!(next(Which::Kind(4)), Ok((4, b"c".to_vec())));
        assert_eq!(next(Which::Except(5)), Ok((3, b"d".to_vec())));
        assert_eq!(next(Which::Kind(4)), Err(Errno::ENOMSG));
        for senseless in [Which::Kind(0), Which::Except(-5), Which::UpTo(i64::MIN)] {
            assert_eq!(next(senseless), Err(Errno::EINVAL));
        }
        assert_eq!(next(Which::First), Ok((5, b"a".to_vec())));
        assert_eq!(next(Which::First), Ok((9, b"e".to_vec())));
        queue.remove().unwrap();
    });
}

#[test]
fn msgrcv_of_too_long_message_fails_or_truncates() {
    on_every_engine(|engine| {
        let queue = MessageQueue::private(engine, 0o600).unwrap();
        queue.send(&Message::new(1, b"a text of 21 bytes...")).unwrap();
        let mut message = Message::with_capacity(8);
        assert_eq!(queue.receive(Which::First, &mut message), Err(Errno::E2BIG));
        assert_eq!(queue.status().unwrap().msg_qnum, 1);
        match queue.peek(0, &mut Message::with_capacity(32)) {
            Err(Errno::ENOSYS) => {
                let _ = writeln!(std::io::stderr(), "SKIPPED peek: this kernel was built without MSG_COPY");
            }
            peeked => assert_eq!(peeked, Ok(())),
        }
        assert!(queue.peek(1, &mut message).is_err());
        queue.receive_beginning(Which::First, &mut message).unwrap();
        assert_eq!((message.mtype(), message.text()), (1, &b"a text o"[..]));
        queue.remove().unwrap();
    });
}

#[test]
fn receiver_blocks_until_message_arrives() {
    on_every_engine(|engine| {
        let queue = MessageQueue::private(engine, 0o600).unwrap();
        let receiver = std::thread::spawn(move || {
            let mut message = Message::with_capacity(64);
            let mut sum = 0;
            for _ in 0..100 {
                queue.receive(Which::Kind(2), &mut message).unwrap();
                sum += u64::from(message.text()[0]);
            }
            (sum, queue.receive(Which::Kind(2), &mut message))
        });
        for n in 0..100 {
            queue.send(&Message::new(2, &[n])).unwrap();
        }
        while queue.status().unwrap().msg_qnum > 0 {
            std::thread::yield_now();
        }
        queue.remove().unwrap();
        let (sum, end) = receiver.join().unwrap();
        assert_eq!(sum, 4950);
        // It slept, or came when the queue was gone.
        assert!(matches!(end, Err(Errno::EIDRM | Errno::EINVAL)), "{end:?}");
    });
}

#[test]
fn segments_are_memory() {
    on_every_engine(|engine| {
        let key = key(3);
        assert_eq!(Segment::open(engine, key).unwrap_err(), Errno::ENOENT);
        let segment = Segment::create_new(engine, key, 5000, 0o600).unwrap();
        assert_eq!(Segment::create_new(engine, key, 1, 0o600).unwrap_err(), Errno::EEXIST);
        assert_eq!(Segment::create(engine, key, 6000, 0o600).unwrap_err(), Errno::EINVAL);
        assert_eq!(Segment::open(engine, key).unwrap().id(), segment.id());
        let (one, other) = (segment.attach().unwrap(), segment.attach_read_only().unwrap());
        assert_eq!((one.len(), one.as_atomics().len(), other.len()), (5000, 625, 5000));
        one.as_atomics()[624].store(u64::MAX, SeqCst);
        assert_eq!((other.load(0), other.load(624), other.load(625)), (Some(0), Some(u64::MAX), None));
        // SAFETY: the last byte of 5000.
        assert_eq!(unsafe { other.as_ptr().add(4999).read_volatile() }, 0xFF);
        assert_eq!(segment.status().unwrap().shm_nattch, 2);
        drop(one);
        assert_eq!(segment.status().unwrap().shm_nattch, 1);
        segment.remove().unwrap();
        assert_eq!(Segment::open(engine, key).unwrap_err(), Errno::ENOENT);
        assert_eq!(other.load(624), Some(u64::MAX));
        // As on Linux: the id is good as long as a process has the segment attached.
        let late = segment.attach().unwrap();
        assert_eq!((late.len(), late.as_atomics()[624].load(SeqCst)), (5000, u64::MAX));
        drop((other, late));
        assert_eq!(segment.attach().unwrap_err(), Errno::EINVAL);
    });
}

#[test]
#[should_panic(expected = "a post adds")]
fn post_never_waits_for_zero() {
    let _ = SemOp::post(0, 0);
}
