//! A running qemu: what comes from the guest, until its command has ended or a time limit is over.

use super::console::Console;
use super::qemu::{Options, Ports, Qemu};
use crate::status::{CommandEnd, Status};
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    /// It may read on.
    Listens,
    /// It has closed its end: the guest's command is to get SIGPIPE.
    Gone,
}

/// Why a guest has not run its command to the end.
#[derive(Debug)]
pub(super) enum BootFailure {
    /// It did not reach the start of the command. Another accelerator may.
    NotBooted {
        /// The message, with the end of the console.
        error: Error,
        /// A few words on it.
        why: String,
    },
    /// The command was started, or nothing can be.
    Other(Error),
}

impl From<BootFailure> for Error {
    fn from(failure: BootFailure) -> Error {
        match failure {
            BootFailure::NotBooted { error, .. } | BootFailure::Other(error) => error,
        }
    }
}

/// How long the parts of a run may take.
pub(super) struct Limits {
    pub boot: Duration,
    /// None for any time.
    pub run: Option<Duration>,
}

/// A command that has run to its end.
pub(super) struct Finished {
    pub end: CommandEnd,
    pub boot: Duration,
    pub console: String,
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

/// Where bytes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Console,
    Stdout,
    Stderr,
    Status,
    /// Messages of qemu itself.
    Qemu,
}

/// Pieces of output that wait to be taken. The guest waits while there are as many.
const PIECES: usize = 64;
const PIECE: usize = 64 << 10;
/// A guest whose command has ended gets this time to power off. It has nothing to say any more.
const POWER_OFF: Duration = Duration::from_secs(10);
/// What qemu says when KVM gives up. It then waits for a debugger.
const KVM_ERROR: &str = "KVM internal error";

/// What has come from a guest so far.
#[derive(Default)]
struct Progress {
    console: Console,
    /// Messages of qemu.
    qemu: String,
    /// The part of a status line that has come.
    line: Vec<u8>,
    boot: Option<Duration>,
    end: Option<CommandEnd>,
    refused: Option<String>,
}

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

    /// Passes on the output until the guest has powered off. Where its reader is gone, the guest's command gets SIGPIPE. Fails if a limit is over, and if the guest ends before its command.
    pub fn follow(
        &mut self,
        limits: &Limits,
        output: &mut dyn FnMut(Output<'_>) -> Reader,
    ) -> Result<Finished, BootFailure> {
        let mut progress = Progress::default();
        let mut deadline = self.started.checked_add(limits.boot);
        loop {
            match self.next_event(deadline) {
                Ok((Source::Stdout, bytes)) => {
                    close_without_reader(&self.stdout, output(Output::Stdout(&bytes)))
                }
                Ok((Source::Stderr, bytes)) => {
                    close_without_reader(&self.stderr, output(Output::Stderr(&bytes)))
                }
                Ok((source, bytes)) => {
                    let before = progress.stage();
                    progress.take(source, &bytes, self.started);
                    if progress.qemu.contains(KVM_ERROR) {
                        return Err(progress.kvm_error());
                    }
                    if progress.stage() != before {
                        let time = if progress.stage() == Stage::Runs { limits.run } else { Some(POWER_OFF) };
                        deadline = time.and_then(|time| Instant::now().checked_add(time));
                    }
                }
                // It may have written more than was taken until now.
                Err(RecvTimeoutError::Timeout) if progress.stage() == Stage::PowersOff => {
                    // It may have ended.
                    let _ = self.qemu.kill();
                    deadline = None;
                }
                Err(RecvTimeoutError::Timeout) => return progress.finish(Why::Timeout(limits)),
                // qemu has ended, and so have all ports.
                Err(RecvTimeoutError::Disconnected) => return progress.finish(Why::QemuEnded),
            }
        }
    }

    fn next_event(&self, deadline: Option<Instant>) -> Result<(Source, Vec<u8>), RecvTimeoutError> {
        match deadline {
            Some(deadline) => self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// Closes a port's stream if the output has no reader. qemu tells the guest, whose first process closes the command's pipe.
fn close_without_reader(stream: &UnixStream, reader: Reader) {
    if reader == Reader::Gone {
        // It may be closed.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// How far a guest has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Boots,
    Runs,
    PowersOff,
}

/// Why nothing more is expected from a guest.
enum Why<'l> {
    Timeout(&'l Limits),
    QemuEnded,
}

impl Progress {
    fn stage(&self) -> Stage {
        match (self.boot, self.end, &self.refused) {
            (_, Some(_), _) | (_, _, Some(_)) => Stage::PowersOff,
            (Some(_), None, None) => Stage::Runs,
            (None, None, None) => Stage::Boots,
        }
    }

    fn take(&mut self, source: Source, bytes: &[u8], started: Instant) {
        match source {
            Source::Console => self.console.push(bytes),
            Source::Qemu => self.qemu += &String::from_utf8_lossy(bytes),
            Source::Status => {
                self.line.extend_from_slice(bytes);
                while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = self.line.drain(..=end).collect();
                    self.note(&String::from_utf8_lossy(&line[..end]), started);
                }
            }
            Source::Stdout | Source::Stderr => {}
        }
    }

    fn note(&mut self, line: &str, started: Instant) {
        match Status::parse(line) {
            Some(Status::Started) => self.boot = Some(started.elapsed()),
            Some(Status::Ended(end)) => self.end = Some(end),
            Some(Status::Refused(why)) => self.refused = Some(why),
            None => {}
        }
    }

    /// The result, or the error that tells why there is none.
    fn finish(self, why: Why<'_>) -> Result<Finished, BootFailure> {
        if let Some(end) = self.end {
            return Ok(Finished { end, boot: self.boot.unwrap_or_default(), console: self.console.text() });
        }
        if let Some(refused) = self.refused {
            return Err(BootFailure::Other(Error::CannotRun(format!("in the virtual machine: {refused}"))));
        }
        let error = Error::Environment(format!("{}{}", self.reason(&why), self.quoted()));
        Err(match self.boot {
            Some(_) => BootFailure::Other(error),
            None => BootFailure::NotBooted { error, why: "a boot by KVM has failed".into() },
        })
    }

    /// One line on why the command has not ended.
    fn reason(&self, why: &Why<'_>) -> String {
        if let Some(panic) = self.console.panic() {
            return format!(
                "the kernel of the virtual machine has panicked: {panic}; the end of its console:"
            );
        }
        let has_booted = self.boot.is_some();
        match why {
            Why::Timeout(limits) if has_booted => format!(
                "the command in the virtual machine ran longer than {} s: raise --time-limit; the end of its console:",
                limits.run.unwrap_or_default().as_secs_f64()
            ),
            Why::Timeout(limits) => format!(
                "the virtual machine did not boot within {} s: try another --kernel, or wait until this machine is less busy; \
                 the end of its console:",
                limits.boot.as_secs()
            ),
            Why::QemuEnded if has_booted => {
                "the virtual machine ended before its command: the command may have rebooted it; the end of its console:".into()
            }
            Why::QemuEnded if self.console.text().is_empty() => "qemu cannot boot the virtual machine; it says:".into(),
            Why::QemuEnded => {
                "the virtual machine ended before it had started the command: try another --kernel, or more --memory; the end \
                 of its console:"
                    .into()
            }
        }
    }

    /// What the message quotes: the console, or qemu's words where the console is empty.
    fn quoted(&self) -> String {
        let said = self.qemu.trim();
        if !self.console.text().is_empty() || said.is_empty() {
            return self.console.quote();
        }
        let mut console = Console::default();
        console.push(said.as_bytes());
        console.quote()
    }

    fn kvm_error(&self) -> BootFailure {
        let line = self.qemu.lines().find(|line| line.contains(KVM_ERROR)).unwrap_or(KVM_ERROR);
        let why = format!("KVM fails here ({})", line.trim());
        BootFailure::NotBooted { error: Error::Environment(format!("{why}: use --accel tcg")), why }
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    const LIMITS: Limits = Limits { boot: Duration::from_secs(9), run: Some(Duration::from_secs(3)) };

    fn progress(pieces: &[(Source, &str)]) -> Progress {
        let mut progress = Progress::default();
        for (source, text) in pieces {
            progress.take(*source, text.as_bytes(), Instant::now());
        }
        progress
    }

    #[test]
    fn status_lines_are_read_in_pieces() {
        let mut guest = progress(&[(Source::Status, "star"), (Source::Status, "ted\nend")]);
        assert_eq!(guest.stage(), Stage::Runs);
        guest.take(Source::Status, b"ed 7 1000 300 200\n", Instant::now());
        assert_eq!(guest.stage(), Stage::PowersOff);
        let Ok(finished) = guest.finish(Why::QemuEnded) else { panic!("it has ended") };
        assert_eq!((finished.end.code, finished.end.wall), (7, Duration::from_millis(1)));
    }

    fn error(pieces: &[(Source, &str)], why: Why<'_>) -> (bool, String) {
        match progress(pieces).finish(why) {
            Err(BootFailure::NotBooted { error, .. }) => (true, error.to_string()),
            Err(BootFailure::Other(error)) => (false, error.to_string()),
            Ok(_) => panic!("it has not ended"),
        }
    }

    #[test]
    fn failed_boot_is_told_with_the_console() {
        let (may_retry, text) = error(&[(Source::Console, "Linux 7\n")], Why::Timeout(&LIMITS));
        assert!(may_retry && text.starts_with("the virtual machine did not boot within 9 s: "), "{text}");
        assert!(text.ends_with("\n  | Linux 7"), "{text}");
        let (may_retry, text) = error(&[(Source::Qemu, "qemu: bad option\n")], Why::QemuEnded);
        assert!(may_retry, "{text}");
        assert_eq!(text, "qemu cannot boot the virtual machine; it says:\n  | qemu: bad option");
    }

    #[test]
    fn panic_and_time_limit_are_told_of_a_command_that_ran() {
        let panic = "[ 1.0] Kernel panic - not syncing: oops\n";
        let (may_retry, text) =
            error(&[(Source::Status, "started\n"), (Source::Console, panic)], Why::QemuEnded);
        assert!(!may_retry && text.contains("has panicked: Kernel panic - not syncing: oops;"), "{text}");
        let (may_retry, text) = error(&[(Source::Status, "started\n")], Why::Timeout(&LIMITS));
        assert!(!may_retry && text.contains("longer than 3 s: raise --time-limit"), "{text}");
        let (_, text) = error(&[(Source::Status, "refused sh: no such file\n")], Why::QemuEnded);
        assert_eq!(text, "in the virtual machine: sh: no such file");
    }

    #[test]
    fn error_of_kvm_is_told_in_a_few_words() {
        let progress = progress(&[(Source::Qemu, "KVM internal error. Suberror: 1\nRAX=0\n")]);
        let BootFailure::NotBooted { error, why } = progress.kvm_error() else { panic!("TCG may boot it") };
        assert_eq!(why, "KVM fails here (KVM internal error. Suberror: 1)");
        assert_eq!(error.to_string(), format!("{why}: use --accel tcg"));
    }

    /// A session of a shell that does what these words say, in place of qemu.
    fn session(folder: &Path, words: &str) -> Session {
        let file = folder.join("qemu");
        fs::write(&file, format!("#!/bin/sh\n{words}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
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
        // As the guest: the writer gets SIGPIPE, and its end is told.
        let words = "echo started >&6; (yes >&4); echo ended $? 1 1 1 >&6";
        let finished =
            session(folder.path(), words).follow(&NO_LIMITS, &mut |_| Reader::Gone).expect("it has ended");
        assert_eq!(finished.end.code, 141);
    }

    #[test]
    fn output_is_complete_though_its_reader_is_slow() {
        let folder = tempfile::tempdir().unwrap();
        let words = "echo started >&6; head -c 5000000 /dev/zero >&4; echo ended 0 1 1 1 >&6";
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
