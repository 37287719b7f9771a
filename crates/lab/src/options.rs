//! The command line.

pub use unspin_lab_options::{
    Dbt1Mix, Dbt1Options, LabCommand, ReportChoice, ReproduceOptions, VmAccelerator, VmOptions, VolanoModel,
    VolanoOptions, VolanoRunQueue,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use unspin_launch::command::line::find_abbreviated;
use unspin_launch::machine::Build;
use unspin_launch::output::stderr;
use unspin_launch::program::workload::Workload;

/// Historical reports and their workloads. `unspin COMMAND` executes this program
#[derive(Parser, Debug)]
#[command(name = "unspin-lab", bin_name = "unspin", version = Build::VERSION, max_term_width = 100)]
pub struct CommandLine {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// One variant for each command.
#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(flatten)]
    Lab(LabCommand),
    #[command(hide = true)]
    PrepareShop(PrepareShopOptions),
    /// Be the first process of a virtual machine
    #[command(hide = true)]
    VmInit,
}

/// Populate the database of a `dbt1` command line, and print how a run on it is started; `unspin prove` asks for it
#[derive(Args, Debug)]
pub struct PrepareShopOptions {
    /// An empty folder for the database
    pub folder: PathBuf,

    /// The command line of dbt1
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

impl CommandLine {
    /// Reads the command line. Prints help or an error and ends the process if there is nothing to run.
    pub fn read() -> CommandLine {
        CommandLine::try_parse_from(std::env::args_os()).unwrap_or_else(|mut error| {
            // A closed output is not an error here: no other output could report it.
            match explain_unknown(&error, std::env::args_os().nth(1).as_deref().and_then(OsStr::to_str)) {
                Some(line) => stderr::say(format_args!("{line}")),
                None if error.use_stderr() => {
                    // Clap's tip, "to pass it as a value, use `--`", is wrong: no command has such values.
                    if error.kind() == ErrorKind::UnknownArgument {
                        error.remove(ContextKind::Suggested);
                    }
                    let text = error.render().to_string();
                    stderr::print(&text.replacen("error: ", "unspin: ", 1));
                }
                None => _ = error.print(),
            }
            std::process::exit(error.exit_code())
        })
    }
}

/// The message for an unknown option: the option that it abbreviates, if it is a whole word of one option of the command
/// (`time` of `think-time`); else where options of unspin stand.
fn explain_unknown(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option)), Some(command)) =
        (error.kind(), error.get(ContextKind::InvalidArg), command)
    else {
        return None;
    };
    let name = option.strip_prefix("--")?;
    let all = CommandLine::command();
    let options = all.find_subcommand(command)?.get_arguments().filter_map(clap::Arg::get_long);
    Some(match find_abbreviated(name, options) {
        Some(meant) => format!("`unspin {command}` has no {option}: use --{meant}"),
        // Clap names a similar option itself.
        _ if error.get(ContextKind::SuggestedArg).is_some() => return None,
        _ if !Workload::is_of_lab(command) => {
            format!("`unspin {command}` has no {option}: `unspin {command} --help` lists its options")
        }
        _ => format!(
            "`unspin {command}` has no {option}: options of unspin stand before the workload, as in `unspin run --waits poll \
             {command}`; `unspin {command} --help` lists its own"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use unspin_launch::command::lab::{DBT1_OPTIONS, REPRODUCE, REPRODUCE_OPTIONS, VM, VM_OPTIONS};
    use unspin_launch::program::run_queue_program::{VOLANO_FLAGS, VOLANO_MODELS, VOLANO_VALUES};
    use unspin_runqueue::queue::Policy;

    #[test]
    fn definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    /// The crate of virtual machines boots this program by that argument.
    #[test]
    fn first_process_of_a_virtual_machine_is_a_command() {
        let words = ["/init", unspin_vm::guest::ARGUMENT];
        assert!(matches!(CommandLine::try_parse_from(words).unwrap().command, Command::VmInit));
    }

    /// The help of each command ends with examples. Those of the command itself are valid command lines.
    #[test]
    fn examples_in_help_are_valid_command_lines() {
        for mut command in CommandLine::command().get_subcommands().filter(|c| !c.is_hide_set()).cloned() {
            let help = command.render_long_help().to_string();
            let (_, examples) = help.rsplit_once("Examples:\n").expect("each help has examples");
            let own = format!("  unspin {} ", command.get_name());
            let mut parsed = 0;
            for example in examples.lines().filter(|line| line.starts_with(&own)) {
                let line = example.split(" # ").next().unwrap_or_default();
                let words = shell_words::split(line).expect("its quotes are closed");
                assert!(CommandLine::try_parse_from(words).is_ok(), "{line}");
                parsed += 1;
            }
            assert!(parsed >= 2, "{help}");
        }
    }

    #[test]
    fn word_of_an_option_finds_the_option() {
        let said = |words: &[&str]| {
            let error = CommandLine::try_parse_from(words).unwrap_err();
            explain_unknown(&error, words.get(1).copied())
        };
        let line = said(&["unspin", "dbt1", "--think", "9s"]).unwrap();
        assert_eq!(line, "`unspin dbt1` has no --think: use --think-time");
        assert_eq!(said(&["unspin", "dbt1", "--browser", "9"]), None, "clap's own tip");
        let line = said(&["unspin", "volano", "--waits", "poll"]).unwrap();
        assert!(line.starts_with("`unspin volano` has no --waits: options of unspin stand before"), "{line}");
        let line = said(&["unspin", "reproduce", "--waits", "poll"]).unwrap();
        assert_eq!(line, "`unspin reproduce` has no --waits: `unspin reproduce --help` lists its options");
    }

    /// `unspin` says that an option of another command is one of these.
    #[test]
    fn options_are_known_to_unspin() {
        let command = CommandLine::command();
        let lists = [
            (REPRODUCE, REPRODUCE_OPTIONS.as_slice()),
            (VM, VM_OPTIONS.as_slice()),
            ("dbt1", DBT1_OPTIONS.as_slice()),
        ];
        for (name, known) in lists {
            let options = command.find_subcommand(name).expect("there is such a command").get_arguments();
            let options = options.filter_map(clap::Arg::get_long).filter(|name| *name != "help");
            assert_eq!(options.collect::<Vec<_>>(), known, "{name}");
        }
    }

    /// `--runqueue` reads the command line of volano, without the parser.
    #[test]
    fn options_of_volano_are_known_to_the_launcher() {
        let command = CommandLine::command();
        let volano = command.find_subcommand("volano").expect("there is `unspin volano`");
        let options = |has_value: bool| {
            let arguments =
                volano.get_arguments().filter(move |arg| arg.get_action().takes_values() == has_value);
            arguments.filter_map(clap::Arg::get_long).filter(|name| *name != "help").collect::<Vec<_>>()
        };
        assert_eq!(options(true), VOLANO_VALUES);
        assert_eq!(options(false), VOLANO_FLAGS);
        let models = VolanoModel::value_variants().iter().filter_map(VolanoModel::to_possible_value);
        assert_eq!(models.map(|model| model.get_name().to_owned()).collect::<Vec<_>>(), VOLANO_MODELS);
        let queues = VolanoRunQueue::value_variants().iter().filter_map(VolanoRunQueue::to_possible_value);
        let policies = Policy::ALL.map(Policy::name);
        assert_eq!(queues.map(|queue| queue.get_name().to_owned()).collect::<Vec<_>>(), policies);
    }
}
