//! What the preload says on standard error, and when it says nothing.

use std::path::Path;
use unspin_e2e::{Outcome, Run, World, build, preload, scratch};

fn calls(world: World, set: impl FnOnce(Run) -> Run) -> Option<Outcome> {
    let program = build("calls")?;
    Some(set(Run::new(program.path(), world)).output())
}

/// The calls answer this.
fn assert_all_refused(outcome: &Outcome) {
    for row in [
        "semget",
        "semop",
        "semtimedop",
        "semctl",
        "by number",
        "SEM_UNDO",
        "semctl IPC_RMID",
        "msgctl",
        "shmdt",
    ] {
        let line = outcome.stdout.lines().find(|line| line.starts_with(&format!("{row}:")));
        assert!(line.is_some_and(|line| line.ends_with(" ENOSYS")), "{row} is {line:?} in\n{outcome}");
    }
}

fn assert_one_line(outcome: &Outcome, parts: &[&str]) {
    let mut lines = outcome.stderr.lines();
    let line = lines.next().unwrap_or_default();
    assert!(lines.next().is_none(), "more than one line: {outcome}");
    assert!(line.starts_with("unspin: "), "{outcome}");
    for part in parts {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
}

#[test]
fn an_unknown_engine_is_named() {
    let Some(outcome) = calls(World::Rcu, |run| run.env("UNSPIN_SYSV", "rcv")) else { return };
    assert_all_refused(&outcome);
    assert_one_line(&outcome, &["\"rcv\"", "kernel, global or rcu", "ENOSYS"]);
}

#[test]
fn an_arena_that_cannot_be_opened_is_named() {
    for world in World::ENGINES {
        let set = |run: Run| run.env("UNSPIN_ARENA", "/nonexistent/unspin/arena");
        let Some(outcome) = calls(world, set) else { return };
        assert_all_refused(&outcome);
        assert_one_line(&outcome, &["/nonexistent/unspin/arena", "ENOSYS"]);
    }
}

/// The kernel's lists would show objects that the program cannot reach. A kernel without System V IPC has no such
/// lists.
#[test]
fn a_program_that_is_refused_finds_no_lists() {
    let Some(program) = build("nolists") else { return };
    let refused = "open: ENOENT\nopen64: ENOENT\nopenat: ENOENT\nby number: ENOENT\nfopen: ENOENT\nfreopen: ENOENT\n\
                   another file: opened\nsemget: -1 ENOSYS\n";
    let parts = ["System V calls fail with ENOSYS, as on a kernel without System V IPC"];
    for world in World::ENGINES {
        let run = Run::new(program.path(), world).env("UNSPIN_ARENA", "/nonexistent/unspin/arena");
        let outcome = run.output();
        assert_eq!(outcome.stdout, refused, "{outcome}");
        assert_one_line(&outcome, &["arena /nonexistent/unspin/arena: No such file", parts[0]]);

        let directory = scratch();
        let path = directory.path().join("arena");
        let outcome = Run::new(program.path(), world).env("UNSPIN_ARENA", &path).args([&path]).output();
        assert_eq!(outcome.stdout, format!("before: 1\n{refused}"), "{outcome}");
        let named = format!("arena {}: was cut short or overwritten", path.display());
        assert_one_line(&outcome, &[&named, parts[0]]);
    }
    let outcome = Run::new(program.path(), World::Rcu).env("UNSPIN_SYSV", "rcv").output();
    assert_eq!(outcome.stdout, refused, "{outcome}");
    // Where nothing is refused they are there.
    for world in World::PRELOADED {
        let outcome = Run::new(program.path(), world).output();
        assert!(outcome.stdout.starts_with("open: opened\n"), "{world}: {outcome}");
    }
}

#[test]
fn a_program_without_semaphores_hears_nothing() {
    let set = |run: Run| run.env("UNSPIN_ARENA", "/nonexistent/unspin/arena").args(["none"]);
    let Some(outcome) = calls(World::Rcu, set) else { return };
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("no semaphore was used: 0\n", ""));
    assert!(outcome.status.success());
}

#[test]
fn a_file_that_is_no_arena_is_left_alone() {
    let directory = scratch();
    let path = directory.path().join("precious");
    let contents = "precious ".repeat(4096);
    std::fs::write(&path, &contents).unwrap();
    let Some(outcome) = calls(World::Rcu, |run| run.env("UNSPIN_ARENA", &path)) else { return };
    assert_all_refused(&outcome);
    assert_one_line(&outcome, &[path.to_str().unwrap(), "ENOSYS"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
}

#[test]
fn a_recording_that_is_missing_costs_nothing_but_a_line() {
    let directory = scratch();
    let path = directory.path().join("recording");
    for world in World::PRELOADED {
        let Some(outcome) = calls(world, |run| run.env("UNSPIN_RECORD", &path)) else { return };
        assert!(outcome.stdout.starts_with("semget: an id\nsemop: 0\n"), "{outcome}");
        let first = outcome.stderr.lines().next().unwrap_or_default();
        assert!(first.contains(path.to_str().unwrap()), "{outcome}");
    }
}

/// The recording's folder was removed with it: the user has left `unspin top`, and the program goes on. Its children
/// must not complain.
#[test]
fn a_recording_that_was_dropped_is_not_missed() {
    for world in World::PRELOADED {
        let set = |run: Run| run.env("UNSPIN_RECORD", "/nonexistent/unspin/recording");
        let Some(outcome) = calls(world, set) else { return };
        assert!(outcome.stdout.starts_with("semget: an id\nsemop: 0\n"), "{outcome}");
        assert!(!outcome.stderr.contains("recording"), "{outcome}");
    }
}

/// Any other symbol that the library exported would take precedence over the definitions of other libraries.
#[test]
fn exports_are_these_and_no_others() {
    let mut expected: Vec<&str> = "
        semget semop semtimedop semctl msgget msgsnd msgrcv msgctl shmget shmat shmdt shmctl syscall unshare setns
        open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 freopen freopen64
        setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups initgroups capset
        sigaction __sigaction signal bsd_signal ssignal sysv_signal __sysv_signal sigset sigignore
        siginterrupt sigvec prctl dlclose mlockall setrlimit setrlimit64 getrlimit getrlimit64 prlimit prlimit64
        pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock
        pthread_mutex_clocklock pthread_mutex_unlock pthread_mutex_consistent pthread_mutex_consistent_np
        __pthread_mutex_init __pthread_mutex_destroy __pthread_mutex_lock __pthread_mutex_trylock __pthread_mutex_unlock
        __pthread_rwlock_init __pthread_rwlock_destroy __pthread_rwlock_rdlock __pthread_rwlock_tryrdlock
        __pthread_rwlock_wrlock __pthread_rwlock_trywrlock __pthread_rwlock_unlock
        pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_tryrdlock
        pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock pthread_rwlock_wrlock pthread_rwlock_trywrlock
        pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock pthread_rwlock_unlock
        pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
        pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait
        pthread_cond_signal pthread_cond_broadcast pthread_setcanceltype
        pthread_barrier_init pthread_barrier_destroy pthread_barrier_wait
        poll __poll_chk ppoll __ppoll_chk select pselect epoll_wait epoll_pwait epoll_pwait2
        read __read_chk readv recv __recv_chk recvfrom recvmsg accept accept4
        pthread_join pthread_timedjoin_np pthread_clockjoin_np
        sem_init sem_destroy sem_wait sem_trywait sem_timedwait sem_clockwait sem_post
        mtx_init mtx_lock mtx_trylock mtx_timedlock mtx_unlock mtx_destroy cnd_wait cnd_timedwait cnd_signal cnd_broadcast
        cnd_destroy pthread_key_create __pthread_key_create tss_create
        clone __clone"
        .split_whitespace()
        .collect();
    expected.sort_unstable();
    let mut found = exports(preload());
    // The linker's marks around a section of this library, which no other library refers to.
    found.retain(|name| !name.starts_with("__start_unspin") && !name.starts_with("__stop_unspin"));
    assert_eq!(found, expected);
}

/// Names that a shared library defines for others: the sections of an ELF file, read by hand (`man 5 elf`).
fn exports(library: &Path) -> Vec<String> {
    let file = std::fs::read(library).unwrap();
    let number = |at: usize, size: usize| {
        file[at..at + size].iter().rev().fold(0usize, |value, &byte| value << 8 | byte as usize)
    };
    let sections = (0..number(0x3C, 2)).map(|i| number(0x28, 8) + i * number(0x3A, 2)).collect::<Vec<_>>();
    const SHT_DYNSYM: usize = 11;
    let dynsym =
        *sections.iter().find(|&&at| number(at + 4, 4) == SHT_DYNSYM).expect("a dynamic symbol table");
    let strings = number(sections[number(dynsym + 0x28, 4)] + 0x18, 8);
    let table = number(dynsym + 0x18, 8);
    let mut names: Vec<String> = (0..number(dynsym + 0x20, 8) / 24)
        .map(|i| table + i * 24)
        .filter(|&symbol| number(symbol + 6, 2) != 0 && number(symbol + 4, 1) >> 4 != 0)
        .map(|symbol| {
            let bytes = &file[strings + number(symbol, 4)..];
            String::from_utf8_lossy(bytes.split(|&b| b == 0).next().unwrap()).into_owned()
        })
        .collect();
    names.sort_unstable();
    names
}

/// Calls are refused, the program goes on, and one line says why.
#[test]
fn a_spoiled_arena_is_reported() {
    let Some(program) = build("spoiled") else { return };
    for world in World::ENGINES {
        for how in ["cut", "overwrite"] {
            let directory = scratch();
            let arena = directory.path().join("arena");
            let run = Run::new(program.path(), world).env("UNSPIN_ARENA", &arena);
            let outcome = run.args([arena.as_os_str(), how.as_ref()]).output();
            assert!(outcome.status.success(), "{world}, {how}: {outcome}");
            for row in [
                "semget: -1 ENOSYS",
                "GETVAL: -1 ENOSYS",
                "semop: refused",
                "semop: -1 ENOSYS",
                "shmget: -1 ENOSYS",
            ] {
                assert!(
                    outcome.stdout.lines().any(|line| line == row),
                    "{world}, {how}: no {row:?} in {outcome}"
                );
            }
            assert!(outcome.stdout.contains("asleep: -1 refused"), "{world}, {how}: {outcome}");
            assert!(outcome.stdout.contains("what is attached stays: 0\nand is the kernel's: "), "{outcome}");
            assert_one_line(&outcome, &["cut short or overwritten", "ENOSYS"]);
        }
    }
}
