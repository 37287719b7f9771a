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
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, End, Ended, Usage};

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
    ports.tell(&Status::Booted);
    let status = match Scheduled::begin(&command) {
        Err(why) => Status::Unscheduled(why),
        Ok(scheduled) => perform_command(&command, scheduled, &mut ports).map_or_else(
            |error| Status::Refused(format!("{}: {error}", command.program.display())),
            Status::Ended,
        ),
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
    mut scheduled: Scheduled,
    ports: &mut Ports,
) -> io::Result<CommandEnd> {
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
    let mut used = Usage::default();
    let code = wait_for(process.id(), &mut scheduled, &mut used)?;
    let wall = start.elapsed();
    let loss = scheduled.loss();
    // What still runs keeps the pipes open, and would use CPU time while the scheduler ends.
    if let Some(keeper) = scheduled.pid() {
        kill_all_but(keeper, &mut scheduled, &mut used)?;
    }
    match scheduled.finish(loss) {
        Err(why) => ports.tell(&Status::Unscheduled(why)),
        Ok(Some(scheduler)) => ports.tell(&Status::Scheduled(scheduler)),
        Ok(None) => {}
    }
    // Nothing but this process needs to live.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    // It waits without limit, since each has got SIGKILL, and none can create a process any more. The only error is ECHILD.
    while let Ok(ended) = child::wait_any() {
        used += ended.usage;
    }
    // A pump that panicked has said so on the console.
    let [stdout, stderr] = pumps.map(|pump| pump.join().unwrap_or_default());
    let [user, system] = [used.user_us, used.system_us].map(Duration::from_micros);
    Ok(CommandEnd { code, wall, user, system, stdout, stderr })
}

/// Waits for the command, and returns its exit code. Adds what all processes have used that have ended until then: the kernel gives
/// orphans to the first process, so that each is waited for by its parent, or here.
fn wait_for(command: u32, scheduled: &mut Scheduled, used: &mut Usage) -> io::Result<i32> {
    loop {
        let ended = wait_any(scheduled, used)?;
        if ended.pid == command {
            return Ok(match ended.end {
                End::Exited(code) => code,
                End::Killed(signal) => 128 + signal,
            });
        }
    }
}

/// Waits for any child. What it has used is added, but for the scheduler's.
fn wait_any(scheduled: &mut Scheduled, used: &mut Usage) -> io::Result<Ended> {
    let ended = child::wait_any().map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
    if scheduled.pid() == Some(ended.pid) {
        scheduled.take_end(ended);
    } else {
        *used += ended.usage;
    }
    Ok(ended)
}

/// Looks at the children, of which each one finds those of the processes that have ended since the last. More are needed only where
/// processes start others all the time.
const LOOKS: usize = 1000;

/// Kills all processes but one child and its descendants. The children of a process that ends become those of this one. Where the
/// kernel lists no children (CONFIG_PROC_CHILDREN), they live until the scheduler has ended.
fn kill_all_but(kept: u32, scheduled: &mut Scheduled, used: &mut Usage) -> io::Result<()> {
    for _ in 0..LOOKS {
        let Ok(children) = fs::read_to_string("/proc/thread-self/children") else { break };
        let others = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        let others: Vec<u32> = others.filter(|&pid| pid != kept).collect();
        if others.is_empty() {
            break;
        }
        for &pid in &others {
            // It may have ended, and is waited for below.
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
        for _ in &others {
            wait_any(scheduled, used)?;
        }
    }
    Ok(())
}
