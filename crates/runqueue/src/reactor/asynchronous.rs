//! A socket whose calls wait without blocking the thread.

use crate::reactor::direction::{Direction, Waiter, WaiterId};
use crate::reactor::socket::Socket;
use crate::reactor::source::Source;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// A socket of the standard library, for tasks.
///
/// A socket's calls work in tasks of an [`Executor`](crate::Executor) and in [`block_on`](crate::block_on). They work in
/// tasks of another executor while some thread of the process is in one of these two: that thread waits for the events.
/// `Async` implements `AsyncRead` and `AsyncWrite` of `futures-io`, so crates that build on these work with it.
#[derive(Debug)]
pub struct Async<T: AsFd> {
    source: Arc<Source>,
    /// None only while it is dropped or taken out.
    io: Option<T>,
}

impl<T: Socket> Async<T> {
    /// Registers the socket, and sets it to non-blocking mode.
    pub fn new(io: T) -> io::Result<Async<T>> {
        io.set_nonblocking(true)?;
        // `drop` and `into_inner` unregister the socket before it can be closed: it is owned here, and no method gives out
        // more than a shared reference. A `Socket` is one of the standard library's, which keeps its descriptor for life.
        let source = Source::register(&io, T::SHORT_READ)?;
        Ok(Async { source, io: Some(io) })
    }

    /// Takes the socket out, in blocking mode.
    pub fn into_inner(mut self) -> io::Result<T> {
        let io = self.io.take().expect("only this call and `drop` take it");
        self.source.unregister(&io);
        io.set_nonblocking(false)?;
        Ok(io)
    }
}

impl<T: AsFd> Async<T> {
    /// The socket.
    pub fn get_ref(&self) -> &T {
        self.io.as_ref().expect("only `drop` and `into_inner` take it")
    }

    /// Waits until a call that reads may succeed.
    pub async fn readable(&self) {
        let mut waiter = Waiter::new(&self.source.reads);
        poll_fn(move |context| waiter.direction.poll_ready(context, &mut waiter.id)).await;
    }

    /// Waits until a call that writes may succeed.
    pub async fn writable(&self) {
        let mut waiter = Waiter::new(&self.source.writes);
        poll_fn(move |context| waiter.direction.poll_ready(context, &mut waiter.id)).await;
    }

    /// Waits for the first event that says that the socket is writable: a connection was made, or has failed.
    pub(super) async fn first_writable(&self) {
        self.source.writes.expect_event();
        self.writable().await;
    }

    /// Calls `call` until it does not fail with `WouldBlock`, and waits for the socket to be readable in between.
    pub async fn read_with<R>(&self, mut call: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let mut waiter = Waiter::new(&self.source.reads);
        poll_fn(move |context| {
            poll_calls(waiter.direction, context, &mut waiter.id, || call(self.get_ref()), |_| false)
        })
        .await
    }

    /// Makes a call that writes, and waits while the socket takes nothing.
    pub async fn write_with<R>(&self, mut call: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let mut waiter = Waiter::new(&self.source.writes);
        poll_fn(move |context| self.poll_write(context, &mut waiter.id, &mut call)).await
    }

    /// Reads what has come: at least one byte, unless the stream has ended or `buffer` is empty.
    pub async fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize>
    where
        for<'a> &'a T: Read,
    {
        let room = buffer.len();
        let mut waiter = Waiter::new(&self.source.reads);
        poll_fn(move |context| self.poll_read(context, &mut waiter.id, room, |mut io| io.read(buffer))).await
    }

    /// Calls `call`, which reads at most `room` bytes. If a read returns less, the next one waits for an event, where that
    /// loses nothing: that saves the call that would only find out that nothing is left.
    fn poll_read(
        &self,
        context: &mut Context<'_>,
        id: &mut Option<WaiterId>,
        room: usize,
        mut call: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let is_short = |&count: &usize| 0 < count && count < room;
        poll_calls(&self.source.reads, context, id, || call(self.get_ref()), is_short)
    }

    fn poll_write<R>(
        &self,
        context: &mut Context<'_>,
        id: &mut Option<WaiterId>,
        mut call: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        poll_calls(&self.source.writes, context, id, || call(self.get_ref()), |_| false)
    }
}

/// Calls `call` until it does not fail with `WouldBlock`. `is_short` says whether it has read less than was asked for.
fn poll_calls<R>(
    direction: &Direction,
    context: &mut Context<'_>,
    id: &mut Option<WaiterId>,
    mut call: impl FnMut() -> io::Result<R>,
    is_short: impl Fn(&R) -> bool,
) -> Poll<io::Result<R>> {
    // Ends: each round clears an event, and without events the wait is pending.
    loop {
        let seen = ready!(direction.poll_ready(context, id));
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => direction.clear(seen),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => {
                if result.as_ref().is_ok_and(&is_short) {
                    direction.was_short(seen);
                }
                return Poll::Ready(result);
            }
        }
    }
}

impl<T: AsFd> Drop for Async<T> {
    fn drop(&mut self) {
        if let Some(io) = self.io.take() {
            self.source.unregister(&io);
        }
    }
}

impl<T: AsFd> AsFd for Async<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsFd> AsyncRead for &Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let room = buffer.len();
        Async::poll_read(&self, context, &mut Some(WaiterId::OF_TRAITS), room, |mut io| io.read(buffer))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let room = buffers.iter().map(|buffer| buffer.len()).sum();
        Async::poll_read(&self, context, &mut Some(WaiterId::OF_TRAITS), room, |mut io| {
            io.read_vectored(buffers)
        })
    }
}

impl<T: AsFd> AsyncWrite for &Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Async::poll_write(&self, context, &mut Some(WaiterId::OF_TRAITS), |mut io| io.write(buffer))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Async::poll_write(&self, context, &mut Some(WaiterId::OF_TRAITS), |mut io| io.write_vectored(buffers))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Async::poll_write(&self, context, &mut Some(WaiterId::OF_TRAITS), |mut io| io.flush())
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What the peer sees of it is up to `shutdown` and the drop.
        self.poll_flush(context)
    }
}

impl<T: AsFd + Unpin> AsyncRead for Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read(context, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read_vectored(context, buffers)
    }
}

impl<T: AsFd + Unpin> AsyncWrite for Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write_vectored(context, buffers)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_close(context)
    }
}
