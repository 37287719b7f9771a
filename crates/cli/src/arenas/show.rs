//! `unspin arenas show`.

use super::files;
use crate::options::ArenasShow;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::library::environment::Environment;
use unspin_launch::output::shell;
use unspin_launch::program::Program;
use unspin_launch::replace::arena;
use unspin_sys::namespace::Ipc;
use unspin_sysv::arenas::Found;
use unspin_sysv::{ArenaError, Engine};

/// Becomes ipcs(1) under the preload library, with the objects of one arena. Returns only if that fails.
pub fn show(options: &ArenasShow) -> Result<ExitCode, Error> {
    let files = files(std::slice::from_ref(&options.arena), options.sysv)?;
    let path = arena::absolute(&files[0]).map_err(Error::Input)?;
    let unusable = |error: ArenaError| Error::Environment(format!("{error}{}", remedy(&error, &path)));
    let found = Found::at(&path).map_err(unusable)?;
    let found = found.ok_or_else(|| Error::Input(arena::does_not_exist(&path)))?;
    let contents = found.contents.map_err(unusable)?;
    let engine = contents.kind;
    refuse_other_namespace(&path, contents.ipc_namespace)?;
    // Open the arena here, because the library would do so only after ipcs has started, and would then refuse every
    // call.
    Engine::join(engine, &path).map_err(unusable)?;

    let mut command: Vec<OsString> = vec!["ipcs".into()];
    command.extend(options.arguments.iter().cloned());
    let program = Program::find(&command).map_err(|error| match error {
        Error::NotFound(_) => Error::NotFound("ipcs is not in PATH: install the package util-linux".into()),
        other => other,
    })?;
    let library = library::unpack()?;
    Err(program.replace_process(&Environment {
        library: &library,
        engine,
        arena: Some(&path),
        recording: None,
        plan: None,
        tally: None,
        looks: None,
    }))
}

/// Refuses an arena of another IPC namespace: the library would use the arena of this namespace beside it.
fn refuse_other_namespace(path: &Path, made_in: u64) -> Result<(), Error> {
    let here = Ipc::current().inode;
    match made_in == here || made_in == 0 {
        true => Ok(()),
        false => Err(Error::Environment(format!(
            "arena {}: belongs to IPC namespace {made_in}, and this command runs in {here}: run it in that one \
             (nsenter --ipc)",
            path.display()
        ))),
    }
}

/// What to do if the objects of an arena cannot be shown.
fn remedy(error: &ArenaError, path: &Path) -> String {
    let path = shell::quote(path);
    match error {
        ArenaError::NotOurs(_) => "; ask its owner to open it to you".into(),
        ArenaError::DefaultPathTaken(_) => {
            format!("; its owner, or root, removes it by `unspin arenas remove {path}`")
        }
        ArenaError::Corrupt(_) => format!("; if it was one, `unspin arenas remove {path}` removes it"),
        ArenaError::Version(_) | ArenaError::Truncated(_) | ArenaError::Overwritten(_) => {
            format!("; `unspin arenas remove {path}` removes it when no program uses it")
        }
        ArenaError::Io(..) | ArenaError::TooSmall(_) | ArenaError::Engine(..) => String::new(),
    }
}
