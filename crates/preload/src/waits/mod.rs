//! Waits: a thread polls before it sleeps, where the plan says so and `unspin_waiting` finds that it pays; the meter is told.
//!
//! | module | exports | looks by |
//! |---|---|---|
//! | `poll` | `poll ppoll` | the same call with no time |
//! | `select` | `select pselect` | the same call with no time |
//! | `epoll` | `epoll_wait epoll_pwait epoll_pwait2` | the same call with no time |
//! | `receive` | `read readv recv recvfrom recvmsg` | `recv` and its kin: the same call with MSG_DONTWAIT; `read`, `readv`: `poll` |
//! | `accept` | `accept accept4` | `poll` |
//! | `join` | `pthread_join` and its timed kin | `pthread_tryjoin_np` |
//! | `futex` | FUTEX_WAIT of `syscall()` | a requeue of nothing, which compares the word |
//!
//! Conditions, semaphores and barriers poll in [`pthread`](crate::pthread) and [`swap`](crate::swap), by the same [`Wait`].
//!
//! A wait means what it meant. Every look is a call that the program could have made itself, so events are taken once and by
//! whichever thread the kernel gives them to. A signal handler that runs during a poll ends the wait as it would end a sleep:
//! [`handlers`] counts them. Nothing here has anything to drop while libc's function runs, which may be left by cancellation.

mod accept;
mod descriptor;
mod epoll;
pub mod futex;
pub mod handlers;
mod join;
mod poll;
mod real;
mod receive;
mod select;
mod site;
pub mod thread;
mod wait;

pub use wait::{Ended, Look, Wait};

use crate::pthread::barrier;
use crate::sandbox;
use crate::swap::plan;
use unspin_sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use unspin_sys::clock;
use unspin_sys::mem::Mapping;
use unspin_waiting::{Crowd, Policy};

/// The policy of this machine, in ticks; written before the program begins. Relaxed: two numbers, either of which may be 0 in
/// a thread that a constructor of another library started earlier; such a thread does not poll yet.
static WAKE_UP: AtomicU64 = AtomicU64::new(0);
static READY: AtomicU64 = AtomicU64::new(0);

/// The word that pollers share: in memory that children made by fork inherit, where that can be had.
static CROWD: AtomicPtr<Crowd> = AtomicPtr::new((&raw const OWN_CROWD).cast_mut());
static OWN_CROWD: Crowd = Crowd::new();

/// To be called before the program begins.
pub fn prepare() {
    let Some(plan) = plan::get().filter(|plan| plan.polls()) else { return };
    if sandbox::was_inherited() {
        // A poll makes calls that the program does not make itself: one of them could be its death.
        return;
    }
    if let Ok(page) = Mapping::shared_with_children(size_of::<Crowd>()) {
        CROWD.store(page.leak().as_ptr().cast(), Relaxed);
    }
    barrier::prepare();
    let policy = Policy::new(plan.wake_up_ns, clock::rough_ticks_per_second());
    READY.store(policy.ready, Relaxed);
    WAKE_UP.store(policy.wake_up, Relaxed);
}

fn policy() -> Policy {
    Policy { wake_up: WAKE_UP.load(Relaxed), ready: READY.load(Relaxed) }
}

fn crowd() -> &'static Crowd {
    // SAFETY: `OWN_CROWD`, or a page that is never unmapped; a page of zeroes is a `Crowd`.
    unsafe { &*CROWD.load(Relaxed) }
}
