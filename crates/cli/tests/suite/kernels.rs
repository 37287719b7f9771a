//! `prove --kernel`: what is wrong is said before anything boots, and a machine that cannot boot is a failed run.

use crate::common::{finish, unspin};

#[test]
fn one_kernel_is_no_comparison() {
    let (out, err, code) = finish(&mut unspin(&["prove", "--kernel", "cloud", "--", "true"]));
    assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
    assert!(err.contains("--kernel cloud: name two kernels to compare, such as --kernel cloud,rt"), "{err}");
}

#[test]
fn kernels_are_not_mixed_with_other_candidates() {
    for other in [&["--waits", "poll"][..], &["--sysv", "rcu"]] {
        let words = [&["prove", "--kernel", "plain,rt"][..], other, &["--", "true"]].concat();
        let (_, err, code) = finish(&mut unspin(&words));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("--kernel") && err.contains("cannot be used with"), "{err}");
    }
    let (_, err, code) = finish(&mut unspin(&["prove", "--vm-options", "--cpus 4", "--", "true"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--kernel"), "{err}");
}

#[test]
fn schedulers_are_compared_on_one_kernel() {
    let (_, err, code) =
        finish(&mut unspin(&["prove", "--kernel", "plain,rt", "--scheduler", "scx", "--", "true"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--kernel names 2 kernels, and schedulers are compared on one: name one"), "{err}");
}

#[test]
fn scheduler_that_is_not_there_is_told_before_anything_boots() {
    let words = ["prove", "--kernel", "cloud", "--scheduler", "/no/such/scheduler", "--", "true"];
    let (out, err, code) = finish(&mut unspin(&words));
    assert_eq!((out.as_str(), code), ("", Some(127)), "{err}");
    assert!(err.contains("--scheduler '/no/such/scheduler'"), "{err}");
}

#[test]
fn what_no_boot_mends_ends_the_session() {
    for (kernels, option, said) in [
        ("clowd,rt", "--cpus 2", "--kernel clowd: there is no such kernel"),
        ("plain,rt", "--file /no/such/file", "--file /no/such/file: there is no file"),
        ("plain,rt", "--cpu 4", "unexpected argument '--cpu'"),
    ] {
        let words = ["prove", "--kernel", kernels, "--vm-options", option, "--", "true"];
        let (out, err, code) = finish(&mut unspin(&words));
        assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn options_of_the_session_are_refused_among_those_of_the_virtual_machine() {
    for option in ["--scheduler scx", "--kernel=rt", "--json x"] {
        let words = ["prove", "--kernel", "plain,rt", "--vm-options", option, "--", "true"];
        let (_, err, code) = finish(&mut unspin(&words));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("is for prove itself"), "{err}");
    }
}

#[test]
fn unclosed_quote_in_the_options_is_an_error() {
    let words = ["prove", "--kernel", "plain,rt", "--vm-options", "--file 'a", "--", "true"];
    let (_, err, code) = finish(&mut unspin(&words));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("a quote is not closed"), "{err}");
}

/// There is no qemu in `PATH`.
#[test]
fn machine_that_cannot_boot_is_a_failed_run() {
    let folder = tempfile::tempdir().unwrap();
    for compared in [&["plain,rt"][..], &["cloud", "--scheduler", "/bin/true"]] {
        let words = [&["prove", "--kernel"][..], compared, &["--runs", "6", "--", "/bin/true"]].concat();
        let (out, err, code) = finish(unspin(&words).env("PATH", folder.path()));
        assert_eq!(code, Some(4), "{out}{err}");
        assert!(out.contains("the virtual machine did not run the program to its end"), "{out}{err}");
        assert!(out.contains("qemu"), "the virtual machine's own error is shown: {out}{err}");
    }
}
