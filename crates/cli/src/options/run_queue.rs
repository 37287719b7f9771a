//! The run queues by name, for clap.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use unspin_launch::replace::run_queue::RunQueue;

/// Parses the name of a run queue. Clap lists the names in the help and in the error message for an unknown name.
pub fn parser() -> impl TypedValueParser<Value = RunQueue> {
    let value = |run_queue: RunQueue| PossibleValue::new(run_queue.name()).help(help(run_queue));
    PossibleValuesParser::new(RunQueue::ALL.map(value)).map(|name| {
        let mut all = RunQueue::ALL.into_iter();
        all.find(|run_queue| run_queue.name() == name).expect("clap lets no other name through")
    })
}

fn help(run_queue: RunQueue) -> &'static str {
    match run_queue {
        RunQueue::Global => "One queue and one lock for all workers",
        RunQueue::Percpu => "A queue and a lock for each worker",
    }
}
