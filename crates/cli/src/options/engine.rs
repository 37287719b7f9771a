//! The engines by name, for clap.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use unspin_launch::replace::engine::Engine;

/// The help of the option that chooses an engine: each name, and what the engine does.
pub fn help() -> String {
    let engines = Engine::ALL.map(|engine| format!("`{engine}` {}", engine.summary()));
    format!("Use this engine for System V IPC: {}", engines.join(", "))
}

/// The help of an option that names the engines that `prove` or `scale` compares with the control.
pub fn judged_help(purpose: &str) -> String {
    format!("{purpose}: {}", Engine::IN_ARENAS.map(|engine| format!("`{engine}`")).join(", "))
}

/// Parses an engine's name. Clap lists the names in the help and in the error message for an unknown name.
pub fn parser() -> impl TypedValueParser<Value = Engine> {
    names(Engine::ALL.as_slice())
}

/// Parses the name of an engine that has arenas.
pub fn arena_parser() -> impl TypedValueParser<Value = Engine> {
    names(Engine::IN_ARENAS.as_slice())
}

/// Parses the name of an engine that `prove` or `scale` compares with the control.
pub fn judged_parser() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::ALL.map(|engine| PossibleValue::new(engine.name()).hide(engine == Engine::Kernel));
    PossibleValuesParser::new(names).try_map(|name| {
        match name.parse().expect("clap lets no other name through") {
            Engine::Kernel => Err("kernel is the control, which is always measured: use another engine"),
            engine => Ok(engine),
        }
    })
}

fn names(offered: &[Engine]) -> impl TypedValueParser<Value = Engine> + use<> {
    PossibleValuesParser::new(offered.iter().map(|engine| engine.name()))
        .map(|name| name.parse().expect("clap lets no other name through"))
}
