//! The options of `unspin ipcrm` that name an object. They may be given more than once, and are obeyed in their order,
//! which derived options do not keep.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use unspin_sysv::Class;

/// How an object is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// By its id.
    Id(i32),
    /// By its key.
    Key(i32),
}

/// An object to be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Removal {
    /// What it is.
    pub class: Class,
    /// Which one.
    pub name: Name,
}

/// What to remove, in the order of the command line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Removals(pub Vec<Removal>);

/// Names of the options.
pub const OPTIONS: [&str; 6] =
    ["shmem-id", "shmem-key", "queue-id", "queue-key", "semaphore-id", "semaphore-key"];

type Parse = fn(&str) -> Result<Name, String>;

/// The options: letter, class, how the object is named, and what the help says.
const NAMED: [(char, Class, Parse, &str); 6] = [
    ('m', Class::Shm, parse_id, "Remove the shared memory segment with this id"),
    ('M', Class::Shm, key, "Remove the shared memory segment with this key"),
    ('q', Class::Msg, parse_id, "Remove the message queue with this id"),
    ('Q', Class::Msg, key, "Remove the message queue with this key"),
    ('s', Class::Sem, parse_id, "Remove the semaphore set with this id"),
    ('S', Class::Sem, key, "Remove the semaphore set with this key"),
];

/// Reads an id, in decimal.
pub fn parse_id(text: &str) -> Result<Name, String> {
    text.trim_ascii_start().parse().map(Name::Id).map_err(|_| "give an id, a decimal number".into())
}

/// Reads a key: decimal, hexadecimal behind `0x`, or octal behind `0`, of 32 bits.
fn key(text: &str) -> Result<Name, String> {
    let text = text.trim_ascii_start();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16),
        None if digits.starts_with('0') => i64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    let number = number.ok().map(|number| sign * number);
    match number.filter(|&number| i64::from(i32::MIN) <= number && number <= i64::from(u32::MAX)) {
        Some(0) => Err("private objects have no key: name it by its id".into()),
        // The upper half of the range is that of negative keys.
        Some(number) => Ok(Name::Key(number as i32)),
        None => Err("give a key such as 0x5eed or 24301".into()),
    }
}

impl Args for Removals {
    fn augment_args(command: Command) -> Command {
        OPTIONS.iter().zip(NAMED).fold(command, |command, (&option, (letter, _, parse, help))| {
            command.arg(
                Arg::new(option)
                    .short(letter)
                    .long(option)
                    .value_name(if letter.is_lowercase() { "ID" } else { "KEY" })
                    .help(help)
                    .action(ArgAction::Append)
                    .allow_negative_numbers(true)
                    .value_parser(ValueParser::from(parse)),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Removals::augment_args(command)
    }
}

impl FromArgMatches for Removals {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Removals, clap::Error> {
        let mut removals = Vec::new();
        for (option, (_, class, ..)) in OPTIONS.iter().zip(NAMED) {
            let names = matches.get_many::<Name>(option).into_iter().flatten();
            let places = matches.indices_of(option).into_iter().flatten();
            removals.extend(places.zip(names).map(|(place, &name)| (place, Removal { class, name })));
        }
        removals.sort_by_key(|&(place, _)| place);
        Ok(Removals(removals.into_iter().map(|(_, removal)| removal).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Removals::from_arg_matches(matches).map(|new| *self = new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers_of_32_bits() {
        let cases =
            [("0x5eed", 0x5eed), ("0X5EED", 0x5eed), ("24301", 24301), ("017", 15), ("-2", -2), (" 7", 7)];
        for (text, number) in cases {
            assert_eq!(key(text), Ok(Name::Key(number)), "{text}");
        }
        assert_eq!(key("0xffffffff"), Ok(Name::Key(-1)));
        for text in ["", "0", "0x0", "0x", "x", "08", "0x100000000", "-0x80000001", "1 "] {
            assert!(key(text).is_err(), "{text}");
        }
    }
}
