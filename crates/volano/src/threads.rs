//! Two threads for each connection: a reader and a writer, as VolanoMark has them on a JVM.

use crate::connection::{Reader, Writer};
use crate::end_report::EndReport;
use crate::frames::Frames;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Stack size of a thread. Messages are stored elsewhere, so this is for libc and preloaded libraries.
const STACK_BYTES: usize = 128 << 10;

/// The threads of a run.
#[derive(Debug, Default)]
pub struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Starts the reader and the writer of a connection, whose messages have `size` bytes.
    pub fn start(
        &mut self,
        stream: TcpStream,
        size: usize,
        (reader, reader_report): (impl Reader, EndReport),
        (writer, writer_report): (impl Writer, EndReport),
    ) -> Result<()> {
        let stream = Arc::new(stream);
        let of_writer = Arc::clone(&stream);
        let builder = || Builder::new().stack_size(STACK_BYTES);
        self.0.push(builder().spawn(move || read(&stream, size, reader, reader_report))?);
        self.0.push(builder().spawn(move || write(&of_writer, writer, writer_report))?);
        Ok(())
    }

    /// Waits for the threads, all of which have reported their ends.
    pub fn finish(&mut self) {
        for thread in self.0.drain(..) {
            // A thread that panicked has been reported.
            let _ = thread.join();
        }
    }
}

fn read(stream: &TcpStream, size: usize, mut reader: impl Reader, report: EndReport) {
    let outcome = read_all(stream, Frames::new(size), &mut reader);
    report.send(reader.end(outcome));
}

fn read_all(mut stream: &TcpStream, mut frames: Frames, reader: &mut impl Reader) -> Result<()> {
    loop {
        while let Some(frame) = frames.next() {
            if let Some(full) = reader.message(frame) {
                full.wait_until_drained();
            }
        }
        match stream.read(frames.space()) {
            Ok(0) if frames.has_part() => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Ok(()),
            Ok(count) => frames.note_filled(count),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn write(stream: &TcpStream, mut writer: impl Writer, report: EndReport) {
    let outcome = write_all(stream, &mut writer);
    report.send(writer.end(outcome));
}

fn write_all(mut stream: &TcpStream, writer: &mut impl Writer) -> Result<()> {
    let queue = writer.queue();
    while let Some(item) = queue.take() {
        stream.write_all(writer.frame(&item))?;
        writer.note_written();
    }
    close_sending(stream)
}

/// The other side reads the end of the stream after the last message.
fn close_sending(stream: &TcpStream) -> Result<()> {
    match stream.shutdown(Shutdown::Write) {
        // The other side is gone already; its reader reports that.
        Err(e) if e.kind() == ErrorKind::NotConnected => Ok(()),
        outcome => outcome,
    }
}
