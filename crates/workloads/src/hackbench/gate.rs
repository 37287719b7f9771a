//! The start gate: every worker reports that it is ready, and waits for the same byte.

use super::Error;
use crate::libc_io::{Readable, await_readable};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::time::Duration;

/// How long the master waits for a ready message before it checks whether a worker has ended. Ready messages are
/// noticed at once, independent of this time.
const LOOK: Duration = Duration::from_millis(100);

/// The workers' side.
#[derive(Debug)]
pub struct Gate {
    ready: PipeWriter,
    open: PipeReader,
}

/// The master's side. When it is dropped, workers that wait at the gate give up.
#[derive(Debug)]
pub struct Starter {
    ready: PipeReader,
    open: PipeWriter,
}

/// Creates both sides.
pub fn pair() -> io::Result<(Starter, Gate)> {
    let (ready, say_ready) = io::pipe()?;
    let (see_open, open) = io::pipe()?;
    Ok((Starter { ready, open }, Gate { ready: say_ready, open: see_open }))
}

impl Gate {
    /// Reports that the caller is ready, and waits until all are.
    pub fn pass(&self) -> io::Result<()> {
        (&self.ready).write_all(b"*")?;
        match await_readable(&self.open, None)? {
            Readable::Data => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the start was called off")),
        }
    }
}

impl Starter {
    /// Waits until this many workers are ready, or `look` reports that a worker has ended before it was ready.
    pub fn await_ready(
        &mut self,
        workers: usize,
        mut look: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |e| Error::System("cannot wait for the workers".into(), e);
        let mut missing = workers;
        let mut marks = [0; 1024];
        while missing > 0 {
            match await_readable(&self.ready, Some(LOOK)).map_err(failed)? {
                Readable::Data => missing -= self.ready.read(&mut marks).map_err(failed)?,
                _ => look()?,
            }
        }
        Ok(())
    }

    /// Opens the gate.
    pub fn go(&mut self) -> io::Result<()> {
        self.open.write_all(b"*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn no_worker_passes_before_all_are_ready() {
        let (mut starter, gate) = pair().unwrap();
        let opened = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| {
                    gate.pass().unwrap();
                    assert!(opened.load(SeqCst));
                });
            }
            starter.await_ready(5, || Ok(())).unwrap();
            opened.store(true, SeqCst);
            starter.go().unwrap();
        });
    }

    #[test]
    fn cancelled_start_releases_all_workers() {
        let (mut starter, gate) = pair().unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gate.pass());
            starter.await_ready(1, || Ok(())).unwrap();
            drop(starter);
            assert_eq!(waiter.join().unwrap().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        });
    }

    #[test]
    fn worker_that_ends_before_it_is_ready_is_an_error() {
        let (mut starter, _gate) = pair().unwrap();
        let error = starter.await_ready(1, || Err(Error::Worker("it ended".into()))).unwrap_err();
        assert_eq!(error.to_string(), "it ended");
    }
}
