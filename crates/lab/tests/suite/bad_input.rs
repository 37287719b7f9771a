//! Invalid command lines: one line that names the culprit and the remedy, and a documented exit code.

use crate::common::{finish, unspin};

/// The exit code and all of standard error.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!(out, "", "nothing is reported");
    (code.unwrap(), err)
}

/// Clap refuses the command line before anything is run; its first line names the culprit.
#[test]
fn invalid_command_line_is_refused_with_the_culprit() {
    let cases: [(&[&str], &str); 15] = [
        (&["dbt1", "--mix", "stealing"], "'stealing' for '--mix <MIX>'"),
        (&["dbt1", "--duration", "0"], "'0' for '--duration <TIME>': give a time such as 500ms"),
        (&["dbt1", "--browsers", "-1"], "'-1'"),
        (&["volano", "100"], "'100'"),
        (&["volano", "--rooms", "many"], "'many' for '--rooms <NUM>'"),
        (&["volano", "--rooms", "-1"], "'-1'"),
        (&["volano", "--port", "65536"], "'65536' for '--port <PORT>': 65536 is not in 0..=65535"),
        (&["volano", "--timeout", "0"], "'0' for '--timeout <TIME>': give a time such as 500ms"),
        (&["volano", "--model", "tasks", "--runqueue", "none"], "'none' for '--runqueue <KIND>'"),
        (&["volano", "--model", "fibers"], "'fibers' for '--model <MODEL>'"),
        (&["vm", "--accel", "xen", "true"], "'xen' for '--accel <NAME>'"),
        (&["vm", "--cpus", "0", "true"], "'0' for '--cpus <NUM>': 0 is not in 1..=255"),
        (&["vm", "--memory", "512", "true"], "'512' for '--memory <SIZE>': give a size such as 512M or 2G"),
        (&["vm", "--time-limit", "0", "true"], "'0' for '--time-limit <TIME>': give a time such as 500ms"),
        (&["vm", "--kernel", "rt"], "<COMMAND>..."),
    ];
    for (arguments, culprit) in cases {
        let (code, text) = refusal(arguments);
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(text.starts_with("unspin: ") && text.contains(culprit), "{arguments:?}: {text}");
    }
}

#[test]
fn unusable_option_is_refused_in_one_line() {
    let expected = [
        (&["volano", "--rooms", "0"][..], "unspin: volano: --rooms must be at least 1\n"),
        (
            &["volano", "--model", "tokio", "--runqueue", "percpu"],
            "unspin: volano: --runqueue requires --model tasks\n",
        ),
        (&["volano", "--runs", "0"], "unspin: volano: --runs must be at least 1\n"),
        (
            &["volano", "--messages", "18446744073709551615"],
            "unspin: volano: --users 20 --messages 18446744073709551615: a room can have 4294967295 messages at most\n",
        ),
        (&["volano", "--model", "tokio", "--workers", "0"], "unspin: volano: --workers must be at least 1\n"),
    ];
    for (arguments, text) in expected {
        assert_eq!(refusal(arguments), (2, text.to_owned()), "{arguments:?}");
    }
}

/// Without qemu, and without apt for a kernel that is not in the cache: the line names the package or the remedy.
#[test]
fn virtual_machine_that_cannot_be_had_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut without_qemu = unspin(&["vm", "--", "/bin/true"]);
    let (out, err, code) = finish(without_qemu.env("PATH", folder.path()));
    let expected = "unspin: there is no qemu-system-x86_64 in PATH, and virtual machines are booted by it: apt-get install \
                    qemu-system-x86\n";
    assert_eq!((out.as_str(), err.as_str(), code), ("", expected, Some(125)));

    let qemu = folder.path().join("qemu-system-x86_64");
    std::os::unix::fs::symlink("/bin/false", &qemu).unwrap();
    let mut without_apt = unspin(&["vm", "--kernel", "cloud", "--", "/bin/true"]);
    without_apt.env("PATH", folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
    let (out, err, code) = finish(&mut without_apt);
    assert_eq!((out.as_str(), code), ("", Some(125)), "{err}");
    let is_told = err.contains("there is no program apt-get here") || err.contains("debian-archive-keyring");
    assert!(is_told && err.lines().count() == 1, "{err}");

    let mut no_kernel = unspin(&["vm", "--kernel", "/bin/true", "--", "/bin/true"]);
    let (_, err, code) = finish(no_kernel.env("PATH", folder.path()));
    assert_eq!(code, Some(2));
    assert!(
        err.starts_with("unspin: --kernel /bin/true: is no kernel that a boot loader could start: "),
        "{err}"
    );
}

/// `unspin` itself knows neither options nor help of these commands.
#[test]
fn help_of_the_commands_is_found() {
    for (command, arguments) in
        [("volano", ""), ("dbt1", ""), ("reproduce", " [REPORT]"), ("vm", " -- <COMMAND>...")]
    {
        let help = finish(&mut unspin(&[command, "--help"]));
        assert!(help.0.contains(&format!("\nUsage: unspin {command} [OPTIONS]{arguments}\n")), "{help:?}");
        assert_eq!(finish(&mut unspin(&["help", command])), help);
        assert_eq!((help.1.as_str(), help.2), ("", Some(0)));
    }
}
