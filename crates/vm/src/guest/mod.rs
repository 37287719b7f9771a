//! The first process of the guest: prepares the system, runs the command, and tells how it ended.

mod modules;
mod ports;
mod scheduled;
mod system;

use crate::initramfs::{COMMAND, GuestCommand};
use crate::status::{CommandEnd, Status};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ports::Ports;
use scheduled::Scheduled;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, End, Usage};

/// The argument by which a program is told that it is this process.
pub const ARGUMENT: &str = "vm-init";

/// Does all of it. Never returns: the end of the first process would be a panic of the kernel.
pub fn perform() -> ! {
    if let Err(why) = run() {
        eprintln!("unspin: {why}");
    }
    power_off()
}

fn power_off() -> ! {
    // Fails only if this is not the first process of a guest.
    let _ = reboot(RebootMode::RB_POWER_OFF);
    std::process::exit(125)
}

/// Prepares the system, and runs the command. An error is for the console: there may be no ports.
fn run() -> Result<(), String> {
    if std::process::id() != 1 {
        return Err(format!("{ARGUMENT} is for the first process of a virtual machine"));
    }
    system::mount();
    modules::load()?;
    system::set_up();
    let mut ports = Ports::open()?;
    let command = fs::read(COMMAND).map_err(|error| format!("{COMMAND}: {error}"))?;
    let command = GuestCommand::decode(&command).ok_or_else(|| format!("{COMMAND}: is damaged"))?;
    let status = match Scheduled::begin(command.scheduler.as_ref()) {
        Err(why) => Status::Unscheduled(why),
        Ok(scheduled) => perform_command(&command, scheduled, &mut ports)
            .unwrap_or_else(|error| Status::Refused(format!("{}: {error}", command.program.display()))),
    };
    ports.tell(&status);
    if let Status::Ended(_) = status {
        wait_for_host();
    }
    Ok(())
}

/// Waits until the host kills qemu, which it does when all of the output has come. What qemu has not passed on yet, because the reader
/// is slow, would be lost by a power-off: up to 128 buffers of a port.
fn wait_for_host() -> ! {
    loop {
        std::thread::park();
    }
}

fn perform_command(
    command: &GuestCommand,
    scheduled: Scheduled,
    ports: &mut Ports,
) -> std::io::Result<Status> {
    let mut started = Command::new(&command.program);
    started.arg0(&command.words[0]).args(&command.words[1..]).current_dir(&command.folder);
    started.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
    started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    child::execute_like_execvp(child::in_new_session(&mut started));
    if scheduled.is_for_program_only() {
        child::under_sched_ext(&mut started);
    }
    ports.tell(&Status::Started);
    let start = Instant::now();
    let mut process = started.spawn()?;
    let pumps = [ports.stdout.pump(process.stdout.take())?, ports.stderr.pump(process.stderr.take())?];
    let (code, used) = wait(process.id())?;
    let wall = start.elapsed();
    // Before its process is killed.
    let scheduler = scheduled.finish();
    // What still runs keeps the pipes open. Nothing but this process needs to live.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    let used = sum(used, remaining());
    // A pump that panicked has said so on the console.
    let [stdout, stderr] = pumps.map(|pump| pump.join().unwrap_or_default());
    let [user, system] = [used.user_us, used.system_us].map(Duration::from_micros);
    match scheduler {
        Err(why) => return Ok(Status::Unscheduled(format!("{why}; the command's exit code is {code}"))),
        Ok(Some(scheduler)) => ports.tell(&Status::Scheduled(scheduler)),
        Ok(None) => {}
    }
    Ok(Status::Ended(CommandEnd { code, wall, user, system, stdout, stderr }))
}

/// Waits for the command. Returns its exit code, and what all processes have used that have ended until then: the kernel gives
/// orphans to the first process, so that each is waited for by its parent, or here.
fn wait(command: u32) -> std::io::Result<(i32, Usage)> {
    let mut used = Usage::default();
    loop {
        let ended = child::wait_any().map_err(|errno| std::io::Error::from_raw_os_error(errno.0))?;
        used += ended.usage;
        if ended.pid == command {
            let code = match ended.end {
                End::Exited(code) => code,
                End::Killed(signal) => 128 + signal,
            };
            return Ok((code, used));
        }
    }
}

/// What the processes have used that were killed: all that this process still has as children, or gets from those. It waits
/// without limit, since each of them has got SIGKILL, and no process of it can be created any more.
fn remaining() -> Usage {
    // The only error is ECHILD.
    std::iter::from_fn(|| child::wait_any().ok()).fold(Usage::default(), |used, ended| sum(used, ended.usage))
}

fn sum(mut used: Usage, more: Usage) -> Usage {
    used += more;
    used
}
