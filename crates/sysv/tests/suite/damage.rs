//! Arenas that are cut short, overwritten or deleted while processes use them: calls fail with errors, no
//! process crashes, and no thread waits for ever.
//!
//! Damaged arenas are used by separate processes. An alarm ends those that do not end by themselves.

use crate::common::child;
use crate::common::noise::Noise;
use crate::common::pages::pages;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use unspin_sys::Errno;
use unspin_sys::ipc::{self, Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

const SECONDS: u32 = 600;

/// Size of the segments, which other segments do not have.
const SEGMENT: usize = 54_321;

/// Segments that a damaged arena does not name any more stay in the kernel until this is dropped.
struct Segments;

impl Drop for Segments {
    fn drop(&mut self) {
        let (highest, _) = ipc::shm_limits().unwrap();
        for (id, status) in (0..=highest).filter_map(|index| ipc::shm_stat_any(index).ok()) {
            if status.shm_segsz == SEGMENT as u64 {
                // Another test may be at the same.
                let _ = ipc::shm_remove(id);
            }
        }
    }
}

fn open(kind: Kind, path: &Path) -> Engine {
    Engine::open(kind, path, &Options::default(), None).unwrap()
}

/// A process that runs `f`.
struct Child(i32);

impl Child {
    fn run(f: impl FnOnce()) -> Child {
        // SAFETY: the child ends without running what belongs to its parent.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(SECONDS);
                child::end_with(|| {
                    f();
                    0
                });
            }
            Child(child)
        }
    }

    fn must_end_well(self, what: &str) {
        let mut status = 0;
        // SAFETY: a child of ours.
        assert_eq!(unsafe { libc::waitpid(self.0, &mut status, 0) }, self.0);
        assert_eq!(status, 0, "{what}: status {status:#x}");
    }
}

/// Some call, on some object, whose answer is ignored.
fn call(engine: &Engine, noise: &mut Noise, ids: &mut [i32; 8]) {
    let which = noise.below(8) as usize;
    let (id, sem) = (ids[which], noise.below(3) as i32);
    let op = |sem_num, sem_op| Sembuf { sem_num, sem_op, sem_flg: flag::IPC_NOWAIT as i16 };
    let undo = |sem_op| Sembuf { sem_num: 1, sem_op, sem_flg: (flag::IPC_NOWAIT | flag::SEM_UNDO) as i16 };
    // A message of type 1, and room for any answer.
    let mut space = [1u64; 64];
    let at = &raw mut space as usize;
    let timeout = [0i64, 500_000];
    // SAFETY: each address is that of a live array, which is large enough for every command.
    unsafe {
        match noise.below(20) {
            0..6 => drop(engine.semop_ops(id, &[op(sem as u16, noise.below(3) as i16 - 1)])),
            6 => drop(engine.semop_ops(id, &[op(0, 1), op(1, 2), op(2, 0)])),
            7 => drop(engine.semop_ops(id, &[undo(noise.below(3) as i16 - 1)])),
            8 => {
                let blocks = [Sembuf { sem_num: sem as u16, sem_op: -100, sem_flg: 0 }];
                let _ = engine.semtimedop(id, blocks.as_ptr() as usize, 1, timeout.as_ptr() as usize);
            }
            9 => drop(engine.semctl(id, sem, flag::GETVAL + noise.below(4) as i32 - 1, at)),
            10 => drop(engine.semctl(id, sem, flag::SETVAL, 3)),
            11 => drop(engine.semctl(id, 0, flag::GETALL, at)),
            12 => drop(engine.semctl(noise.below(70) as i32, 0, flag::SEM_STAT_ANY, at)),
            13 => ids[which] = engine.semget(which as i32 + 1, 3, flag::IPC_CREAT | 0o600).unwrap_or(id),
            14 => drop(engine.semctl(id, 0, flag::IPC_RMID, 0)),
            15 => drop(engine.proc_text(unspin_sysv::Class::Sem)),
            16 => {
                let queue = engine.msgget(which as i32 + 1, flag::IPC_CREAT | 0o600).unwrap_or(1);
                let _ = engine.msgsnd(queue, at, noise.below(400) as usize, flag::IPC_NOWAIT);
                let _ = engine.msgrcv(queue, at, 400, noise.below(3) as i64 - 1, flag::IPC_NOWAIT);
                if noise.below(4) == 0 {
                    let _ = engine.msgctl(queue, flag::IPC_RMID, 0);
                }
            }
            17 => {
                if let Ok(segment) = engine.shmget(which as i32 + 1, SEGMENT, flag::IPC_CREAT | 0o600) {
                    let _ = engine.shmctl(segment, flag::IPC_STAT, at);
                }
            }
            18 => drop(engine.recover_dead()),
            _ => drop(engine.semctl(0, 0, flag::SEM_INFO, at)),
        }
    }
}

fn calls(engine: &Engine, seed: u64, count: usize) {
    let (mut noise, mut ids) = (Noise(seed | 1), [0; 8]);
    for (key, id) in ids.iter_mut().enumerate() {
        *id = engine.semget(key as i32 + 1, 3, flag::IPC_CREAT | 0o600).unwrap_or(0);
    }
    for _ in 0..count {
        call(engine, &mut noise, &mut ids);
    }
}

/// The same, in an arena that may be refused.
fn newcomer(kind: Kind, path: &Path, seed: u64, count: usize) {
    if let Ok(engine) = Engine::open(kind, path, &Options::default(), None) {
        calls(&engine, seed, count);
    }
}

/// Length of the arena that is left, from nothing to nearly all.
fn lengths(path: &Path) -> impl Iterator<Item = u64> {
    let all = std::fs::metadata(path).unwrap().len();
    [0, 1, 4096, 65_536, 200_000, all / 8, all / 4, all / 3, all / 2, all - 4096].into_iter()
}

#[test]
fn cut_short() {
    let _segments = Segments;
    for kind in Kind::IN_ARENAS {
        for round in 0..10 {
            let dir = tempfile::tempdir_in("/dev/shm").unwrap();
            let path = dir.path().join("arena");
            Child::run(|| {
                let engine = open(kind, &path);
                let id = engine.semget(77, 3, flag::IPC_CREAT | 0o600).unwrap();
                let take = [Sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 }];
                let sleeper = std::thread::spawn(move || engine.semop_ops(id, &take));
                calls(&engine, round + 1, 300);
                // SAFETY: takes no address.
                while unsafe { engine.semctl(id, 0, flag::GETNCNT, 0) } == Ok(0) {
                    std::thread::yield_now();
                }
                let length = lengths(&path).nth(round as usize).unwrap();
                File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
                calls(&engine, round + 2, 2000);
                if length < 4096 {
                    assert!(engine.is_damaged());
                    assert_eq!(engine.semget(77, 3, 0), Err(Errno::ENOSYS));
                    assert_eq!(engine.semop_ops(id, &take), Err(Errno::ENOSYS));
                    assert!(sleeper.join().unwrap().is_err());
                }
            })
            .must_end_well(&format!("{kind}, round {round}"));
        }
    }
}

/// Overwrites one word in so many, but for the magic number, without which the rest would not be looked at.
fn scribble(path: &Path, noise: &mut Noise, one_in: u64) {
    // A newcomer may have taken it for that of a namespace that is gone, and removed it.
    let Ok(file) = File::options().read(true).write(true).open(path) else { return };
    pages(&file, |at, page| {
        for (word, here) in page.chunks_exact(8).zip((at..).step_by(8)).skip((at == 0) as usize) {
            if noise.below(one_in) == 0 {
                let new = match noise.below(4) {
                    0 => noise.next(),
                    1 => noise.next() >> noise.below(64),
                    2 => 0,
                    _ => u64::from_ne_bytes(word.try_into().unwrap()) ^ 1 << noise.below(64),
                };
                file.write_all_at(&new.to_ne_bytes(), here).unwrap();
            }
        }
    });
}

fn rounds() -> u64 {
    std::env::var("UNSPIN_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6)
}

#[test]
fn overwritten() {
    let _segments = Segments;
    let mut noise = Noise(std::env::var("UNSPIN_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5EED));
    for round in 0..rounds() {
        let kind = Kind::IN_ARENAS.into_iter().rev().cycle().nth(round as usize).expect("a cycle has no end");
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("arena");
        open(kind, &path);
        let seeds: [u64; 3] = core::array::from_fn(|_| noise.next());
        let workers = seeds.map(|seed| {
            let path = path.clone();
            Child::run(move || newcomer(kind, &path, seed, 4000))
        });
        std::thread::sleep(std::time::Duration::from_millis(noise.below(30)));
        for _ in 0..3 {
            scribble(&path, &mut noise, 1 << (2 * (round % 6)));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for (worker, seed) in workers.into_iter().zip(seeds) {
            worker.must_end_well(&format!("{kind}, round {round}, seed {seed}"));
        }
        // Newcomers to what is left.
        Child::run(|| newcomer(kind, &path, 1, 1000))
            .must_end_well(&format!("{kind}, round {round}, newcomer"));
    }
}

#[test]
fn deleted() {
    for kind in Kind::IN_ARENAS {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("arena");
        let old = open(kind, &path);
        let id = old.semget(7, 3, flag::IPC_CREAT | 0o600).unwrap();
        std::fs::remove_file(&path).unwrap();
        old.semop_ops(id, &[Sembuf { sem_num: 0, sem_op: 1, sem_flg: 0 }]).unwrap();
        let new = open(kind, &path);
        assert_eq!(new.semget(7, 3, 0), Err(Errno::ENOENT), "newcomers make another");
        assert_eq!(old.semget(7, 3, 0), Ok(id), "present users continue");
    }
}

/// Mounts a file system in memory of so many MiB at a folder, in a mount namespace of its own. `false` without the
/// right to.
fn mount_small(at: &Path, mebibytes: usize) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let at = std::ffi::CString::new(at.as_os_str().as_bytes()).unwrap();
    let options = std::ffi::CString::new(format!("size={mebibytes}m")).unwrap();
    // SAFETY: C strings; and a process of its own.
    unsafe {
        let (uid, gid) = (libc::getuid(), libc::getgid());
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) != 0 {
                return false;
            }
            let map = |file: &str, text: String| std::fs::write(format!("/proc/self/{file}"), text).is_ok();
            let mapped = map("setgroups", "deny".into())
                && map("uid_map", format!("0 {uid} 1"))
                && map("gid_map", format!("0 {gid} 1"));
            if !mapped {
                return false;
            }
        }
        let (none, tmpfs) = (core::ptr::null(), c"tmpfs".as_ptr());
        libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
            && libc::mount(tmpfs, at.as_ptr(), tmpfs, 0, options.as_ptr().cast()) == 0
    }
}

/// Writes until nothing fits any more.
fn fill_up(folder: &Path) {
    let file = File::create(folder.join("all the rest")).unwrap();
    let mut at = 0;
    while let Ok(written) = file.write_at(&[1; 4096], at) {
        at += written as u64;
    }
}

/// Exit code of a child that has no right to mount.
const NO_RIGHT: i32 = 77;

/// Runs `f` with a folder of so many MiB; `false` if such a folder cannot be had.
fn in_small_folder(mebibytes: usize, f: impl FnOnce(&Path)) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let child = Child::run(|| {
        if !mount_small(dir.path(), mebibytes) {
            // SAFETY: ends the child without running what belongs to its parent.
            unsafe { libc::_exit(NO_RIGHT) };
        }
        f(dir.path());
    });
    let mut status = 0;
    // SAFETY: a child of ours.
    assert_eq!(unsafe { libc::waitpid(child.0, &mut status, 0) }, child.0);
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == NO_RIGHT {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED full file systems: no right to mount one; run as root, or permit user namespaces"
        );
        return false;
    }
    assert_eq!(status, 0, "{mebibytes} MiB");
    true
}

/// Creates objects of every kind in an arena until that fails. The error must be one that means exhaustion.
fn use_up(engine: &Engine) {
    let full = |error| assert!(matches!(error, Errno::ENOMEM | Errno::ENOSPC | Errno::EAGAIN), "{error:?}");
    let until = |f: &dyn Fn() -> Result<(), Errno>| full((0..1 << 20).find_map(|_| f().err()).unwrap());
    let undo = |sem_op| [Sembuf { sem_num: 0, sem_op, sem_flg: flag::SEM_UNDO as i16 }];
    until(&|| engine.semget(flag::IPC_PRIVATE, 3000, 0o600).map(drop));
    until(&|| engine.semget(flag::IPC_PRIVATE, 1, 0o600).map(drop));
    until(&|| {
        let queue = engine.msgget(flag::IPC_PRIVATE, 0o600)?;
        (0..4).try_for_each(|_| engine.send(queue, 1, &[1; 4000], flag::IPC_NOWAIT))
    });
    // Adjustments of every set that there is.
    for (id, _) in engine.sets().unwrap() {
        let _ = engine.semop_ops(id, &undo(1)).inspect_err(|error| full(*error));
    }
    // Threads, each of which has a record.
    let engine = *engine;
    std::thread::scope(|scope| {
        for _ in 0..300 {
            scope.spawn(move || {
                let _ = engine.semget(flag::IPC_PRIVATE, 1, 0o600).inspect_err(|error| full(*error));
            });
        }
    });
}

/// No page is written before it is allocated. So a full file system causes an error, not a fault.
#[test]
fn full_file_system() {
    for kind in Kind::IN_ARENAS {
        let possible = in_small_folder(1, |folder| {
            let refused = Engine::open(kind, &folder.join("arena"), &Options::default(), None).unwrap_err();
            assert!(refused.to_string().contains("No space left on device"), "{refused}");
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "and nothing is left");
        });
        if !possible {
            return;
        }
        for filled_before in [false, true] {
            in_small_folder(8, |folder| {
                let engine = open(kind, &folder.join("arena"));
                let id = engine.semget(7, 3, flag::IPC_CREAT | 0o600).unwrap();
                let queue = engine.msgget(7, flag::IPC_CREAT | 0o600).unwrap();
                engine.send(queue, 1, b"before", 0).unwrap();
                if filled_before {
                    fill_up(folder);
                }
                use_up(&engine);
                fill_up(folder);
                // Existing objects remain usable.
                engine.semop_ops(id, &[Sembuf { sem_num: 0, sem_op: 1, sem_flg: 0 }]).unwrap();
                let mut text = [0; 10];
                assert_eq!(engine.receive(queue, &mut text, 0, 0), Ok((1, 6)));
                for (id, _) in engine.sets().unwrap() {
                    // SAFETY: takes no address.
                    unsafe { engine.semctl(id, 0, flag::IPC_RMID, 0) }.unwrap();
                }
                assert!(!engine.is_damaged());
            });
        }
    }
}

/// The file is deleted, and another made in its place, again and again, while threads use both.
#[test]
fn deleted_and_made_anew() {
    let _segments = Segments;
    for kind in Kind::IN_ARENAS {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("arena");
        open(kind, &path);
        let workers = [1u64, 2, 3].map(|seed| {
            let path = path.clone();
            Child::run(move || (0..20).for_each(|round| newcomer(kind, &path, seed * 100 + round, 200)))
        });
        for _ in 0..50 {
            // Now another process may create it.
            let _ = std::fs::remove_file(&path);
            open(kind, &path);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        for worker in workers {
            worker.must_end_well(&format!("{kind}"));
        }
        // Whatever happened to the earlier arenas, this one is undamaged.
        let engine = open(kind, &path);
        assert!(!engine.is_damaged() && engine.semget(flag::IPC_PRIVATE, 1, 0o600).is_ok());
    }
}
