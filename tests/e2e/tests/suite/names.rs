//! Names that the preload library shares with the program: those that it defines, and those that it uses.

use std::path::Path;
use unspin_e2e::{
    Recorder, Run, WaitMode, World, assert_same, build_library, compile, conforms, preload, scratch,
    survives_polling, survives_replacement, survives_the_meter,
};
use unspin_locks::LockKind;
use unspin_wire::Level;

/// A program has functions of its own under names of libc, for other purposes. The preload library calls none of them.
#[test]
fn own_functions_under_names_of_libc_are_not_called() {
    let program = "pthread/own_names";
    conforms(program, &[]);
    survives_the_meter(program, &[]);
    survives_replacement(program, &[], &[LockKind::Adaptive, LockKind::Pi]);
    survives_polling(program, &[]);
}

/// A library with which the program is linked may define functions under names of libc, too.
#[test]
fn own_functions_of_a_library_under_names_of_libc_are_not_called() {
    let Some(library) = build_library("pthread/own_library") else { return };
    let folder = scratch();
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/pthread/uses_own_library.c");
    let at = library.path().parent().expect("it is in a folder").display().to_string();
    let options = ["-O1", "-pthread", &format!("-L{at}"), "-lown_library", &format!("-Wl,-rpath,{at}")];
    if !compile(&source, &options, &program) {
        return;
    }
    let run = |world| Run::new(&program, world);
    let bare = run(World::Bare).output();
    assert!(bare.stdout.ends_with("called: none\n"), "{bare}");
    let recorder = Recorder::create(Level::Full);
    for (name, run) in [
        ("the control", run(World::Kernel)),
        ("an engine", run(World::RCU)),
        ("the meter", run(World::Kernel).record(&recorder)),
        ("waits that poll", run(World::Kernel).waits(WaitMode::Forced)),
        ("replaced mutexes", run(World::Kernel).mutexes("adaptive\tall")),
    ] {
        assert_same("uses_own_library", name, &bare, &run.output());
    }
}

/// Another object may define each name that the library leaves undefined. `crates/preload/src/private.rs` has the reason
/// why these may stay.
#[test]
fn undefined_names_are_reserved_or_of_the_allocator() {
    let allocator = ["calloc", "free", "malloc", "posix_memalign", "realloc"];
    let mut found = names(preload(), Side::Undefined);
    assert!(found.iter().any(|name| name == "__environ"), "the list is read: {found:?}");
    found.retain(|name| !name.starts_with('_') && !allocator.contains(&name.as_str()));
    assert!(found.is_empty(), "make them private in crates/preload/src/private.rs: {found:?}");
}

/// Any other symbol that the library exported would take precedence over the definitions of other libraries.
#[test]
fn exports_are_these_and_no_others() {
    let mut expected: Vec<&str> = "
        semget semop semtimedop semctl msgget msgsnd msgrcv msgctl shmget shmat shmdt shmctl syscall unshare setns
        open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 freopen freopen64
        setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups initgroups capset
        sigaction __sigaction signal bsd_signal ssignal sysv_signal __sysv_signal sigset sigignore
        siginterrupt sigvec prctl dlclose dlopen dlmopen dlsym dlvsym mlockall setrlimit setrlimit64 getrlimit getrlimit64 prlimit prlimit64
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
    let mut found = names(preload(), Side::Defined);
    // The linker's marks around a section of this library, which no other library refers to.
    found.retain(|name| !name.starts_with("__start_unspin") && !name.starts_with("__stop_unspin"));
    assert_eq!(found, expected);
}

/// The side of a name on which a library is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// It defines the name for others.
    Defined,
    /// It uses another object's definition.
    Undefined,
}

/// The names that a shared library and other objects share: the sections of an ELF file, read by hand (`man 5 elf`).
fn names(library: &Path, side: Side) -> Vec<String> {
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
        .filter(|&symbol| {
            (number(symbol + 6, 2) != 0) == (side == Side::Defined) && number(symbol + 4, 1) >> 4 != 0
        })
        .map(|symbol| {
            let bytes = &file[strings + number(symbol, 4)..];
            String::from_utf8_lossy(bytes.split(|&b| b == 0).next().unwrap()).into_owned()
        })
        .collect();
    names.sort_unstable();
    names
}
