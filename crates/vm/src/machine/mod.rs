//! Virtual machines: one boot for each command line.

mod accelerator;
mod console;
mod memory;
mod own_streams;
mod progress;
mod qemu;
mod session;

pub use accelerator::{Accelerator, AcceleratorChoice};
pub use memory::MIB;
pub use qemu::HypervisorBit;
pub use session::Output;

use crate::initramfs::{self, GuestCommand, GuestFile, Initramfs};
use crate::kernel::Kernel;
pub use crate::status::GuestScheduler;
use accelerator::Kvm;
use progress::{BootFailure, FAILED_BOOT, Limits};
use qemu::Qemu;
use session::{Reader, Session};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::scheduler::SchedulerCommand;

/// Boots until a fault of TCG is told.
const BOOTS_MAX: u32 = 4;

/// Fails if this host has no qemu: to be asked before a kernel is fetched.
pub fn require_qemu() -> Result<(), Error> {
    Qemu::find().map(drop)
}

/// A virtual machine that can be booted.
#[derive(Clone, Debug)]
pub struct Machine {
    kernel: Kernel,
    cpus: usize,
    memory: Option<u64>,
    files: Vec<GuestFile>,
    accelerator: AcceleratorChoice,
    hypervisor_bit: HypervisorBit,
    parameters: Vec<String>,
    scheduler: Option<SchedulerCommand>,
    init: Option<PathBuf>,
    notice: Option<fn(&str)>,
}

/// How a command in a virtual machine ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; 128 + n if signal n killed it.
    pub code: i32,
    /// Its standard output. Empty if the caller took it as it came.
    pub stdout: Vec<u8>,
    /// Its standard error, likewise.
    pub stderr: Vec<u8>,
    /// The end of what the guest's kernel printed on its console.
    pub console: String,
    /// Seconds from the start of qemu to that of the command.
    pub boot_s: f64,
    /// Seconds from the start of the command to its end, by the guest's clock.
    pub run_s: f64,
    /// CPU seconds in user mode of all processes that the command has started, by the guest's account.
    pub user_s: f64,
    /// CPU seconds of the same in the guest's kernel.
    pub system_s: f64,
    /// What executed the guest's instructions.
    pub accelerator: Accelerator,
    /// Bytes of the guest's memory.
    pub memory: u64,
    /// The scheduler that the guest's kernel had enabled, if one was asked for.
    pub scheduler: Option<GuestScheduler>,
}

impl Machine {
    /// A machine with two CPUs, and with as much memory as the files need.
    pub fn new(kernel: Kernel) -> Machine {
        Machine {
            kernel,
            cpus: 2,
            memory: None,
            files: Vec::new(),
            accelerator: AcceleratorChoice::Auto,
            hypervisor_bit: HypervisorBit::Shown,
            parameters: Vec::new(),
            scheduler: None,
            init: None,
            notice: None,
        }
    }

    /// The number of CPUs.
    pub fn cpus(mut self, cpus: usize) -> Machine {
        self.cpus = cpus;
        self
    }

    /// Bytes of memory.
    pub fn memory(mut self, bytes: u64) -> Machine {
        self.memory = Some(bytes);
        self
    }

    /// A file or folder that the guest gets.
    pub fn file(mut self, file: GuestFile) -> Machine {
        self.files.push(file);
        self
    }

    /// What executes the guest's instructions.
    pub fn accelerator(mut self, choice: AcceleratorChoice) -> Machine {
        self.accelerator = choice;
        self
    }

    /// Whether the guest is told that it runs in a virtual machine.
    pub fn hypervisor_bit(mut self, bit: HypervisorBit) -> Machine {
        self.hypervisor_bit = bit;
        self
    }

    /// A parameter of the guest's kernel, such as `profile=2`.
    pub fn kernel_parameter(mut self, parameter: &str) -> Machine {
        self.parameters.push(parameter.to_owned());
        self
    }

    /// A scheduler that is loaded before the command is started, and must last until its end.
    pub fn scheduler(mut self, command: SchedulerCommand) -> Machine {
        self.scheduler = Some(command);
        self
    }

    /// The program that becomes the guest's first process: it calls [`guest::perform`](crate::guest::perform) where its first
    /// argument is [`guest::ARGUMENT`](crate::guest::ARGUMENT). By default it is `unspin-lab`.
    pub fn init(mut self, program: PathBuf) -> Machine {
        self.init = Some(program);
        self
    }

    /// Called with a line about what takes time, or is not as it should be.
    pub fn notice(mut self, notice: fn(&str)) -> Machine {
        self.notice = Some(notice);
        self
    }

    /// Boots, runs the command, and returns how it ended, with its output. Fails if it has not ended after `limit`.
    pub fn run(&self, command: &[OsString], limit: Option<Duration>) -> Result<Ended, Error> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let ended = self.perform(command, limit, &mut |output| {
            match output {
                Output::Stdout(bytes) => stdout.extend_from_slice(bytes),
                Output::Stderr(bytes) => stderr.extend_from_slice(bytes),
            }
            Reader::Listens
        })?;
        Ok(Ended { stdout, stderr, ..ended })
    }

    /// Boots, runs the command, and writes its output as it comes to standard output and standard error of this process. Where the
    /// reader of one of them is gone, the command gets SIGPIPE, as if it wrote there itself. Another error of a write ends the
    /// machine, and is returned.
    pub fn run_here(&self, command: &[OsString], limit: Option<Duration>) -> Result<Ended, Error> {
        self.perform(command, limit, &mut own_streams::write)
    }

    fn perform(
        &self,
        command: &[OsString],
        limit: Option<Duration>,
        output: &mut dyn FnMut(Output<'_>) -> Reader,
    ) -> Result<Ended, Error> {
        let command = GuestCommand::new(command, self.scheduler.as_ref())?;
        let qemu = Qemu::find()?;
        let init = self.init.clone().map_or_else(|| lab::find("vm"), Ok)?;
        let initramfs = initramfs::make(&self.kernel, &init, &command, &self.files)?;
        let memory = memory::choose(self.memory, initramfs.bytes)?;
        let kvm = Kvm::find(self.accelerator)?;
        let mut boot = |accelerator| self.boot(&qemu, &initramfs, memory, accelerator, limit, output);
        match kvm {
            Kvm::Works => boot(Accelerator::Kvm).map_err(Error::from),
            Kvm::Required => {
                let ended = boot(Accelerator::Kvm)?;
                accelerator::remember(None);
                Ok(ended)
            }
            Kvm::Absent(why) => {
                self.say(&accelerator::translated(&why));
                boot(Accelerator::Tcg).map_err(Error::from)
            }
            Kvm::Failed(why) => {
                self.say(&accelerator::translated_from_now_on(&why));
                boot(Accelerator::Tcg).map_err(Error::from)
            }
            Kvm::Refused => boot(Accelerator::Tcg).map_err(Error::from),
            Kvm::Untried => match boot(Accelerator::Kvm) {
                Err(BootFailure::NotBooted { why, .. }) => {
                    self.say(&accelerator::translated_from_now_on(&why));
                    let ended = boot(Accelerator::Tcg)?;
                    // The guest is not what is wrong.
                    accelerator::remember(Some(&why));
                    Ok(ended)
                }
                Err(BootFailure::StaleBreakpoint(error) | BootFailure::Other(error)) => Err(error),
                Ok(ended) => {
                    accelerator::remember(None);
                    Ok(ended)
                }
            },
        }
    }

    /// Boots, again where TCG has failed before the command was started.
    fn boot(
        &self,
        qemu: &Qemu,
        initramfs: &Initramfs,
        memory: u64,
        accelerator: Accelerator,
        run: Option<Duration>,
        output: &mut dyn FnMut(Output<'_>) -> Reader,
    ) -> Result<Ended, BootFailure> {
        let options = qemu::Options {
            kernel: &self.kernel.image,
            cpus: self.cpus,
            memory,
            accelerator,
            hypervisor_bit: self.hypervisor_bit,
            parameters: &self.parameters,
        };
        let limits = Limits { boot: accelerator.boot_limit(), run };
        let mut boots = 0;
        let ended = loop {
            boots += 1;
            match Session::start(qemu, &options, &initramfs.file)?.follow(&limits, output) {
                Err(BootFailure::StaleBreakpoint(error)) if accelerator == Accelerator::Kvm => {
                    return Err(BootFailure::NotBooted { error, why: FAILED_BOOT.into() });
                }
                Err(BootFailure::StaleBreakpoint(_)) if boots < BOOTS_MAX => {
                    self.say("vm: TCG has executed a breakpoint that the booting kernel had removed: booting again");
                }
                result => break result?,
            }
        };
        Ok(Ended {
            code: ended.end.code,
            stdout: Vec::new(),
            stderr: Vec::new(),
            console: ended.console,
            boot_s: ended.boot.as_secs_f64(),
            run_s: ended.end.wall.as_secs_f64(),
            user_s: ended.end.user.as_secs_f64(),
            system_s: ended.end.system.as_secs_f64(),
            accelerator,
            memory,
            scheduler: ended.scheduler,
        })
    }

    fn say(&self, line: &str) {
        if let Some(notice) = self.notice {
            notice(line);
        }
    }
}
