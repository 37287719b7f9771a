//! The connections that the browsers share, as those of an application server.

use crate::database::{Database, Failure, Session};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use unspin_workloads::libc_pthread::Monitor;

type Sessions<'a> = Vec<Box<dyn Session + 'a>>;

/// Sessions that are free. The browsers wait for one under a pthread mutex and a condition, which unspin meters and replaces.
pub struct Pool<'a> {
    free: Pin<Box<Monitor<Sessions<'a>>>>,
}

/// The condition that a session is free.
const FREE: usize = 0;

impl<'a> Pool<'a> {
    /// Opens so many sessions.
    pub fn new(database: &'a dyn Database, sessions: usize) -> Result<Pool<'a>, Failure> {
        let sessions = (0..sessions).map(|_| database.connect()).collect::<Result<Vec<_>, _>>()?;
        Ok(Pool { free: Monitor::new(sessions, 1) })
    }

    /// Waits for a free session.
    pub fn borrow(&self) -> Borrowed<'_, 'a> {
        let mut free = self.free.enter();
        let session = loop {
            match free.pop() {
                Some(session) => break session,
                None => free.wait(FREE),
            }
        };
        Borrowed { pool: self, session: Some(session) }
    }
}

/// A session that a browser uses; it is free again when this is dropped.
pub struct Borrowed<'p, 'a> {
    pool: &'p Pool<'a>,
    session: Option<Box<dyn Session + 'a>>,
}

impl<'a> Deref for Borrowed<'_, 'a> {
    type Target = dyn Session + 'a;

    fn deref(&self) -> &Self::Target {
        &**self.session.as_ref().expect("it is there until the drop")
    }
}

impl DerefMut for Borrowed<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut **self.session.as_mut().expect("it is there until the drop")
    }
}

impl Drop for Borrowed<'_, '_> {
    fn drop(&mut self) {
        let mut free = self.pool.free.enter();
        free.extend(self.session.take());
        free.signal(FREE);
    }
}
