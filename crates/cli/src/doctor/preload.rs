//! The preload library, and the program `unspin-lab`.

use super::check::Check;
use crate::options::Use;
use std::path::Path;
use std::process::{Command, Stdio};
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::library::{self, environment::Environment};
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::plan::RunTally;
use unspin_launch::replace::engine::Engine;
use unspin_sys::creds::Creds;

/// What starts a program with the library.
pub const USES: [Use; 6] = [Use::Run, Use::Meter, Use::Top, Use::Prove, Use::Scale, Use::Sysv];

/// Whether a program loads the library.
pub fn preload_library() -> Check {
    const NAME: &str = "preload library";
    let loaded = library::unpack().and_then(|library| match load(&library) {
        Ok(()) => Ok(library),
        Err(error) => Err(error),
    });
    match loaded {
        Ok(library) => Check::ok(NAME, format!("{}: a program has loaded it", library.display())),
        Err(error) => {
            Check::fails(NAME, error, "every command that starts a program: run, meter, top, prove, scale")
        }
    }
}

/// Starts this program under the library, which counts the programs that load it.
fn load(library: &Path) -> Result<(), Error> {
    let failed = |error: &std::io::Error| Error::failed("this program cannot be started again", error);
    let scratch = Scratch::new(scratch::RUN, Creds::current().uid)?;
    let tally = RunTally::create(scratch.folder())?;
    // Where /proc is not mounted: the name by which a shell has found it.
    let own = std::env::current_exe().ok().or_else(|| Some(std::env::args_os().next()?.into()));
    let mut command = Command::new(own.unwrap_or_else(|| "unspin".into()));
    let (engine, arena, recording, plan, looks) = (Engine::Kernel, None, None, None, None);
    Environment { library, engine, arena, recording, plan, tally: Some(tally.path()), looks }
        .apply(&mut command);
    let output = command.arg("--version").stdin(Stdio::null()).output().map_err(|error| failed(&error))?;
    if tally.programs() > 0 {
        return Ok(());
    }
    // The dynamic linker says why, and goes on without the library.
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().next().unwrap_or("the dynamic linker says nothing");
    Err(Error::Environment(format!(
        "{}: a program does not load it ({reason}): set XDG_CACHE_HOME to a folder of yours in a file system that is not mounted noexec",
        library.display()
    )))
}

/// Whether the other program is there.
pub fn unspin_lab() -> Check {
    const NAME: &str = "unspin-lab";
    match lab::find(lab::REPRODUCE) {
        Ok(file) => Check::ok(NAME, format!("{}, of this build", file.display())),
        Err(error) => Check::fails(NAME, error, "the commands volano, dbt1, reproduce and vm"),
    }
}
