//! Waits: a thread polls before it sleeps, where the plan says so and `unspin_waiting` finds that it pays. The meter
//! records waits.
//!
//! A *look* is one check, without blocking, whether the wait can end. A poll is a sequence of looks.
//!
//! | module | exports | a look is |
//! |---|---|---|
//! | `poll` | `poll ppoll` | the same call with a timeout of 0 |
//! | `select` | `select pselect` | the same call with a timeout of 0 |
//! | `epoll` | `epoll_wait epoll_pwait epoll_pwait2` | the same call with a timeout of 0 |
//! | `receive` | `read readv recv recvfrom recvmsg` | `recv`, `recvfrom`, `recvmsg`: the same call with MSG_DONTWAIT; `read`: `poll`; `readv` is never polled for |
//! | `accept` | `accept accept4` | `poll` |
//! | `join` | `pthread_join` and its variants with a timeout | `pthread_tryjoin_np` |
//! | `futex` | FUTEX_WAIT of `syscall()` | a requeue of no waiters, which compares the word |
//!
//! Conditions, semaphores and barriers poll in [`pthread`](crate::pthread) and [`swap`](crate::swap), by the same
//! [`Wait`].
//!
//! The meaning of a wait does not change. Every look is a call that the program could have made itself. So each event
//! is taken once, by the thread to which the kernel gives it. A signal handler that runs during a poll ends the wait as
//! it would end a sleep: [`handlers`] counts handlers. A thread may leave libc's functions by cancellation, so nothing
//! here has anything to drop while they run.
//!
//! - *No poll*: descriptors with O_NONBLOCK, timeouts under a millisecond, arguments that cannot be read, and any wait
//!   after a seccomp filter. Under filters that are older than the program only the looks of `LOOKS` are made.
//! - *Masks*: ppoll, pselect and epoll_pwait poll under the mask in their arguments (`descriptor`).
//! - *Cancellation*: looks are cancellation points, or pthread_testcancel(3) is called before them. A thread with
//!   asynchronous cancellation gets deferred cancellation for the duration of a poll.
//! - *Conditions* are ours where waits poll, as under replaced mutexes. A look also takes the mutex, if the mutex is
//!   libc's. A signal makes no system call for a waiter that polls.
//! - *Mutexes* of libc are tried with trylock during the poll. Robust mutexes are only read.
//! - *Barriers* have libc's own words and protocol ([`unspin_locks::Barrier`]), so threads in libc's function take part.
//!
//! # Adding a wait
//! | file | change |
//! |---|---|
//! | `crates/wire/src/looks.rs`, `crates/sys/src/probe/calls.rs`, `crates/launch/src/machine/looks.rs` | the look's system calls, if they are new: what a filter must permit |
//! | `waits/NAME.rs` | the next definition (`define_next!`), the exported stub (`entry!`) and the hook. A wait for a descriptor implements `descriptor::Call`; any other wait uses [`Wait`] directly, as `join.rs` does |
//! | this file, `lib.rs` | the module, the tables of exports and of looks |
//! | `crates/launch/src/plan/site.rs` | `WAITS`: the names that make a call a call site for `--waits poll@` |
//! | `tests/e2e/c/waits/table.h` | a row of the table: `ends`, `interrupted`, `cancelled`, `jumps` and `limits` then run it |
//! | `tests/e2e/c/waits/` (`arguments.c`, `masks.c`, `streams.c`, …) | the rules that only this call has |
//! | `tests/e2e/tests/suite/names.rs` | the list in `exports_are_these_and_no_others` |
//! | `docs/conformance.md`, `docs/waits.md`, `docs/measuring.md` | the rules and their tests, the call |
//!
//! A new kind of row in the recording: the list in docs/ARCHITECTURE.md, "A metered call".

mod accept;
mod descriptor;
mod epoll;
pub mod futex;
pub mod handlers;
mod join;
mod poll;
mod receive;
mod select;
mod site;
pub mod thread;
mod wait;

pub use wait::{Ended, Look, Wait};

use crate::pthread::barrier;
use crate::sandbox;
use crate::swap::plan;
use unspin_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use unspin_sys::mem::Mapping;
use unspin_waiting::{CpuPressure, PollParameters};
use unspin_wire::TallyCount;
use unspin_wire::looks::{LookKind, Looks};

/// The policy of this machine, in ticks; written before the program begins. Relaxed: two numbers. A constructor of
/// another library may have started a thread earlier. In that thread either may be 0, and the thread does not poll yet.
static WAKE_UP: AtomicU64 = AtomicU64::new(0);
static READY: AtomicU64 = AtomicU64::new(0);

/// The looks that inherited filters permit. Relaxed: a number that is written before the program begins, as long as no thread polls.
static LOOKS: AtomicU32 = AtomicU32::new(Looks::ALL.bits());

/// The word that pollers share. It lies in memory that children made by fork inherit, if that can be allocated.
static CPU_PRESSURE: AtomicPtr<CpuPressure> = AtomicPtr::new((&raw const OWN_CPU_PRESSURE).cast_mut());
static OWN_CPU_PRESSURE: CpuPressure = CpuPressure::new();

/// To be called before the program begins.
pub fn prepare() {
    let Some(plan) = plan::get().filter(|plan| plan.polls()) else { return };
    // A poll makes system calls that the program does not make itself. An inherited filter could kill the program for one.
    let looks = sandbox::permitted_looks();
    if !looks.has(LookKind::Pause) {
        plan.count(TallyCount::Filters);
        return;
    }
    LOOKS.store(looks.bits(), Relaxed);
    if let Ok(page) = Mapping::map_shared_with_children(size_of::<CpuPressure>()) {
        CPU_PRESSURE.store(page.leak().as_ptr().cast(), Relaxed);
    }
    barrier::prepare();
    let policy = PollParameters::new(plan.wake_up_ns);
    READY.store(if plan.is_ready { u64::MAX } else { policy.ready }, Relaxed);
    WAKE_UP.store(policy.wake_up, Relaxed);
}

fn policy() -> PollParameters {
    PollParameters { wake_up: WAKE_UP.load(Relaxed), ready: READY.load(Relaxed) }
}

/// Whether inherited filters permit these looks.
fn permits(looks: Looks) -> bool {
    Looks::from_bits(LOOKS.load(Relaxed)).contains(looks)
}

/// Counts, once in a process, that a wait sleeps because inherited filters forbid its look.
#[cold]
fn count_forbidden_look() {
    static IS_COUNTED: AtomicBool = AtomicBool::new(false);
    // Relaxed: only one of the exchanges finds it false.
    if !IS_COUNTED.swap(true, Relaxed)
        && let Some(plan) = plan::get()
    {
        plan.count(TallyCount::Filters);
    }
}

fn cpu_pressure() -> &'static CpuPressure {
    // SAFETY: `OWN_CPU_PRESSURE`, or a page that is never unmapped; a zeroed page is a valid `CpuPressure`.
    unsafe { &*CPU_PRESSURE.load(Relaxed) }
}
