//! The command line of qemu.

use super::accelerator::Accelerator;
use super::memory::MIB;
use crate::guest::ARGUMENT;
use command_fds::{CommandFdExt, FdMapping};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use unspin_launch::command::lab::QEMU;
use unspin_launch::error::Error;
use unspin_launch::program::reach;
use unspin_sys::child;

/// Whether the guest is told that it runs in a virtual machine (CPUID leaf 1, the bit `hypervisor`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HypervisorBit {
    /// It is told, and may use spin locks for virtual machines.
    Shown,
    /// It is not told, and uses the spin locks of real machines, whose tracepoints report contention.
    Hidden,
}

/// Where qemu is.
pub(super) struct Qemu(PathBuf);

/// What a guest is like.
pub(super) struct Options<'o> {
    pub kernel: &'o Path,
    pub cpus: usize,
    pub memory: u64,
    pub accelerator: Accelerator,
    pub hypervisor_bit: HypervisorBit,
    pub parameters: &'o [String],
}

/// Our ends of the guest's ports.
pub(super) struct Ports {
    pub console: UnixStream,
    pub stdout: UnixStream,
    pub stderr: UnixStream,
    pub status: UnixStream,
}

/// The descriptors of qemu, by their numbers in it: the ends of the ports, and the initramfs.
const CONSOLE: i32 = 3;
const STDOUT: i32 = 4;
const STDERR: i32 = 5;
const STATUS: i32 = 6;
const INITRAMFS: i32 = 7;

impl Qemu {
    /// Finds it in `PATH`.
    pub fn find() -> Result<Qemu, Error> {
        Qemu::find_in(env::var_os("PATH"))
    }

    /// A program in its place.
    #[cfg(test)]
    pub fn in_file(file: PathBuf) -> Qemu {
        Qemu(file)
    }

    fn find_in(path: Option<OsString>) -> Result<Qemu, Error> {
        let path = path.unwrap_or_default();
        let mut files = env::split_paths(&path).map(|folder| folder.join(QEMU));
        files.find(|file| reach::is_executable(file)).map(Qemu).ok_or_else(|| {
            Error::Environment(format!(
                "there is no {QEMU} in PATH, and virtual machines are booted by it: apt-get install qemu-system-x86"
            ))
        })
    }

    /// Starts it. It is killed when the calling thread ends.
    pub fn start(&self, options: &Options<'_>, initramfs: &File) -> std::io::Result<(Child, Ports)> {
        let mut mappings = Vec::new();
        let mut port = |child_fd| -> std::io::Result<UnixStream> {
            let (ours, its) = UnixStream::pair()?;
            mappings.push(FdMapping { parent_fd: OwnedFd::from(its), child_fd });
            Ok(ours)
        };
        let ports = Ports {
            console: port(CONSOLE)?,
            stdout: port(STDOUT)?,
            stderr: port(STDERR)?,
            status: port(STATUS)?,
        };
        mappings.push(FdMapping { parent_fd: initramfs.try_clone()?.into(), child_fd: INITRAMFS });
        let mut command = Command::new(&self.0);
        command.args(arguments(options)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.fd_mappings(mappings).map_err(std::io::Error::other)?;
        Ok((child::kill_on_parent_death(&mut command).spawn()?, ports))
    }
}

fn arguments(options: &Options<'_>) -> Vec<OsString> {
    let accelerator = match options.accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "tcg,thread=multi",
    };
    let cpu = match options.accelerator {
        Accelerator::Kvm => "host",
        Accelerator::Tcg => "max",
    };
    let cpu = match options.hypervisor_bit {
        HypervisorBit::Shown => cpu.to_owned(),
        HypervisorBit::Hidden => format!("{cpu},-hypervisor"),
    };
    let mut arguments: Vec<OsString> =
        ["-nodefaults", "-no-user-config", "-nographic", "-no-reboot"].map(OsString::from).to_vec();
    let mut add = |name: &str, value: OsString| arguments.extend([name.into(), value]);
    add("-machine", "pc".into());
    add("-accel", accelerator.into());
    add("-cpu", cpu.into());
    add("-smp", options.cpus.to_string().into());
    add("-m", format!("{}M", options.memory / MIB).into());
    add("-kernel", options.kernel.into());
    add("-initrd", format!("/proc/self/fd/{INITRAMFS}").into());
    add("-append", kernel_line(options).into());
    add("-device", "virtio-serial-pci".into());
    let ports = [("console", CONSOLE), ("stdout", STDOUT), ("stderr", STDERR), ("status", STATUS)];
    for (number, (name, descriptor)) in ports.into_iter().enumerate() {
        add("-chardev", format!("socket,id={name},fd={descriptor}").into());
        match number {
            0 => add("-serial", format!("chardev:{name}").into()),
            _ => add("-device", format!("virtserialport,chardev={name},nr={number},name={name}").into()),
        }
    }
    arguments
}

/// The parameters of the kernel. It ends at a panic, and so does qemu. An oops is a panic: a kernel that goes on after it, with a
/// process killed in the midst of its work, proves nothing. What follows the two hyphens are arguments of the first
/// process.
fn kernel_line(options: &Options<'_>) -> String {
    let mut words = vec!["console=ttyS0", "quiet", "loglevel=4", "panic=-1", "oops=panic"];
    words.extend(options.parameters.iter().map(String::as_str));
    words.extend(["--", ARGUMENT]);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(accelerator: Accelerator, hypervisor_bit: HypervisorBit) -> String {
        let parameters = ["profile=2".to_owned()];
        let options = Options {
            kernel: Path::new("/k/vmlinuz"),
            cpus: 4,
            memory: 512 * MIB,
            accelerator,
            hypervisor_bit,
            parameters: &parameters,
        };
        let words: Vec<_> =
            arguments(&options).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn options_reach_the_command_line() {
        let tcg = line(Accelerator::Tcg, HypervisorBit::Shown);
        assert!(
            tcg.contains(" -accel tcg,thread=multi -cpu max -smp 4 -m 512M -kernel /k/vmlinuz "),
            "{tcg}"
        );
        assert!(tcg.contains(" panic=-1 oops=panic profile=2 -- vm-init -device "), "{tcg}");
        assert!(tcg.contains(" -device virtserialport,chardev=status,nr=3,name=status"), "{tcg}");
        let hidden = line(Accelerator::Kvm, HypervisorBit::Hidden);
        assert!(hidden.contains(" -accel kvm -cpu host,-hypervisor "), "{hidden}");
    }

    #[test]
    fn missing_qemu_is_refused_with_its_package() {
        let Err(error) = Qemu::find_in(Some("/nothing:".into())) else { panic!("there is none") };
        assert!(error.to_string().ends_with("apt-get install qemu-system-x86"), "{error}");
        assert_eq!(error.code(), 125);
    }
}
