//! What a shell offers as the value of an option or argument, by the value's name in the help. A value of which nothing is known here
//! and in the parser is typed by hand: a number, a time, a name in the program.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueHint};
use unspin_launch::plan::WaitPolicy;
use unspin_launch::plan::kind::{KindOfFamily, offer};
use unspin_locks::{LockKind, RwLockKind, SpinKind};

/// The value that is a program with its arguments.
pub const PROGRAM: &str = "COMMAND";

/// The command with what a shell offers for each value. Its parser refuses values that unspin accepts, such as a kind with a lock's
/// name, so it is not for parsing.
pub fn offered(command: Command) -> Command {
    command.mut_args(offered_for).mut_subcommands(offered)
}

/// The name of the value; empty for a flag.
pub fn value_name(arg: &Arg) -> &str {
    let takes_values = arg.get_action().takes_values();
    arg.get_value_names().filter(|_| takes_values).and_then(|names| names.first()).map_or("", |name| name)
}

fn offered_for(arg: Arg) -> Arg {
    match (value_name(&arg), arg.get_id().as_str()) {
        (PROGRAM, _) => arg.value_hint(ValueHint::CommandWithArguments),
        ("CMD", _) => arg.value_hint(ValueHint::CommandString),
        ("FILE" | "ARENA" | "PLAN" | "HOST[:GUEST]", _) => arg.value_hint(ValueHint::FilePath),
        ("FOLDER", _) => arg.value_hint(ValueHint::DirPath),
        ("USER", _) => arg.value_hint(ValueHint::Username),
        ("KIND[@LOCK]" | "KINDS", "mutex") => named::<LockKind>(arg),
        ("KIND[@LOCK]" | "KINDS", "rwlock") => named::<RwLockKind>(arg),
        ("KIND[@LOCK]" | "KINDS", "spin") => named::<SpinKind>(arg),
        ("POLICY[@SITE]" | "POLICIES", _) => one_of(arg, WaitPolicy::ALL.map(WaitPolicy::name)),
        ("LEVEL", _) => one_of(arg, ["counts", "sampled", "full", "auto"]),
        ("", _) => arg,
        _ if !arg.get_possible_values().is_empty() => arg,
        _ => arg.value_hint(ValueHint::Other),
    }
}

fn named<K: KindOfFamily>(arg: Arg) -> Arg {
    one_of(arg, offer::<K>().map(K::name))
}

/// The values, without the restrictions that hold for a whole command line.
fn one_of(arg: Arg, values: impl IntoIterator<Item = &'static str>) -> Arg {
    arg.value_parser(PossibleValuesParser::new(values))
}

#[cfg(test)]
mod tests {
    use super::super::whole;
    use super::*;
    use unspin_wire::Level;

    /// Values that nothing can complete.
    const BY_HAND: [&str; 29] = [
        "BYTES",
        "DATABASE",
        "DURATION",
        "GROUPS",
        "IMAGE",
        "HZ",
        "IPCS OPTIONS",
        "LIST",
        "LOOPS",
        "MESSAGES",
        "NAME",
        "N",
        "NUM",
        "PERCENT",
        "PID",
        "PORT",
        "REGEX",
        "REPETITIONS",
        "SEMAPHORES",
        "SIZE",
        "THREADS",
        "TIME",
        "KIND[@LOCK]",
        "ADDRESS",
        "ADDRESS:PORT",
        "KERNEL",
        "PARAMETER",
        "URL",
        "OPTIONS",
    ];

    /// A new name of a value has to be decided on: the shell offers something, or it is typed by hand.
    #[test]
    fn each_value_is_offered_or_typed_by_hand() {
        fn check(command: &Command) -> usize {
            let mut values = 0;
            for arg in command.get_arguments().filter(|arg| !value_name(arg).is_empty()) {
                let (name, hint) = (value_name(arg), arg.get_value_hint());
                let is_offered = !arg.get_possible_values().is_empty()
                    || !matches!(hint, ValueHint::Other | ValueHint::Unknown);
                let by_hand = hint == ValueHint::Other && BY_HAND.contains(&name);
                assert!(is_offered || by_hand, "{} {}: {name}", command.get_name(), arg.get_id());
                values += 1;
            }
            values + command.get_subcommands().map(check).sum::<usize>()
        }
        let mut command = offered(whole());
        command.build();
        assert!(check(&command) > 80);
    }

    #[test]
    fn offered_levels_and_kinds_are_accepted() {
        let command = offered(whole());
        let values = |command_name: &str, id: &str| -> Vec<String> {
            let of = command.find_subcommand(command_name).unwrap();
            let arg = of.get_arguments().find(|arg| arg.get_id() == id).unwrap();
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
        };
        let levels = values("meter", "level");
        assert!(levels.len() == 4 && levels.iter().all(|level| level.parse::<Level>().is_ok()));
        for kinds in [values("run", "mutex"), values("prove", "mutex")] {
            assert!(kinds.contains(&"adaptive".to_owned()), "{kinds:?}");
        }
        assert!(values("run", "rwlock").contains(&"rw-biased".to_owned()));
        assert_eq!(values("run", "waits"), ["poll", "system"]);
    }
}
