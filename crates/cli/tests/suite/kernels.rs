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
fn unclosed_quote_in_the_options_is_an_error() {
    let words = ["prove", "--kernel", "plain,rt", "--vm-options", "--file 'a", "--", "true"];
    let (_, err, code) = finish(&mut unspin(&words));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("a quote is not closed"), "{err}");
}

/// The options are those of `unspin vm`, which refuses them before it looks for a kernel.
#[test]
fn machine_that_cannot_boot_is_a_failed_run() {
    for compared in [&["plain,rt"][..], &["cloud", "--scheduler", "true"]] {
        let options = ["--vm-options", "--cpus 0", "--runs", "6", "--", "true"];
        let words = [&["prove", "--kernel"][..], compared, &options].concat();
        let (out, err, code) = finish(&mut unspin(&words));
        assert_eq!(code, Some(4), "{out}{err}");
        assert!(out.contains("the virtual machine did not run the program to its end"), "{out}{err}");
        assert!(out.contains("--cpus"), "the virtual machine's own error is shown: {out}{err}");
    }
}
