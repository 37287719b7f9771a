//! `unspin vm` with a shell in place of qemu, which says what a guest says: no boot takes place.

use crate::common::{finish, unspin};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// `unspin vm` with this script in place of qemu, with a kernel that has a header only, and with a cache of its own.
fn vm(folder: &TempDir, qemu: &str, options: &[&str], command: &str) -> Command {
    let path = |name: &str| folder.path().join(name);
    // Written by another process, which no other test's child can hold open while it is executed.
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
    assert!(writer.arg(path("qemu-system-x86_64")).arg(qemu).status().unwrap().success());
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
    image[0x300..0x305].copy_from_slice(b"7.9.9");
    fs::write(path("vmlinuz"), image).unwrap();
    fs::create_dir_all(path("cache")).unwrap();
    let mut machine = unspin(&["vm"]);
    machine.args(options).arg("--kernel").arg(path("vmlinuz")).args(["--", command]);
    machine.env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
    machine.env("XDG_CACHE_HOME", path("cache"));
    machine
}

/// What qemu itself says of its failure is told.
#[test]
fn qemu_that_ends_at_once_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let qemu = "echo 'qemu: no such machine' >&2\nexit 1";
    let (out, err, code) = finish(&mut vm(&folder, qemu, &["--accel", "tcg"], "true"));
    let expected = "unspin: qemu cannot boot the virtual machine; it says:\n  | qemu: no such machine\n";
    assert_eq!((out.as_str(), err.as_str(), code), ("", expected, Some(125)));
}

/// Without the closed port, the guest's command would write for ever.
#[test]
fn reader_that_is_gone_ends_the_command_as_sigpipe_does() {
    let folder = tempfile::tempdir().unwrap();
    let qemu = "echo started >&6; (yes >&4) 2>/dev/null || echo ended 141 0 0 0 0 0 >&6";
    let mut machine = vm(&folder, qemu, &["--accel", "tcg", "--quiet"], "yes");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = machine.stdin(Stdio::null()).stdout(writer).status().unwrap();
    assert_eq!(ended.code(), Some(141));
}

/// The line on a boot by KVM that failed says how KVM is tried again, also when the failure is remembered.
#[test]
fn kvm_that_has_failed_can_be_tried_again() {
    if fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return eprintln!("SKIPPED, because there is no /dev/kvm that may be used");
    }
    let folder = tempfile::tempdir().unwrap();
    let boots = "echo started >&6; echo ended 0 0 0 0 0 0 >&6";
    let fails = format!(
        "case \"$*\" in *' -accel kvm '*) echo KVM internal error. >&2; exec sleep 1000;; esac\n{boots}"
    );
    let said = |qemu: &str, options: &[&str]| {
        let (_, err, code) = finish(&mut vm(&folder, qemu, options, "true"));
        assert_eq!(code, Some(0), "{err}");
        err
    };
    for _ in ["tried", "remembered"] {
        let err = said(&fails, &[]);
        assert!(
            err.contains("KVM internal error.") && err.contains("--accel kvm") && err.contains(", tcg, "),
            "{err}"
        );
    }
    assert!(said(boots, &["--accel", "kvm"]).contains(", kvm, "));
    assert!(said(boots, &[]).contains(", kvm, "), "the failure is still remembered");
}

/// What makes no sense in a folder is copied or left out. The command itself has to be a program for the machine.
#[test]
fn broken_file_in_a_folder_is_data_and_a_broken_command_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let broken = data.join("broken");
    fs::write(&broken, b"\x7fELF\x02\x01\x01").unwrap();
    fs::set_permissions(&broken, Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("mkfifo").arg(data.join("fifo")).status().unwrap().success());
    let qemu = "echo started >&6; echo ended 7 0 0 0 0 0 >&6";
    let options = ["--accel", "tcg", "--quiet", "--file", data.to_str().unwrap()];
    assert_eq!(finish(&mut vm(&folder, qemu, &options, "true")), (String::new(), String::new(), Some(7)));
    refused(&mut vm(&folder, qemu, &options, broken.to_str().unwrap()), &broken);
}

fn refused(machine: &mut Command, program: &Path) {
    let (_, err, code) = finish(machine);
    assert_eq!(code, Some(126), "{err}");
    assert!(
        err.starts_with(&format!("unspin: {}: ", program.display())) && err.lines().count() == 1,
        "{err}"
    );
}
