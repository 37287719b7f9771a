//! What executes the guest's instructions: the processor, by KVM, or a translator, TCG.
//!
//! A machine can have `/dev/kvm` and yet not boot by it, for instance where KVM cannot emulate an instruction. Only a boot tells.
//! The outcome is remembered until the next boot of the host.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::str::FromStr;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::library::cache;

/// What executes the guest's instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accelerator {
    /// The processor.
    Kvm,
    /// A translator.
    Tcg,
}

/// Which of them may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcceleratorChoice {
    /// KVM where it works, TCG elsewhere.
    Auto,
    /// This one only.
    Only(Accelerator),
}

impl FromStr for AcceleratorChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<AcceleratorChoice, ()> {
        match text {
            "auto" => Ok(AcceleratorChoice::Auto),
            "kvm" => Ok(AcceleratorChoice::Only(Accelerator::Kvm)),
            "tcg" => Ok(AcceleratorChoice::Only(Accelerator::Tcg)),
            _ => Err(()),
        }
    }
}

impl Accelerator {
    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// The time after which a guest that has not started its command will not do so. By TCG a boot takes 4 s on an idle machine, and
    /// many times as long on a busy one.
    pub(super) fn boot_limit(self) -> Duration {
        match self {
            Accelerator::Kvm => Duration::from_secs(30),
            Accelerator::Tcg => Duration::from_secs(120),
        }
    }
}

/// What is known about KVM before the boot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kvm {
    /// It has booted a guest before.
    Works,
    /// Nothing else may be used.
    Required,
    /// It cannot be used, for this reason.
    Absent(String),
    /// It could not boot a guest before, for this reason.
    Failed(String),
    /// The user wants none.
    Refused,
    /// Only a boot tells.
    Untried,
}

const DEVICE: &str = "/dev/kvm";
/// Prefix of the file's name in the cache.
const REMEMBERED: &str = "kvm-";
const WORKS: &str = "works";

impl Kvm {
    /// What is known. An error if KVM must be used and is not there.
    pub fn find(choice: AcceleratorChoice) -> Result<Kvm, Error> {
        let is_there = OpenOptions::new().read(true).write(true).open(DEVICE).map(drop);
        match (choice, is_there) {
            (AcceleratorChoice::Only(Accelerator::Tcg), _) => Ok(Kvm::Refused),
            (AcceleratorChoice::Only(Accelerator::Kvm), Ok(())) => Ok(Kvm::Required),
            (AcceleratorChoice::Only(Accelerator::Kvm), Err(error)) => Err(Error::Environment(format!(
                "--accel kvm: {}; use --accel auto, which works without KVM",
                reason(&error)
            ))),
            (AcceleratorChoice::Auto, Err(error)) => Ok(Kvm::Absent(reason(&error))),
            (AcceleratorChoice::Auto, Ok(())) => Ok(match cache::recall(&name()) {
                Some(text) if text == WORKS => Kvm::Works,
                Some(why) => Kvm::Failed(why),
                None => Kvm::Untried,
            }),
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("there is no {DEVICE}"),
        ErrorKind::PermissionDenied => format!("you may not use {DEVICE} (root and its group may)"),
        _ => format!("{DEVICE}: {error}"),
    }
}

/// The line on why the instructions are translated.
pub(super) fn translated(why: &str) -> String {
    format!("vm: {why}: the instructions are translated (TCG)")
}

/// The same where KVM is not tried, or not tried again. The cause may go: another qemu, a machine that was too busy for the boot.
pub(super) fn translated_from_now_on(why: &str) -> String {
    format!("{}, until this machine boots again, or --accel kvm has booted one", translated(why))
}

/// The name of the file in the cache: KVM may work after the next boot of the host.
fn name() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{REMEMBERED}{}", boot.trim())
}

/// Remembers that KVM has booted a guest, or why it could not boot one that TCG has booted.
pub(super) fn remember(failure: Option<&str>) {
    cache::remember(&name(), REMEMBERED, failure.unwrap_or(WORKS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_is_read_from_its_name() {
        for accelerator in [Accelerator::Kvm, Accelerator::Tcg] {
            assert_eq!(accelerator.name().parse(), Ok(AcceleratorChoice::Only(accelerator)));
        }
        assert_eq!("auto".parse(), Ok(AcceleratorChoice::Auto));
        assert_eq!("xen".parse::<AcceleratorChoice>(), Err(()));
    }

    #[test]
    fn remembered_failure_comes_with_the_way_to_try_again() {
        let line = translated_from_now_on("KVM fails here (no)");
        assert!(
            line.starts_with("vm: KVM fails here (no): the instructions are translated (TCG), until"),
            "{line}"
        );
        assert!(line.contains("--accel kvm"), "{line}");
        assert!(!translated("there is no /dev/kvm").contains("--accel"));
    }

    #[test]
    fn tcg_needs_no_device() {
        assert_eq!(Kvm::find(AcceleratorChoice::Only(Accelerator::Tcg)).unwrap(), Kvm::Refused);
        let absent = std::io::Error::from(ErrorKind::NotFound);
        assert_eq!(reason(&absent), "there is no /dev/kvm");
    }
}
