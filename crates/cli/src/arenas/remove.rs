//! `unspin arenas remove`.

use super::{files, user, users};
use crate::options::ArenasRemove;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::shell::on_one_line;
use unspin_launch::output::stdout;
use unspin_launch::replace::arena;
use unspin_sysv::ArenaError;
use unspin_sysv::arenas::Found;

/// Removes every named arena that can be removed, and prints a line for each of the others.
pub fn remove(options: &ArenasRemove) -> Result<ExitCode, Error> {
    let mut code = ExitCode::SUCCESS;
    for path in files(&options.arenas, options.sysv)? {
        match remove_one(&path, options) {
            Ok(()) if options.verbose => stdout::print(&format!("removed arena {}\n", on_one_line(&path)))?,
            Ok(()) => {}
            Err(reason) => {
                unspin_launch::output::stderr::say(format_args!("{reason}"));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Advice for a regular file that neither begins nor ends like an arena and is not named like one. Folders, links and
/// devices get none, because they never were arenas.
const OTHER_FILE: &str = ": if it was one, remove it with rm, and the shared memory segments that it may have left \
     (`ipcs -m -c` lists them) with `ipcrm -m ID`";

fn remove_one(path: &Path, options: &ArenasRemove) -> Result<(), String> {
    let name = path.display();
    let arena = match Found::at(path) {
        Ok(Some(arena)) => arena,
        Ok(None) => return Err(arena::does_not_exist(path)),
        Err(ArenaError::NotOurs(_) | ArenaError::DefaultPathTaken(_)) => {
            return Err(format!("arena {name}: belongs to another user: ask its owner, or root"));
        }
        Err(ArenaError::Corrupt(_)) => {
            let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
            let advice = if is_file { OTHER_FILE } else { "" };
            return Err(format!("arena {name}: is not an arena of unspin, and was not removed{advice}"));
        }
        Err(error) => return Err(error.to_string()),
    };
    if arena.is_in_use() && !options.force {
        return Err(format!(
            "arena {name}: is in use by {}: end them first, or add --force; then they no longer share objects with \
             programs that start later",
            users(&arena)
        ));
    }
    let removed = arena.remove().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            let owner = user::name(arena.uid);
            format!("arena {name}: you may not remove it: ask its owner, {owner}, or root")
        }
        _ => format!("arena {name}: cannot be removed: {error}"),
    })?;
    match removed.refused {
        0 => Ok(()),
        left => Err(format!(
            "arena {name}: was removed, except the memory of {left} of its segments, which other users created: \
             root finds them with `ipcs -m -c` and removes them with `ipcrm -m ID`"
        )),
    }
}
