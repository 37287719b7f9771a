//! `unspin completions`.
//!
//! clap_complete generates the script. It knows no shell's way to complete the command line of a program that another one starts;
//! [`program`] adds that.

use super::{program, values, whole};
use crate::options::CompletionsOptions;
use clap::{Arg, Command};
use clap_complete::{Shell, generate};
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;

/// Prints the script of a shell.
pub fn print(options: &CompletionsOptions) -> Result<ExitCode, Error> {
    stdout::write(script(options.shell.into()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The script.
fn script(shell: Shell) -> String {
    let mut all = values::offered(whole()).disable_help_subcommand(true);
    let mut bytes = Vec::new();
    generate(shell, &mut all, "unspin", &mut bytes);
    let generated = String::from_utf8(bytes).expect("help is text");
    match shell {
        Shell::Bash => bash(&generated, &all),
        Shell::Zsh => zsh(&generated, &all),
        Shell::Fish => fish(&generated, &all),
        other => unreachable!("the parser offers no {other}"),
    }
}

/// The function that clap_complete generates is called for what stands before the program.
fn bash(generated: &str, all: &Command) -> String {
    let row = |name: &str, options: &str| format!("        {name}) values='{options}' ;;");
    [generated, &program::fill(include_str!("program.bash"), all, row)].concat()
}

/// What clap_complete generates for the program and its arguments: the program begins with the first word that is no option.
fn zsh(generated: &str, all: &Command) -> String {
    let is_program = |line: &str| line.starts_with("'*:") && line.ends_with(":_cmdambivalent' \\");
    let line = |line: &str| match is_program(line) {
        true => "'(-)*:: :_unspin_program_arguments' \\\n".to_owned(),
        false => format!("{line}\n"),
    };
    let (first, rest) = generated.split_once('\n').unwrap_or((generated, ""));
    let own = program::fill(include_str!("program.zsh"), all, |_, _| String::new());
    // The first line names the command whose completions these are.
    [first, "\n\n", &own].concat() + &rest.lines().map(line).collect::<String>()
}

/// What clap_complete generates completes options only: no arguments that have a name, such as that of a shell.
fn fish(generated: &str, all: &Command) -> String {
    let row = |name: &str, options: &str| format!("        case {name}\n            set values {options}");
    let named = all.get_subcommands().flat_map(|command| {
        let names = command.get_positionals().flat_map(Arg::get_possible_values);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        let line = || {
            let (command, names) = (command.get_name(), names.join(" "));
            format!("complete -c unspin -n '__fish_unspin_using_subcommand {command}' -f -a '{names}'\n")
        };
        (!names.is_empty()).then(line)
    });
    let named: String = named.collect();
    [generated, &program::fill(include_str!("program.fish"), all, row), &named].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_completed_by_every_script() {
        let zsh = script(Shell::Zsh);
        // prove, scale, meter, top, profile and run.
        assert!(zsh.matches("'(-)*:: :_unspin_program_arguments' \\").count() >= 6, "{zsh}");
        assert!(!zsh.contains("_cmdambivalent") && zsh.starts_with("#compdef unspin\n"), "{zsh}");
        for (shell, row) in
            [(Shell::Bash, "        run) values='--mutex"), (Shell::Fish, "        case run\n")]
        {
            let script = script(shell);
            assert!(script.contains(row) && !script.contains("%COMMANDS%"), "{script}");
        }
    }
}
