//! Which implementation serves a mutex, and when that is decided.

use super::algorithm::Algorithm;
use super::body::{self, Body};
use super::decision::{self, Occasion};
use super::mark::{Mark, Nature, Type};
use super::plan;
use crate::watch::Hook;
use libc::pthread_mutex_t;
use unspin_locks::LockKind;

/// The implementation that serves a mutex.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// libc.
    Libc,
    /// libc, with priority inheritance that the program has not requested.
    Inheriting(Type),
    /// One of the locks of `unspin-locks`.
    Lock(&'static Algorithm, Type),
}

/// The implementations, by the index of the mark.
static SERVERS: [Server; Mark::VALUES] = {
    let mut servers = [Server::Libc; Mark::VALUES];
    let mut n = 0;
    while n < LockKind::ALL.len() * Type::ALL.len() {
        let (kind, of) = (LockKind::ALL[n / Type::ALL.len()], Type::ALL[n % Type::ALL.len()]);
        servers[Mark::new(kind, of).index()] = match Algorithm::of(kind) {
            Some(algorithm) => Server::Lock(algorithm, of),
            None if matches!(kind, LockKind::Pi) => Server::Inheriting(of),
            None => Server::Libc,
        };
        n += 1;
    }
    servers
};

impl Server {
    /// The implementation of this mutex. It is decided now if it was not decided before.
    ///
    /// # Safety
    /// `mutex` is live, and `body` is its body.
    #[inline(always)]
    pub unsafe fn of(body: &Body, mutex: *const pthread_mutex_t, hook: Hook) -> Server {
        let mut mark = body.mark();
        if !mark.is_one() {
            // SAFETY: the caller's promise.
            mark = unsafe { first_use(body, mark, mutex, hook) };
        }
        let server = SERVERS[mark.index()];
        match server {
            Server::Libc => {}
            // Done here, not at the decision: every thread that sees the mark must see the mutex inherit.
            Server::Inheriting(_) => body.make_inheriting(),
            // Some locks store their owner's thread id. It must be known now, or they would make a system call for it.
            Server::Lock(..) => drop(body::thread()),
        }
        server
    }
}

/// Decides on a mutex that has no mark.
///
/// # Safety
/// `mutex` is live.
#[cold]
unsafe fn first_use(body: &Body, seen: Mark, mutex: *const pthread_mutex_t, hook: Hook) -> Mark {
    // A mutex that is not to be replaced is left unchanged: libc may use its sixteen bits.
    if body.nature() == Nature::Other || !plan::is_on() {
        return Mark::LIBC;
    }
    let kind = decision::decide(mutex, Occasion::Use, hook);
    body.decide(seen, body.nature().mark(kind))
}

/// To be called after libc has initialised a mutex: decides on its implementation.
///
/// # Safety
/// `mutex` is live, and no other thread uses it yet.
pub unsafe fn initialised(mutex: *const pthread_mutex_t, hook: Hook) {
    if !plan::is_on() {
        return;
    }
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    if body.nature() != Nature::Other {
        let kind = decision::decide(mutex, Occasion::Initialisation, hook);
        body.decide(body.mark(), body.nature().mark(kind));
    }
}

/// To be called after a mutex was destroyed. If a thread uses it nevertheless, the call goes to libc, which refuses it.
///
/// # Safety
/// The memory of the mutex still exists.
pub unsafe fn destroyed(mutex: *const pthread_mutex_t) {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    if body.mark().is_one() {
        body.forget();
    }
}
