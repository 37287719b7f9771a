//! The environment variables that tell a program's preload library what to do.

use crate::machine::looks::{self, PollSupport};
use crate::machine::wakeup;
use crate::replace::engine::Engine;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;
use unspin_wire::environment::{ALL, ARENA, ENGINE_WAKE_UP_NS, LOOKS, PLAN, RECORD, SYSV, TALLY};

/// The parameters of the preload library. The crate `unspin-preload` reads them.
#[derive(Debug)]
pub struct Environment<'a> {
    /// The library.
    pub library: &'a Path,
    /// The engine.
    pub engine: Engine,
    /// The arena, an absolute path; `None` for the engine's default.
    pub arena: Option<&'a Path>,
    /// The recording file, an absolute path; `None` if nothing is metered.
    pub recording: Option<&'a Path>,
    /// The compiled plan of replaced mutexes and waits, an absolute path; `None` if all are libc's.
    pub plan: Option<&'a Path>,
    /// The tally of what the plan replaces, an absolute path; `None` if nothing is counted.
    pub tally: Option<&'a Path>,
    /// Which looks work, if the plan depends on that ([`Compiled::poll_support`](crate::plan::Compiled::poll_support)).
    pub looks: Option<&'a PollSupport>,
}

impl Environment<'_> {
    /// Sets the variables for a command. The variables of an outer `unspin` are removed first.
    pub fn apply(&self, command: &mut Command) {
        clear(command);
        let others = std::env::var_os("LD_PRELOAD").and_then(|list| others(&list));
        command.env("LD_PRELOAD", preload(self.library, others));
        command.env(SYSV, self.engine.name());
        if let Some(ns) = wakeup::ns_for(self.engine) {
            command.env(ENGINE_WAKE_UP_NS, ns.to_string());
        }
        if let Some(looks) =
            self.looks.or_else(|| looks::for_engine(self.engine)).and_then(PollSupport::variable)
        {
            command.env(LOOKS, looks);
        }
        let paths = [(ARENA, self.arena), (RECORD, self.recording), (PLAN, self.plan), (TALLY, self.tally)];
        for (name, value) in paths {
            if let Some(path) = value {
                command.env(name, path);
            }
        }
    }
}

/// Removes all of our variables from a command's environment, so that an `unspin` under another one does not inherit
/// its settings.
pub fn clear(command: &mut Command) {
    for name in ALL {
        command.env_remove(name);
    }
    if let Some(list) = std::env::var_os("LD_PRELOAD") {
        match others(&list) {
            Some(others) => command.env("LD_PRELOAD", others),
            None => command.env_remove("LD_PRELOAD"),
        };
    }
}

/// The value of `LD_PRELOAD`: our library first, because the first definition of a symbol counts, then the libraries
/// that were there before.
fn preload(library: &Path, others: Option<OsString>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = others {
        value.push(":");
        value.push(others);
    }
    value
}

/// The libraries of an `LD_PRELOAD` that are not ours, if any. Colons and spaces separate them: ld.so(8).
fn others(list: &OsStr) -> Option<OsString> {
    let entries = list.as_bytes().split(|b| b": ".contains(b)).filter(|entry| !entry.is_empty());
    let ours = |entry: &&[u8]| entry.rsplit(|&b| b == b'/').next().is_some_and(|n| n.starts_with(LIBRARY));
    let others: Vec<&[u8]> = entries.filter(|entry| !ours(entry)).collect();
    (!others.is_empty()).then(|| OsString::from_vec(others.join(&b':')))
}

/// Prefix of the file names of all builds of our preload library.
const LIBRARY: &[u8] = crate::library::NAME.as_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_preload_is_kept_after_ours() {
        let ours = Path::new("/c/u.so");
        let preload = |list: &str| preload(ours, others(list.as_ref()));
        assert_eq!(preload(""), "/c/u.so");
        assert_eq!(preload("/j/jemalloc.so /k.so"), "/c/u.so:/j/jemalloc.so:/k.so");
        assert_eq!(preload("/old/libunspin_preload-1.so:/j/jemalloc.so"), "/c/u.so:/j/jemalloc.so");
        assert_eq!(preload("libunspin_preload.so"), "/c/u.so");
    }

    #[test]
    fn apply_sets_only_the_given_variables() {
        let mut command = Command::new("x");
        command.env("UNSPIN_RECORD", "/outer");
        let environment = Environment {
            library: Path::new("/c/u.so"),
            engine: Engine::Rcu,
            arena: Some(Path::new("/dev/shm/a")),
            recording: None,
            plan: None,
            tally: None,
            looks: None,
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
