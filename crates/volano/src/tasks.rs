//! Two tasks for each connection: a reader and a writer, on any runtime of tasks.

use crate::connection::{Reader, Writer};
use crate::end_report::EndReport;
use crate::frames::Frames;
use std::future::Future;
use std::io::{ErrorKind, Result};
use std::net::TcpStream;

/// What a runtime must be able to do.
pub trait Runtime {
    /// The side of a connection from which is read.
    type Source: Source;
    /// The side of a connection to which is written.
    type Sink: Sink;

    /// Takes over a connection, in a call outside of the runtime.
    fn split(&self, stream: TcpStream) -> Result<(Self::Source, Self::Sink)>;

    /// Starts a task, in a call outside of the runtime.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}

/// Reads from a connection.
pub trait Source: Send + 'static {
    /// Reads what has come, at least one byte; 0 at the end.
    fn read(&mut self, space: &mut [u8]) -> impl Future<Output = Result<usize>> + Send;
}

/// Writes to a connection.
pub trait Sink: Send + 'static {
    /// Writes all bytes.
    fn write_all(&mut self, bytes: &[u8]) -> impl Future<Output = Result<()>> + Send;

    /// Closes the sending direction.
    fn close(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// The tasks of a process.
#[derive(Debug)]
pub struct Tasks<R>(pub R);

impl<R: Runtime> Tasks<R> {
    /// Starts the reader and the writer of a connection, whose messages have `size` bytes.
    pub fn start(
        &self,
        stream: TcpStream,
        size: usize,
        (reader, reader_report): (impl Reader, EndReport),
        (writer, writer_report): (impl Writer, EndReport),
    ) -> Result<()> {
        stream.set_nonblocking(true)?;
        let (source, sink) = self.0.split(stream)?;
        self.0.spawn(read(source, size, reader, reader_report));
        self.0.spawn(write(sink, writer, writer_report));
        Ok(())
    }
}

async fn read(source: impl Source, size: usize, mut reader: impl Reader, report: EndReport) {
    let outcome = read_all(source, Frames::new(size), &mut reader).await;
    report.send(reader.end(outcome));
}

async fn read_all(mut source: impl Source, mut frames: Frames, reader: &mut impl Reader) -> Result<()> {
    loop {
        while let Some(frame) = frames.next() {
            if let Some(full) = reader.message(frame) {
                full.drained().await;
            }
        }
        match source.read(frames.space()).await? {
            0 if frames.has_part() => return Err(ErrorKind::UnexpectedEof.into()),
            0 => return Ok(()),
            count => frames.note_filled(count),
        }
    }
}

async fn write(sink: impl Sink, mut writer: impl Writer, report: EndReport) {
    let outcome = write_all(sink, &mut writer).await;
    report.send(writer.end(outcome));
}

async fn write_all(mut sink: impl Sink, writer: &mut impl Writer) -> Result<()> {
    let queue = writer.queue();
    while let Some(item) = queue.next().await {
        sink.write_all(writer.frame(&item)).await?;
        writer.note_written();
    }
    match sink.close().await {
        // The other side is gone already; its reader reports that.
        Err(e) if e.kind() == ErrorKind::NotConnected => Ok(()),
        outcome => outcome,
    }
}
