//! The engines by name.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fmt;

/// Who serves a program's System V semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The kernel, through the same interposition.
    Kernel,
    /// One lock for all sets, held during every operation: the kernel before the patch.
    Global,
    /// One lock per set, found under RCU: the kernel after the patch.
    Rcu,
}

impl Engine {
    const ALL: [Engine; 3] = [Engine::Kernel, Engine::Global, Engine::Rcu];

    /// The name on the command line and in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Kernel => "kernel",
            Engine::Global => "global",
            Engine::Rcu => "rcu",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The engines that `prove` judges: all but the control.
pub fn judged_parser() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.iter().skip(1).map(|e| e.name())).map(by_name)
}

/// Parses a name for clap, which lists the names in its help and in its complaint about any other.
pub fn parser() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::name)).map(by_name)
}

fn by_name(name: String) -> Engine {
    Engine::ALL.into_iter().find(|e| e.name() == name).expect("clap knows the names")
}

/// Names one of the engines' locks and who took it.
pub fn describe(_key: &unspin_meter::Key) -> Option<(String, String)> {
    None
}
