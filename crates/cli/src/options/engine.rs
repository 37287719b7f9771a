//! The engines by name, for clap.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use unspin_launch::engine::Engine;

/// Parses an engine's name. Clap lists the names in the help and in the error message for an unknown name.
pub fn parser() -> impl TypedValueParser<Value = Engine> {
    names(|_| true)
}

/// Parses the name of an engine that `prove` judges: each except the control.
pub fn judged_parser() -> impl TypedValueParser<Value = Engine> {
    names(|engine| engine != Engine::Kernel)
}

fn names(offered: impl Fn(Engine) -> bool) -> impl TypedValueParser<Value = Engine> {
    let offered: Vec<Engine> = Engine::ALL.into_iter().filter(|&e| offered(e)).collect();
    PossibleValuesParser::new(offered.iter().map(|engine| engine.name()))
        .map(|name| name.parse().expect("clap lets no other name through"))
}
