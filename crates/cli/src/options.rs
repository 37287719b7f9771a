//! The command line.

mod arenas;
mod combine;
mod compare;
mod doctor;
mod documents;
mod engine;
mod lab;
mod library;
mod list;
mod meter;
mod observe;
mod page;
mod plan;
mod profile;
mod prove;
pub mod repeat;
mod replace;
mod run_queue;
mod scale;
mod scheduler;
mod server;
mod size;
mod top;

pub use arenas::{ArenasAction, ArenasList, ArenasOptions, ArenasRemove, ArenasShow};
pub use combine::CombineOptions;
pub use compare::CompareOptions;
pub use doctor::{DoctorOptions, Use};
pub use documents::{CompletionsOptions, ManPagesOptions};
pub use lab::LabOptions;
pub use library::LibraryOptions;
use meter::percent;
pub use meter::{MeterOptions, RecordOptions, ReportOptions};
pub use observe::ObserveOptions;
pub use page::PageOptions;
pub use plan::{
    PlanAction, PlanCompile, PlanKubernetes, PlanLooks, PlanOptions, PlanPlace, PlanSource, PlanSystemd,
};
pub use profile::ProfileOptions;
pub use prove::ProveOptions;
use replace::Replace;
pub use scale::ScaleOptions;
pub use top::TopOptions;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use unspin_launch::command::line::find_abbreviated;
use unspin_launch::machine::Build;
use unspin_launch::output::stderr;
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::list_behind_workload;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_workloads::Workload;

const EXAMPLES: &str = "\
Examples:
  unspin prove ./server --selftest     # find what makes it faster, and prove it
  unspin meter ./server --selftest     # see on which locks it loses time
  unspin run --waits poll ./server     # run it with another wait policy

`unspin COMMAND --help` has the options, exit codes and examples of each command.";

/// Finds the lock your CPUs spin on, replaces it, and proves the difference.
///
/// Works with any dynamically linked Linux program, with no source change and no recompile.
#[derive(Parser, Debug)]
#[command(name = "unspin", version = Build::VERSION, max_term_width = 100, after_help = EXAMPLES)]
pub struct CommandLine {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// One variant for each command.
#[derive(Subcommand, Debug)]
pub enum Command {
    Prove(ProveOptions),
    Compare(CompareOptions),
    Scale(ScaleOptions),
    Combine(CombineOptions),
    Meter(MeterOptions),
    Report(ReportOptions),
    Page(PageOptions),
    Top(TopOptions),
    Profile(ProfileOptions),
    Run(RunOptions),
    Plan(PlanOptions),
    Library(LibraryOptions),
    Arenas(ArenasOptions),
    #[command(flatten)]
    Workload(Workload),
    /// Let the users of chat rooms send messages to each other, and print the messages per second
    Volano(LabOptions),
    /// Let emulated browsers use a web shop on a database, and print the transactions per second
    Dbt1(LabOptions),
    /// Repeat the measurements of the five historical reports on this machine
    Reproduce(LabOptions),
    /// Run a command on another kernel, in a virtual machine
    Vm(LabOptions),
    Doctor(DoctorOptions),
    Completions(CompletionsOptions),
    #[command(hide = true)]
    ManPages(ManPagesOptions),
}

impl CommandLine {
    /// Reads the command line. Prints help or an error and ends the process if there is nothing to run.
    pub fn read() -> CommandLine {
        CommandLine::parse_words(std::env::args_os().collect()).unwrap_or_else(|mut error| {
            // A closed output is not an error here: no other output could report it.
            match explain_misplaced(&error, std::env::args_os().nth(1).as_deref().and_then(OsStr::to_str)) {
                Some(line) => stderr::say(format_args!("{line}")),
                None if error.use_stderr() => {
                    // Clap's tip, "to pass it as a value, use `--`", is wrong here: `--` is followed by the program.
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

impl CommandLine {
    /// Parses a command line. A list of run queues behind the workload volano, which itself has one run queue, belongs to
    /// `prove`: `unspin prove volano --runqueue global,percpu`.
    fn parse_words(words: Vec<OsString>) -> Result<CommandLine, clap::Error> {
        let words = unspin_launch::command::lab::with_help_behind(words);
        let parsed = CommandLine::try_parse_from(&words)?;
        let Command::Prove(options) = &parsed.command else { return Ok(parsed) };
        let Some((list, command)) = list_behind_workload(&options.command) else {
            return Ok(parsed);
        };
        let Some(before) = words.strip_suffix(&options.command[..]) else { return Ok(parsed) };
        let (name, rest) = before.split_at(2);
        let list = ["--runqueue".into(), list];
        CommandLine::try_parse_from(name.iter().chain(&list).chain(rest).chain(&command))
    }
}

/// The message for an option that the command does not have, but once had or other commands have.
fn explain_misplaced(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    if option == "--spin-waits" {
        return Some("--spin-waits has been removed: use --waits poll".into());
    }
    let name = option.strip_prefix("--")?;
    let all = CommandLine::command();
    let own = command.and_then(|command| all.find_subcommand(command)).map(clap::Command::get_arguments);
    if let Some(meant) = find_abbreviated(name, own.into_iter().flatten().filter_map(clap::Arg::get_long)) {
        return Some(format!("`unspin {}` has no {option}: use --{meant}", command.unwrap_or_default()));
    }
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let own = all.get_subcommands().filter(has).map(|command| command.get_name().to_owned());
    let with = own.chain(unspin_launch::command::lab::commands_with(name).map(str::to_owned));
    let with: Vec<String> = with.map(|command| format!("`unspin {command}`")).collect();
    let command = all.find_subcommand(command?)?.get_name();
    (!with.is_empty())
        .then(|| format!("`unspin {command}` has no {option}: it is an option of {}", with.join(", ")))
}

const RUN_HELP: &str = "\
Exit code: that of the program, or
    2  the command line is wrong; or a plan, lock or call site that it names was not found
  125  unspin itself failed; or the kernel has no sched_ext, or the scheduler did not start or did not last as long as the program
  126  the program cannot be executed, or the preload library cannot be loaded into it or into what it starts (32 bits)
  127  the program or the scheduler's command does not exist

Examples:
  unspin run --waits poll ./server                  # every wait polls before it sleeps
  unspin run --scheduler scx_lavd ./server          # scheduled by sched_ext
  unspin run --sysv rcu ./server                    # System V IPC without the kernel";

/// Run a program with its locks and waits replaced
///
/// --mutex, --rwlock and --spin replace pthread mutexes, read-write locks and spin locks, and --waits replaces wait policies: all of
/// them, or single ones by the names that `unspin meter` prints. --sysv replaces the kernel's System V IPC (semaphores, message queues, shared memory).
/// --runqueue chooses the run queue of a program that is built on the crate unspin-runqueue, --scheduler the scheduler of the kernel. Nothing is measured. Output and exit code are those of the program.
/// If an entry replaced nothing, a line on standard error says so when the program has ended, with the reason; of a program in
/// which there is nothing to replace, which runs as it is, only with --verbose.
#[derive(Args, Debug)]
#[command(after_help = RUN_HELP, override_usage = "unspin run <--mutex|--rwlock|--spin|--waits|--use-plan|--runqueue|--sysv|--scheduler> [OPTIONS] <COMMAND>...",
          group(ArgGroup::new("what").args(["sysv", "mutex", "rwlock", "spin", "waits", "use_plan", "runqueue", "scheduler"]).required(true).multiple(true)))]
pub struct RunOptions {
    #[command(flatten)]
    pub replace: Replace,

    #[arg(long, value_name = "ENGINE", help = engine::help(), value_parser = engine::parser())]
    pub sysv: Option<Engine>,

    /// A command that loads a scheduler of sched_ext (Linux 6.12) and keeps running, such as `scx_lavd`. It is started before the
    /// program and ended after it. Needs root
    #[arg(long, value_name = "CMD", value_parser = scheduler::parse)]
    pub scheduler: Option<SchedulerCommand>,

    /// The arena: the file that holds the objects, shared by all programs that name it [default: one in /dev/shm for each
    /// user, IPC namespace and engine]
    #[arg(long, value_name = "FILE", requires = "sysv")]
    pub arena: Option<PathBuf>,

    /// Print at the end of the program how many locks and call sites each entry of --mutex, --rwlock, --spin, --waits and --use-plan replaced.
    /// Without it, only an entry that replaced nothing is reported, and that not of a program in which there is nothing to replace
    #[arg(long, short)]
    pub verbose: bool,

    #[arg(help = unspin_launch::program::workload::command_help(), required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_launch::plan::Choice;
    use unspin_locks::LockKind;
    use unspin_report::next::{Step, Subject};

    #[test]
    fn definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    /// The help of each command ends with examples, which are valid command lines.
    #[test]
    fn examples_in_help_are_valid_command_lines() {
        // unspin-lab has its own test.
        fn has_help(command: &clap::Command) -> bool {
            command.get_name() != "help" && !unspin_launch::command::lab::performs(command.get_name())
        }
        fn check(command: &mut clap::Command) -> usize {
            let help = command.render_long_help().to_string();
            let (_, examples) = help.rsplit_once("Examples:\n").expect("each help has examples");
            let examples: Vec<&str> = examples.lines().filter(|line| line.starts_with("  unspin ")).collect();
            assert!((2..=3).contains(&examples.len()), "{help}");
            for example in &examples {
                let line = example.split(" # ").next().unwrap_or_default();
                let parsed =
                    CommandLine::try_parse_from(shell_words::split(line).expect("its quotes are closed"));
                assert!(parsed.is_ok(), "{line}: {parsed:?}");
            }
            examples.len() + command.get_subcommands_mut().filter(|c| has_help(c)).map(check).sum::<usize>()
        }
        assert!(check(&mut CommandLine::command()) > 20);
    }

    #[test]
    fn message_and_help_offer_the_same_kinds() {
        let mut command = CommandLine::command();
        let run = command.find_subcommand_mut("run").expect("there is `unspin run`");
        let help = run.render_long_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let refused = "no such".parse::<Choice>().unwrap_err();
        for kind in LockKind::ALL {
            let offers = |text: &str| text.split([' ', ',', '.', '`']).any(|word| word == kind.name());
            assert_eq!(offers(&refused), offers(&help), "{kind} {help}");
        }
    }

    /// The parser knows all options, and which of them exclude each other.
    #[test]
    fn next_steps_of_lenses_can_be_typed() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let steps = [
            Step::None,
            Step::Futex,
            Step::Kernel,
            Step::OffCpu,
            Step::Profile,
            Step::ProfileUser,
            Step::ProfileAll,
            Step::Pthread,
            Step::KeepMemory,
            Step::ProveSysv,
            Step::ProveRunQueue,
        ];
        let with_program = Subject::System(vec!["./server".into()]);
        let volano = Subject::Program(words(&["volano", "--rooms", "2"]));
        let subjects = [
            Subject::Program(words(&["./server", "-t"])),
            volano,
            Subject::Process(7),
            Subject::System(Vec::new()),
            with_program,
        ];
        for command in
            subjects.iter().flat_map(|subject| steps.iter().filter_map(|step| step.command(subject)))
        {
            let words = command.split(' ').skip_while(|word| *word != "unspin");
            let parsed = CommandLine::try_parse_from(words.map(OsString::from));
            assert!(parsed.is_ok(), "{command}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn word_of_an_option_finds_the_option() {
        let said = |words: &[&str]| {
            let error = CommandLine::try_parse_from(words).unwrap_err();
            explain_misplaced(&error, words.get(1).copied())
        };
        for command in ["prove", "scale"] {
            let line = said(&["unspin", command, "--budget", "9s", "ls"]).unwrap();
            assert_eq!(line, format!("`unspin {command}` has no --budget: use --time-budget"));
        }
        let several = said(&["unspin", "prove", "--time", "9s", "ls"]);
        assert_eq!(several, None, "--time-budget or --time-limit");
    }

    #[test]
    fn options_after_the_program_belong_to_the_program() {
        let parsed = CommandLine::parse_from(["unspin", "run", "--sysv", "rcu", "ls", "-l", "--sysv", "x"]);
        let Command::Run(run) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!((run.sysv, run.command.len()), (Some(Engine::Rcu), 4));
        let parsed = CommandLine::parse_from(["unspin", "run", "--sysv", "kernel", "--", "-odd-name"]);
        let Command::Run(run) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!(run.command, ["-odd-name"]);
    }
}
