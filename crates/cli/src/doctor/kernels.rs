//! Whether other kernels can be booted.

use super::check::Check;
use std::fs::File;
use std::io::ErrorKind;
use unspin_launch::command::lab::QEMU;
use unspin_launch::program::Program;

const TRANSLATED: &str = "the instructions of a virtual machine are translated: only ratios mean anything, and a boot takes 5 s and more";

/// qemu, and the device of KVM. Whether KVM works there, only a boot finds out.
pub fn virtual_machines() -> Check {
    const NAME: &str = "virtual machines";
    let is_there = Program::find_any(&[QEMU.into()]).is_ok();
    let kvm = File::options().read(true).write(true).open("/dev/kvm");
    match (is_there, kvm) {
        (false, _) => Check::limited(
            NAME,
            format!("there is no {QEMU} in PATH"),
            "`vm`, and `--kernel` of prove and reproduce, cannot boot a kernel",
            Some("apt-get install qemu-system-x86"),
        ),
        (true, Ok(_)) => Check::ok(
            NAME,
            "qemu and /dev/kvm are there; where KVM fails in a boot, only ratios mean anything",
        ),
        (true, Err(error)) if error.kind() == ErrorKind::PermissionDenied => Check::limited(
            NAME,
            format!("qemu is there, and /dev/kvm cannot be used: {error}"),
            TRANSLATED,
            Some("add the user to the group kvm"),
        ),
        (true, Err(error)) => Check::limited(
            NAME,
            format!("qemu is there, and /dev/kvm cannot be used: {error}"),
            TRANSLATED,
            None,
        ),
    }
}
