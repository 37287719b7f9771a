//! One test source, two worlds.
//!
//! A C program of `c/` prints one line per observation. It runs [bare](World::Bare), on the kernel, and under
//! the preload with each engine; the kernel is the oracle, and every line that differs from its line is a
//! failure. Nothing in a program knows which world it runs in.
//!
//! What a machine lacks (a compiler, a package, root) skips a test, which then says so in one line that begins
//! with `SKIPPED`.
#![warn(missing_docs)]

pub mod apache;
mod compiler;
mod eventually;
pub mod firefox;
mod kept;
mod memcache;
mod namespace;
mod oracle;
mod outcome;
mod ports;
mod postgres;
mod preload;
mod process;
mod recorder;
mod run;
mod running;
pub mod sysv_ipc;
mod target;
mod tier;
mod tools;
mod traced;
mod user;
mod waits;
mod workshop;
mod workspace;
mod world;

pub use compiler::{Program, build, build_library, compile, copy_program};
pub use eventually::eventually;
pub use memcache::Memcache;
pub use namespace::enter_ipc_namespace;
pub use outcome::{Outcome, assert_same};
pub use ports::{free_port, is_listened_at};
pub use postgres::Postgres;
pub use preload::{has_landing_pads, library as preload, profile_folder};
pub use process::Process;
pub use recorder::{LEVELS, Recorder};
pub use run::{Run, scratch};
pub use running::Running;
pub use target::target_directory;
pub use tier::size;
pub use tools::{find_tool, is_root, shared_library, skip};
pub use traced::{CallsOfChildren, SystemCall, assert_few_calls, may_trace, trace};
pub use user::User;
pub use waits::{WAKE_UP_NS, WaitMode};
pub use workshop::Workshop;
pub use workspace::Workspace;
pub use world::World;

use unspin_locks::{LockKind, RwLockKind};
use unspin_wire::Level;

/// Runs a program of `c/` in every world and demands the kernel's output and exit status of each. Each engine has an arena of its
/// own, so the engines run beside the kernel, at the same time: such programs mostly sleep.
pub fn conforms(source: &str, args: &[&str]) {
    let Some(program) = build(source) else { return };
    let run = |world| Run::new(program.path(), world).args(args);
    let engines = World::ENGINES.map(|world| (world, run(world).start()));
    let bare = oracle::bare(run(World::Bare));
    // After the bare program and not beside it: both use the kernel's objects.
    let control = run(World::Kernel).output();
    let engines = engines.map(|(world, running)| (world, running.output()));
    assert!(bare.status.success(), "{source} fails on the kernel itself:\n{}", *bare);
    assert!(!bare.stdout.is_empty(), "{source} prints nothing: it tests nothing");
    assert_same(source, World::Kernel, &bare, &control);
    for (world, outcome) in &engines {
        assert_same(source, world, &bare, outcome);
    }
}

/// Runs a program of `c/` bare, behind the preload, and metered at each level, and demands of each what it does bare.
pub fn survives_the_meter(source: &str, args: &[&str]) {
    let Some(program) = build(source) else { return };
    let bare = assert_same_metered(source, |world| Run::new(program.path(), world).args(args));
    assert!(bare.status.success(), "{source} fails without a meter:\n{bare}");
}

/// Runs a program of `c/` bare and with its mutexes replaced by each of `kinds`, metered and not, and demands of each what it
/// does bare.
pub fn survives_replacement(source: &str, args: &[&str], kinds: &[LockKind]) {
    let Some(program) = build(source) else { return };
    let run = |world| Run::new(program.path(), world).args(args);
    let bare = oracle::bare(run(World::Bare));
    assert!(bare.status.success() && !bare.stdout.is_empty(), "{source} fails by itself:\n{}", *bare);
    for kind in kinds {
        let replaced = || run(World::Kernel).mutexes(&format!("{kind}\tall"));
        assert_same(source, format!("replaced by {kind}"), &bare, &replaced().output());
        let recorder = Recorder::create(Level::Full);
        let metered = replaced().record(&recorder).output();
        assert_same(source, format!("replaced by {kind}, metered"), &bare, &metered);
    }
}

/// Runs a program of `c/` bare and with its read-write locks replaced by each kind, and demands of each what it does bare. Metered
/// it runs with each kind in the nightly tier, and with one kind in the first.
pub fn survives_rwlock_replacement(source: &str, args: &[&str]) {
    let Some(program) = build(source) else { return };
    let run = |world| Run::new(program.path(), world).args(args);
    let bare = oracle::bare(run(World::Bare));
    assert!(bare.status.success() && !bare.stdout.is_empty(), "{source} fails by itself:\n{}", *bare);
    for kind in RwLockKind::ALL {
        let replaced = || run(World::Kernel).rwlocks(kind);
        assert_same(source, format!("replaced by {kind}"), &bare, &replaced().output());
        if size(kind == RwLockKind::Biased, true) {
            let recorder = Recorder::create(Level::Full);
            let metered = replaced().record(&recorder).output();
            assert_same(source, format!("replaced by {kind}, metered"), &bare, &metered);
        }
    }
}

/// Runs a program of `c/` bare and behind the preload with each way to wait, and demands of each what it does bare. Only the nightly
/// tier has [`WaitMode::Poll`], which takes some of the paths of the other two, as chance decides.
pub fn survives_polling(source: &str, args: &[&str]) {
    let Some(program) = build(source) else { return };
    let run = |world| Run::new(program.path(), world).args(args);
    let bare = oracle::bare(run(World::Bare));
    assert!(bare.status.success() && !bare.stdout.is_empty(), "{source} fails by itself:\n{}", *bare);
    for waits in WaitMode::ALL {
        if waits == WaitMode::Poll && size(true, false) {
            continue;
        }
        assert_same(source, waits, &bare, &run(World::Kernel).waits(waits).output());
    }
}

/// Asserts that any program answers the same with and without the meter: `run` prepares it and its environment for a
/// world. Returns the outcome of the bare run.
pub fn assert_same_metered(name: &str, run: impl Fn(World) -> Run) -> Outcome {
    let bare = run(World::Bare).output();
    assert!(!bare.stdout.is_empty(), "{name} prints nothing: it tests nothing\n{bare}");
    assert_same(name, "unmetered", &bare, &run(World::Kernel).output());
    for level in LEVELS {
        let recorder = Recorder::create(level);
        let metered = run(World::Kernel).record(&recorder).output();
        assert_same(name, format!("metered at level {level}"), &bare, &metered);
    }
    bare
}
