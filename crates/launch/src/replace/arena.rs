//! The arena that is given on the command line.

use crate::error::Error;
use crate::machine::wakeup;
use crate::output::{shell, stderr};
use crate::replace::engine::Engine;
use std::path::{Path, PathBuf};
use unspin_sysv::ARENA_FOLDERS;

/// The value of `--arena` for the default arena of user, IPC namespace and engine. A file of that name is written
/// `./default`.
pub const DEFAULT: &str = "default";

/// The file given by `--arena`, as an absolute path; `None` for the default arena.
pub fn file(named: &Path) -> Result<Option<PathBuf>, String> {
    if named == Path::new(DEFAULT) { Ok(None) } else { absolute(named).map(Some) }
}

/// The arena file for a program that runs with an engine; `None` for the default arena.
pub fn of(engine: Option<Engine>, named: Option<&Path>) -> Result<Option<PathBuf>, String> {
    check(engine, named)?;
    Ok(named.map(file).transpose()?.flatten())
}

/// An arena's path as an absolute one, valid in any working directory.
pub fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("arena {}: {error}", path.display()))
}

/// Refuses an arena for the engine `kernel`, which has none.
pub fn check(engine: Option<Engine>, named: Option<&Path>) -> Result<(), String> {
    match (engine, named) {
        (Some(Engine::Kernel), Some(named)) => Err(format!(
            "--sysv kernel has no arena, its objects are the kernel's own: leave out --arena {}, or choose {}",
            named.display(),
            Engine::IN_ARENAS.map(Engine::name).join(" or ")
        )),
        _ => Ok(()),
    }
}

/// Opens the arena like the program will, so that an arena that is full, damaged or another user's is reported before
/// the program starts. So is a cost of a wake-up that the user states and no machine can have.
pub fn try_open(engine: Engine, arena: Option<&Path>) -> Result<(), Error> {
    if engine != Engine::Kernel {
        wakeup::cost()?;
    }
    let is_default = arena.is_none() && engine != Engine::Kernel;
    let arena = arena.map_or_else(|| unspin_sysv::Engine::default_arena(engine), Path::to_owned);
    if is_default && !arena.starts_with(ARENA_FOLDERS[0]) {
        stderr::say(format_args!(
            "the default arena is {}, because {} has no room for one; programs that shall share its objects find it there",
            shell::quote(&arena),
            ARENA_FOLDERS[0]
        ));
    }
    let opened = unspin_sysv::Engine::open(engine, &arena, &unspin_sysv::Options::default(), None);
    opened.map(drop).map_err(|error| Error::arena(&error))
}

/// The message for an arena that does not exist, with the command that lists those that do.
pub fn does_not_exist(arena: &Path) -> String {
    let folder = match arena.parent() {
        Some(folder) if folder == Path::new("") => " .".into(),
        Some(folder) if !ARENA_FOLDERS.iter().any(|usual| folder == Path::new(usual)) && folder.is_dir() => {
            format!(" {}", shell::quote(folder))
        }
        _ => String::new(),
    };
    format!("arena {}: does not exist: `unspin arenas list{folder}` shows those that do", arena.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_default_means_no_file_and_other_names_are_paths() {
        let of = |named: &str| file(Path::new(named)).unwrap();
        assert_eq!(of("default"), None);
        assert_eq!(of("/a/b"), Some("/a/b".into()));
        for relative in ["./default", "default/a", "x"] {
            assert!(of(relative).is_some_and(|path| path.is_absolute()), "{relative}");
        }
    }

    #[test]
    fn arena_for_engine_kernel_is_refused() {
        assert!(
            check(Some(Engine::Kernel), Some(Path::new("a"))).is_err_and(|why| why.contains("--arena a"))
        );
        assert_eq!(check(Some(Engine::Kernel), None), Ok(()));
        assert_eq!(check(Some(Engine::Rcu), Some(Path::new("a"))), Ok(()));
        assert_eq!(check(None, Some(Path::new("a"))), Ok(()));
    }

    #[test]
    fn message_for_missing_arena_names_command_that_lists_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let text = does_not_exist(&folder.path().join("a"));
        assert!(text.contains(&format!("`unspin arenas list {}` shows", folder.path().display())), "{text}");
        assert!(does_not_exist(Path::new("a")).contains("`unspin arenas list .` shows"));
        for other in ["/dev/shm/a", "/nonexistent/a"] {
            assert!(does_not_exist(Path::new(other)).contains("`unspin arenas list` shows"), "{other}");
        }
    }
}
