//! A running qemu: what comes from the guest, until its command has ended or a time limit is over.

use super::progress::{BootFailure, Finished, Limits, Passed, Progress, Source, Stage, Why};
use super::qemu::{Options, Ports, Qemu};
use std::fs::File;
use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;

/// What the guest's command has written.
#[derive(Clone, Copy, Debug)]
pub enum Output<'b> {
    /// To standard output.
    Stdout(&'b [u8]),
    /// To standard error.
    Stderr(&'b [u8]),
}

/// Whether output that was passed on has a reader.
#[derive(Debug)]
pub(super) enum Reader {
    /// It may read on.
    Listens,
    /// It has closed its end: the guest's command is to get SIGPIPE.
    Gone,
    /// It cannot be written to.
    Fails(std::io::Error),
}

/// A qemu, which is killed when this is dropped.
pub(super) struct Session {
    qemu: Child,
    events: Receiver<(Source, Vec<u8>)>,
    /// The streams of the command's output, to close them.
    stdout: UnixStream,
    stderr: UnixStream,
    started: Instant,
}

/// Pieces of output that wait to be taken. The guest waits while there are as many.
const PIECES: usize = 64;
const PIECE: usize = 64 << 10;
/// A guest passes on each next piece of output within this time when its command has ended.
const LAST_PIECE: Duration = Duration::from_secs(10);
/// Events that are still taken when a time is over: the command may have ended before, while a slow reader kept them waiting. More than
/// wait at once, so that a command that always writes has a limit, too.
const LATE: usize = 4 * PIECES;
/// Time for the guest to send each of them, which may have waited for the reader, too.
const LATE_PIECE: Duration = Duration::from_millis(250);
/// Time for the guest to give up a scheduler that is not enabled, and to end it. It has shorter limits of its own.
const SCHEDULER_LIMIT: Duration = Duration::from_secs(180);

impl Session {
    /// Starts qemu.
    pub fn start(qemu: &Qemu, options: &Options<'_>, initramfs: &File) -> Result<Session, BootFailure> {
        let failed = |error| BootFailure::Other(Error::failed("qemu cannot be started", &error));
        let started = Instant::now();
        let (mut child, ports) = qemu.start(options, initramfs).map_err(failed)?;
        let said = child.stderr.take();
        let (sender, events) = sync_channel(PIECES);
        let streams = ports.stdout.try_clone().and_then(|stdout| Ok((stdout, ports.stderr.try_clone()?)));
        // Without the streams, qemu is killed here.
        let (stdout, stderr) = streams.map_err(|error| {
            let _ = child.kill().and_then(|()| child.wait());
            failed(error)
        })?;
        let session = Session { qemu: child, events, stdout, stderr, started };
        read_all(ports, said, &sender).map_err(|error| BootFailure::Other(Error::no_thread(&error)))?;
        Ok(session)
    }

    /// Passes on the output until all of it has come. Where its reader is gone, the guest's command gets SIGPIPE. Fails if a limit is
    /// over, and if the guest ends before its command.
    pub fn follow(
        &mut self,
        limits: &Limits,
        output: &mut dyn FnMut(Output<'_>) -> Reader,
    ) -> Result<Finished, BootFailure> {
        let mut progress = Progress::default();
        let mut deadline = self.started.checked_add(limits.boot);
        let mut late = 0;
        while !progress.is_complete() {
            let before = progress.stage();
            match self.next_event(deadline, &mut late) {
                Ok((Source::Stdout, bytes)) => {
                    pass_on(&self.stdout, &mut progress.stdout, Output::Stdout(&bytes), output)?;
                }
                Ok((Source::Stderr, bytes)) => {
                    pass_on(&self.stderr, &mut progress.stderr, Output::Stderr(&bytes), output)?;
                }
                Ok((source, bytes)) => progress.take(source, &bytes, self.started),
                Err(RecvTimeoutError::Timeout) => return progress.finish(Why::Timeout(limits)),
                // qemu has ended, and so have all ports.
                Err(RecvTimeoutError::Disconnected) => return progress.finish(Why::QemuEnded),
            }
            if progress.has_kvm_error() {
                return Err(progress.kvm_error());
            }
            let time = match progress.stage() {
                // The rest of the output may take as long as its reader, but no piece of it.
                Stage::Ended => Some(LAST_PIECE),
                stage if stage == before => continue,
                Stage::Boots | Stage::Schedules => Some(SCHEDULER_LIMIT),
                Stage::Runs => limits.run,
            };
            late = 0;
            deadline = time.and_then(|time| Instant::now().checked_add(time));
        }
        progress.finish(Why::QemuEnded)
    }

    /// The next event. `late` counts those that were taken when the time was over.
    fn next_event(
        &self,
        deadline: Option<Instant>,
        late: &mut usize,
    ) -> Result<(Source, Vec<u8>), RecvTimeoutError> {
        let Some(deadline) = deadline else {
            return self.events.recv().map_err(|_| RecvTimeoutError::Disconnected);
        };
        let mut left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            *late += 1;
            if *late > LATE {
                return Err(RecvTimeoutError::Timeout);
            }
            left = LATE_PIECE;
        }
        self.events.recv_timeout(left)
    }
}

/// Passes on a piece of output. If it has no reader, the port's stream is closed: qemu tells the guest, and its first process closes
/// the command's pipe.
fn pass_on(
    stream: &UnixStream,
    passed: &mut Passed,
    piece: Output<'_>,
    output: &mut dyn FnMut(Output<'_>) -> Reader,
) -> Result<(), BootFailure> {
    let (Output::Stdout(bytes) | Output::Stderr(bytes)) = piece;
    passed.bytes += bytes.len() as u64;
    match output(piece) {
        Reader::Listens => {}
        Reader::Gone => {
            passed.is_closed = true;
            // It may be closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
        Reader::Fails(error) => {
            let what = match piece {
                Output::Stdout(_) => "standard output",
                Output::Stderr(_) => "standard error",
            };
            return Err(BootFailure::Other(Error::failed(what, &error)));
        }
    }
    Ok(())
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// Starts a thread for each source. They end with qemu.
fn read_all(
    ports: Ports,
    said: Option<ChildStderr>,
    sender: &SyncSender<(Source, Vec<u8>)>,
) -> std::io::Result<()> {
    let Ports { console, stdout, stderr, status } = ports;
    let streams = [
        (Source::Console, console),
        (Source::Stdout, stdout),
        (Source::Stderr, stderr),
        (Source::Status, status),
    ];
    for (source, stream) in streams {
        read(source, stream, sender.clone())?;
    }
    said.map_or(Ok(()), |said| read(Source::Qemu, said, sender.clone()))
}

fn read(
    source: Source,
    mut stream: impl Read + Send + 'static,
    sender: SyncSender<(Source, Vec<u8>)>,
) -> std::io::Result<()> {
    let name = format!("{source:?}");
    let body = move || {
        let mut piece = vec![0; PIECE];
        // A socket that is closed with unread bytes reports an error: it is the end, too.
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            if sender.send((source, piece[..length].to_vec())).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name(name).spawn(body).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MIB;
    use crate::machine::accelerator::Accelerator;
    use crate::machine::qemu::HypervisorBit;
    use std::path::Path;
    use std::process::Command;

    /// A session of a shell that does what these words say, in place of qemu.
    fn session(folder: &Path, words: &str) -> Session {
        let file = folder.join("qemu");
        // Written by another process, which no other test's child can hold open while it is executed.
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
        assert!(writer.arg(&file).arg(words).status().unwrap().success());
        let options = Options {
            kernel: Path::new("/vmlinuz"),
            cpus: 1,
            memory: MIB,
            accelerator: Accelerator::Tcg,
            hypervisor_bit: HypervisorBit::Shown,
            parameters: &[],
        };
        let initramfs = File::open("/dev/null").unwrap();
        Session::start(&Qemu::in_file(file), &options, &initramfs).unwrap()
    }

    const NO_LIMITS: Limits = Limits { boot: Duration::MAX, run: None };

    #[test]
    fn port_without_reader_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        // The writer gets SIGPIPE, or an error (ECONNRESET) if there are bytes in the socket that nothing will read.
        let words = "echo started >&6; (yes >&4) || echo ended 141 1 1 1 1000000000 0 >&6";
        let finished =
            session(folder.path(), words).follow(&NO_LIMITS, &mut |_| Reader::Gone).expect("it has ended");
        assert_eq!(finished.end.code, 141);
    }

    #[test]
    fn output_is_complete_though_it_comes_after_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let words = "echo started >&6; echo ended 0 1 1 1 5000000 0 >&6; head -c 5000000 /dev/zero >&4; exec sleep 1000";
        let mut bytes = 0;
        let mut output = |output: Output<'_>| {
            if let Output::Stdout(piece) = output {
                bytes += piece.len();
            }
            Reader::Listens
        };
        session(folder.path(), words).follow(&NO_LIMITS, &mut output).expect("it has ended");
        assert_eq!(bytes, 5_000_000);
    }
}
