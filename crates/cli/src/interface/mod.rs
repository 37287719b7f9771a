//! The command line of unspin as shells and man(1) are told of it: the definitions of the parser, those of `unspin-lab` among them.

pub mod completions;
mod man_page;
pub mod man_pages;
mod program;
mod values;

use crate::options::CommandLine;
use clap::{Command, CommandFactory, Subcommand};
use unspin_lab_options::LabCommand;

/// All commands with their options, also of those that `unspin-lab` performs. `unspin` itself parses no option of these.
fn whole() -> Command {
    let lab = LabCommand::augment_subcommands(Command::new("unspin-lab"));
    let own = CommandLine::command();
    let names: Vec<String> = own.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    // Each is taken out and put behind the others, so the order stays.
    names.iter().enumerate().fold(own, |all, (order, name)| {
        let whole = |command| lab.find_subcommand(name).cloned().unwrap_or(command).display_order(order);
        all.mut_subcommand(name, whole)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_unspin_lab_have_their_options_and_no_command_is_lost() {
        let (own, all) = (CommandLine::command(), whole());
        let names = |command: &Command| -> Vec<String> {
            command.get_subcommands().map(|c| c.get_name().to_owned()).collect()
        };
        assert_eq!(names(&own), names(&all));
        for (command, option) in
            [("volano", "rooms"), ("dbt1", "browsers"), ("reproduce", "quick"), ("vm", "kernel")]
        {
            let has = |command: &Command| command.get_arguments().any(|arg| arg.get_long() == Some(option));
            assert!(has(all.find_subcommand(command).unwrap()), "{command}");
            assert!(!has(own.find_subcommand(command).unwrap()), "{command}: unspin passes its options on");
        }
    }
}
