//! The files of `unspin` and `unspin-lab`, each of which the other executes.

use super::file_identity::FileIdentity;
use super::this_program::{own, own_file};
use super::version;
use crate::error::Error;
use crate::program::reach;
use crate::program::workload::WorkloadProgram;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use unspin_wire::environment::EXECUTABLE;

/// The file of the program that is not this one: the first of this build beside our own file or in `PATH`. `needed_by` is the command
/// or the program that executes it, for messages.
pub(super) fn find(program: WorkloadProgram, needed_by: &str) -> Result<PathBuf, Error> {
    let mut refusal = None;
    for file in candidates(program.name()) {
        match version::check(&file, program, needed_by) {
            Ok(()) => return Ok(file),
            Err(error) => _ = refusal.get_or_insert(error),
        }
    }
    Err(refusal.unwrap_or_else(|| {
        Error::NotFound(format!(
            "{needed_by} needs the program {}, which is not installed: cargo install --path {}",
            program.name(),
            program.folder()
        ))
    }))
}

/// The file of `unspin`, which performs its own workloads.
///
/// In `unspin` it is the process's own file. `unspin-lab` gets the path of the `unspin` that executes it in a variable, as cargo
/// tells its subcommands where it is: the two need not be in one folder, and an `unspin` beside `unspin-lab` can be another
/// build than the one that the user has typed. Without the variable the user has typed `unspin-lab`; then it is the `unspin`
/// beside that, else the one in `PATH`, if it is of this build.
///
/// Fails if the file has been replaced since the first call: then it is another program than the one that was measured before.
pub fn find_unspin() -> Result<PathBuf, Error> {
    static FIRST: OnceLock<(PathBuf, Option<FileIdentity>)> = OnceLock::new();
    if own() == WorkloadProgram::Unspin {
        return Ok(own_file());
    }
    if let Some((file, first)) = FIRST.get() {
        return match FileIdentity::of(file) == *first {
            true => Ok(file.clone()),
            false => Err(Error::Environment(format!(
                "{}: was replaced while it was measured: run the command again",
                file.display()
            ))),
        };
    }
    let told = env::var_os(EXECUTABLE).filter(|file| !file.is_empty()).map(PathBuf::from);
    let file = told.map_or_else(|| find(WorkloadProgram::Unspin, WorkloadProgram::Lab.name()), Ok)?;
    FIRST.get_or_init(|| (file.clone(), FileIdentity::of(&file)));
    Ok(file)
}

/// The programs of this name beside our own, then those in `PATH`.
fn candidates(name: &str) -> Vec<PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.iter().flat_map(|file| folders_of(file)).map(|folder| folder.join(name));
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path =
        env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    beside.chain(in_path).filter(|file| reach::is_executable(file)).collect()
}

/// The folders in which programs lie that were built or installed together with this one: its own, and if that is called
/// `deps`, in which cargo puts tests, the one above.
fn folders_of(file: &Path) -> impl Iterator<Item = &Path> {
    let own = file.parent();
    let above = own.filter(|folder| folder.ends_with("deps")).and_then(Path::parent);
    own.into_iter().chain(above)
}
