//! Where no scheduler can be loaded, the program says why and what to do.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unspin-sched")).args(arguments).output().unwrap()
}

fn error(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn command_does_not_run_without_its_scheduler() {
    if cfg!(feature = "bpf") && Path::new("/sys/kernel/sched_ext").exists() {
        println!(
            "SKIPPED, because this kernel has sched_ext: ci/sched.sh runs the schedulers in a virtual machine"
        );
        return;
    }
    let output = run(&["mq", "--", "echo", "it runs"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(125), b"".as_slice()));
    let remedy = if cfg!(feature = "bpf") { "CONFIG_SCHED_CLASS_EXT=y" } else { "--features bpf" };
    assert!(
        error(&output).starts_with("unspin-sched: ") && error(&output).contains(remedy),
        "{}",
        error(&output)
    );
    assert_eq!(error(&output).lines().count(), 1);
}

#[test]
fn wrong_command_line_is_refused() {
    for arguments in [&["cfs"][..], &["mq", "--timeout-ms", "100", "--", "true"], &["mq", "--seconds", "0"]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn statistics_without_a_folder_are_refused_at_the_start() {
    let output = run(&["mq", "--stats", "/no/such/folder/file", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(error(&output).contains("/no/such/folder/file"), "{}", error(&output));
}
