//! Runs programs to their end, and returns their output, wall time and CPU time.

use super::Figures;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, End};

/// A program that takes longer is considered to hang.
const RUN_TIMEOUT: Duration = Duration::from_secs(50);

/// A program that has ended well.
#[derive(Debug)]
pub struct Done {
    /// The child's standard output.
    pub text: String,
    /// CPU time of it and of its children, in seconds.
    pub cpu_s: f64,
    /// Time by the clock, in seconds.
    pub wall_s: f64,
}

/// Runs it to its end. Its output goes to a file instead of a pipe, so that this process waits for nothing but the end.
pub fn run_with_output(command: &mut Command) -> Result<Done, String> {
    let mut said = tempfile::tempfile().map_err(|e| format!("no scratch file: {e}"))?;
    let clone = said.try_clone().map_err(|e| format!("a scratch file: {e}"))?;
    let done = run_to_end(command.stdout(clone))?;
    let mut text = String::new();
    let read = std::io::Seek::rewind(&mut said).and_then(|()| said.read_to_string(&mut text));
    read.map_err(|e| format!("what {:?} printed: {e}", command.get_program()))?;
    Ok(Done { text, ..done })
}

/// Runs it to its end, without its output.
fn run_to_end(command: &mut Command) -> Result<Done, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let started = Instant::now();
    let mut running = command.stdin(Stdio::null()).spawn().map_err(|e| format!("{name}: {e}"))?;
    let ended = child::wait_for(running.id(), RUN_TIMEOUT).map_err(|e| format!("{name}: {e}"))?;
    let Some(ended) = ended else {
        let _ = running.kill();
        return Err(format!("{name} did not end within {} s", RUN_TIMEOUT.as_secs()));
    };
    let wall_s = started.elapsed().as_secs_f64();
    match ended.end {
        End::Exited(0) => Ok(Done { text: String::new(), cpu_s: ended.usage.cpu_s(), wall_s }),
        end => Err(format!("{name}: {end:?}")),
    }
}

/// The one number that a program prints.
pub fn one_figure(command: &mut Command) -> Result<f64, String> {
    let done = run_with_output(command)?;
    number(&done.text)
}

/// The number that a text is.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("printed {text:?} instead of a figure"))
}

/// A program that prints units a second of the `ms` that it measures. Its CPU time is all of it, the start included.
pub fn own_clock(command: &mut Command, ms: u64) -> Result<Figures, String> {
    let done = run_with_output(command)?;
    let per_second = number(&done.text)?;
    let units = per_second * ms as f64 / 1e3;
    Ok(Figures::Rate { per_second, cpu_us: 1e6 * done.cpu_s / units })
}

/// A program that is one unit of work. Its output goes nowhere.
pub fn whole(command: &mut Command) -> Result<Figures, String> {
    let done = run_to_end(command.stdout(Stdio::null()))?;
    Ok(Figures::Rate { per_second: 1.0 / done.wall_s, cpu_us: 1e6 * done.cpu_s })
}

/// A server, killed and waited for when it is dropped.
#[derive(Debug)]
pub struct Server(Option<Child>);

impl Server {
    /// Starts it, and waits until it is `ready`.
    pub fn start(command: &mut Command, ready: impl Fn() -> bool) -> Result<Server, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        child::kill_on_parent_death(command.stdin(Stdio::null()).stdout(Stdio::null()));
        let server = Server(Some(command.spawn().map_err(|e| format!("{name}: {e}"))?));
        let started = Instant::now();
        while !ready() {
            if started.elapsed() > Duration::from_secs(20) {
                return Err(format!("{name} was not ready within 20 s"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// The child's pid.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Ends it. The CPU seconds that it took in all.
    pub fn stop(mut self) -> f64 {
        let Some(mut server) = self.0.take() else { return 0.0 };
        let _ = server.kill();
        let ended = child::wait_for(server.id(), RUN_TIMEOUT);
        ended.ok().flatten().map_or(0.0, |ended| ended.usage.cpu_s())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(server) = &mut self.0 {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
