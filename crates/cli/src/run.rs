//! `unspin run`: runs a program with replaced locks and waits, without a measurement.

use crate::arena;
use crate::engine::Engine;
use crate::environment::Environment;
use crate::error::Error;
use crate::library;
use crate::options;
use crate::program::Program;
use std::path::Path;
use std::process::ExitCode;

/// Becomes the program, with the preload library. Returns only if that fails.
pub fn run(options: &options::RunOptions) -> Result<ExitCode, Error> {
    let arena = arena::of(options.sysv, options.arena.as_deref()).map_err(Error::Usage)?;
    let program = Program::find(&options.command)?;
    let plan = options.replace.compile(&program)?.map(|compiled| compiled.keep()).transpose()?;
    let library = library::unpack()?;
    let engine = options.sysv.unwrap_or(Engine::Kernel);
    try_arena(engine, arena.as_deref())?;
    Err(program.replace_process(&Environment {
        library: &library,
        engine,
        arena: arena.as_deref(),
        recording: None,
        plan: plan.as_deref(),
    }))
}

/// Opens the arena like the program will, so that an arena that is full, damaged or another user's is reported before
/// the program starts.
pub fn try_arena(engine: Engine, arena: Option<&Path>) -> Result<(), Error> {
    let arena = arena.map_or_else(|| unspin_sysv::Engine::default_arena(engine), Path::to_owned);
    let opened = unspin_sysv::Engine::open(engine, &arena, &unspin_sysv::Options::default(), None);
    opened.map(drop).map_err(|error| Error::arena(&error))
}
