//! Who does what a program wants done with a mutex, and when that is decided.

use super::algorithm::Algorithm;
use super::body::{self, Body};
use super::decision::{self, Occasion};
use super::mark::{Mark, Nature, Type};
use super::plan;
use crate::watch::Hook;
use libc::pthread_mutex_t;
use unspin_locks::Kind;

/// Who serves a mutex.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// libc.
    Libc,
    /// libc, who inherits priorities, which the program has not asked for.
    Inheriting(Type),
    /// One of the locks.
    Lock(&'static Algorithm, Type),
}

/// By mark.
static SERVERS: [Server; Mark::VALUES] = {
    let mut servers = [Server::Libc; Mark::VALUES];
    let mut n = 0;
    while n < Kind::ALL.len() * Type::ALL.len() {
        let (kind, of) = (Kind::ALL[n / Type::ALL.len()], Type::ALL[n % Type::ALL.len()]);
        servers[Mark::new(kind, of).index()] = match Algorithm::of(kind) {
            Some(algorithm) => Server::Lock(algorithm, of),
            None if matches!(kind, Kind::Pi) => Server::Inheriting(of),
            None => Server::Libc,
        };
        n += 1;
    }
    servers
};

impl Server {
    /// Whoever serves this one. It is decided now if it was not before.
    ///
    /// # Safety
    /// A live mutex.
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
            // Here and not where it is decided: whoever sees the mark sees the mutex inherit.
            Server::Inheriting(_) => body.make_inheriting(),
            // Some locks name their owner, and would ask the kernel who that is.
            Server::Lock(..) => drop(body::thread()),
        }
        server
    }
}

/// The mark of a mutex that has none.
///
/// # Safety
/// A live mutex.
#[cold]
unsafe fn first_use(body: &Body, seen: Mark, mutex: *const pthread_mutex_t, hook: Hook) -> Mark {
    // What is not to be replaced is left as it is: its sixteen bits may be libc's.
    if body.nature() == Nature::Other || !plan::is_on() {
        return Mark::LIBC;
    }
    let kind = decision::decide(mutex, Occasion::Use, hook);
    body.decide(seen, body.nature().mark(kind))
}

/// A mutex was initialised by libc: what it is to be is decided.
///
/// # Safety
/// A live mutex that nobody else uses yet.
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

/// A mutex was destroyed: whoever uses it nevertheless asks libc, who refuses.
///
/// # Safety
/// A mutex whose memory is still there.
pub unsafe fn destroyed(mutex: *const pthread_mutex_t) {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    if body.mark().is_one() {
        body.forget();
    }
}
