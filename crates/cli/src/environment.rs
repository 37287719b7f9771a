//! The environment in which a program finds its engine.

use crate::engine::Engine;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What the preload library is told. See the crate `unspin-preload`, which reads it.
#[derive(Debug)]
pub struct Environment<'a> {
    /// The library.
    pub library: &'a Path,
    /// The engine.
    pub engine: Engine,
    /// The arena, an absolute path; the engine's default without one.
    pub arena: Option<&'a Path>,
    /// The recording file, an absolute path; nothing is metered without one.
    pub recording: Option<&'a Path>,
}

impl Environment<'_> {
    /// Sets the variables for a command. Ours alone: what an outer `unspin` has set does not shine through.
    pub fn apply(&self, command: &mut Command) {
        clear(command);
        command.env("LD_PRELOAD", preload(self.library, std::env::var_os("LD_PRELOAD")));
        command.env("UNSPIN_SYSV", self.engine.name());
        for (name, value) in [("UNSPIN_ARENA", self.arena), ("UNSPIN_RECORD", self.recording)] {
            if let Some(path) = value {
                command.env(name, path);
            }
        }
    }
}

/// Takes our variables out of a command's environment: nothing of ours reaches the program.
pub fn clear(command: &mut Command) {
    for name in ["UNSPIN_SYSV", "UNSPIN_ARENA", "UNSPIN_RECORD"] {
        command.env_remove(name);
    }
}

/// Ours first, since the first definition of a symbol counts; what was there stays behind it.
fn preload(library: &Path, existing: Option<OsString>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(existing) = existing.filter(|e| !e.is_empty()) {
        value.push(":");
        value.push(existing);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_preload_is_kept_behind_ours() {
        let ours = Path::new("/c/u.so");
        assert_eq!(preload(ours, None), "/c/u.so");
        assert_eq!(preload(ours, Some("".into())), "/c/u.so");
        assert_eq!(preload(ours, Some("/j/jemalloc.so".into())), "/c/u.so:/j/jemalloc.so");
    }

    #[test]
    fn only_what_is_meant_is_set() {
        let mut command = Command::new("x");
        command.env("UNSPIN_RECORD", "/outer");
        let environment = Environment {
            library: Path::new("/c/u.so"),
            engine: Engine::Rcu,
            arena: Some(Path::new("/dev/shm/a")),
            recording: None,
        };
        environment.apply(&mut command);
        let value = |name: &str| {
            let mut all = command.get_envs();
            all.find(|(n, _)| *n == name).and_then(|(_, v)| v).map(|v| v.to_str().unwrap().to_owned())
        };
        assert_eq!(value("UNSPIN_SYSV").as_deref(), Some("rcu"));
        assert_eq!(value("UNSPIN_ARENA").as_deref(), Some("/dev/shm/a"));
        assert_eq!(value("UNSPIN_RECORD"), None);
    }
}
