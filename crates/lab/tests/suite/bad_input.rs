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
    let cases: [(&[&str], &str); 10] = [
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

/// `unspin` itself knows neither options nor help of these commands.
#[test]
fn help_of_the_commands_is_found() {
    for (command, arguments) in [("volano", ""), ("dbt1", ""), ("reproduce", " [REPORT]")] {
        let help = finish(&mut unspin(&[command, "--help"]));
        assert!(help.0.contains(&format!("\nUsage: unspin {command} [OPTIONS]{arguments}\n")), "{help:?}");
        assert_eq!(finish(&mut unspin(&["help", command])), help);
        assert_eq!((help.1.as_str(), help.2), ("", Some(0)));
    }
}
