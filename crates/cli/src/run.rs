//! `unspin run`: replace, no measurement.

use crate::environment::Environment;
use crate::error::Error;
use crate::library;
use crate::options;
use crate::program::Program;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Becomes the program, so that its exit code, its signals and its terminal are its own. Returns only if that
/// fails.
pub fn run(options: &options::Run) -> Result<ExitCode, Error> {
    let program = Program::find(&options.command)?;
    let library = library::unpack()?;
    let arena = options.arena.as_deref().map(absolute).transpose()?;
    let mut command = program.command();
    Environment { library: &library, engine: options.sysv, arena: arena.as_deref(), recording: None }
        .apply(&mut command);
    let error = command.exec();
    Err(Error::CannotRun(format!("{}: {error}", program.path.display())))
}

fn absolute(path: &std::path::Path) -> Result<std::path::PathBuf, Error> {
    std::path::absolute(path).map_err(|e| Error::Usage(format!("--arena {}: {e}", path.display())))
}
