//! Commands that load schedulers of the kernel, for clap.

use std::str::FromStr;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_launch::scheduler::command::split;

/// The value of `run --scheduler`.
pub fn parse(line: &str) -> Result<SchedulerCommand, String> {
    SchedulerCommand::parse(line).map_err(|error| error.to_string())
}

/// A list of commands, separated by the commas outside quotes.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedulers(pub Vec<SchedulerCommand>);

impl FromStr for Schedulers {
    type Err = String;

    fn from_str(list: &str) -> Result<Schedulers, String> {
        split(list).iter().map(|line| parse(line)).collect::<Result<_, _>>().map(Schedulers)
    }
}
