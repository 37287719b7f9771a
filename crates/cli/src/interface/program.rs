//! Completion of the program's own command line, behind the options of unspin. Shells know it of programs that start others, such as
//! sudo(8); each has its own words for it, which stand in the files beside this one.

use super::values::{PROGRAM, value_name};
use clap::{Arg, Command};
use unspin_launch::program::workload::WORKLOADS;

/// The place in a shell's file for the commands that start a program, with their options that have a value.
const COMMANDS: &str = "%COMMANDS%";
/// The place for the names of the workloads.
const WORKLOAD_NAMES: &str = "%WORKLOADS%";

/// A shell's file with the commands and workloads in place. `row` writes one command: its name, and the options with a value.
pub fn fill(file: &str, all: &Command, row: fn(&str, &str) -> String) -> String {
    let rows: Vec<String> = starting(all).map(|(name, options)| row(name, &options.join(" "))).collect();
    let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    file.replace(COMMANDS, &rows.join("\n")).replace(WORKLOAD_NAMES, &names.join(" "))
}

/// The commands that start a program, and those of their options behind which a value stands as a word of its own.
fn starting(all: &Command) -> impl Iterator<Item = (&str, Vec<String>)> {
    let starts = |command: &&Command| command.get_positionals().any(|arg| value_name(arg) == PROGRAM);
    all.get_subcommands().filter(starts).map(|command| {
        let with_value = |arg: &&Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
        (command.get_name(), command.get_opts().filter(with_value).flat_map(spellings).collect())
    })
}

fn spellings(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::whole;
    use super::*;

    #[test]
    fn options_with_a_value_of_each_command_that_starts_a_program() {
        let mut all = whole();
        all.build();
        let text = fill("%COMMANDS%|%WORKLOADS%", &all, |name, options| format!("{name}: {options}"));
        let line = |command: &str| text.lines().find(|line| line.starts_with(command)).unwrap_or_default();
        assert!(line("run: ").contains("--mutex") && !line("run: ").contains("--verbose"), "{text}");
        assert!(line("profile: ").contains("-F") && line("meter: ").contains("-p"), "{text}");
        assert!(!line("prove: ").contains("--wait-for-quiet"), "its value follows an equals sign: {text}");
        assert!(text.ends_with("|semopbench hackbench volano dbt1"), "{text}");
        assert!(line("report: ").is_empty() && line("arenas: ").is_empty(), "{text}");
    }
}
