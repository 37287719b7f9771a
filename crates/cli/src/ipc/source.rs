//! Whose objects are meant.

use crate::arena;
use crate::engine::Engine as Kind;
use crate::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use unspin_sysv::arenas::Found;
use unspin_sysv::{Engine, Options};

/// An engine, and where its objects are.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    arena: PathBuf,
    /// Whether somebody named the arena, and so expects it to be there.
    named: bool,
}

impl Source {
    /// The engine of `--sysv` or of the arena that was named; else that of the environment of a program under `unspin
    /// run`; else `rcu`.
    pub fn new(asked: Option<Kind>, named: Option<&Path>) -> Result<Source, Error> {
        arena::check(asked, named).map_err(Error::Input)?;
        let arena = match named {
            Some(path) => arena::file(path),
            None => variable("UNSPIN_ARENA").map(|path| arena::absolute(path.as_ref())).transpose(),
        };
        let arena = arena.map_err(Error::Input)?;
        let made_for = || arena.as_deref().and_then(kind_of);
        let kind = match (asked, named) {
            (Some(kind), _) => Some(kind),
            // The program around us may have none; who names an arena means an engine that has.
            (None, Some(_)) => made_for().or(inherited()?.filter(|kind| *kind != Kind::Kernel)),
            (None, None) => inherited()?.or_else(made_for),
        };
        let kind = kind.unwrap_or(Kind::Rcu);
        let named = named.is_some() || arena.is_some();
        Ok(Source { kind, arena: arena.unwrap_or_else(|| Engine::default_arena(kind)), named })
    }

    /// Where the objects are, unless they are the kernel's.
    pub fn arena(&self) -> &Path {
        &self.arena
    }

    /// What to tell who sees no objects, as no program has made the usual arena, and perhaps expects those of the other
    /// engine.
    pub fn hint(&self) -> Option<String> {
        if self.named || self.kind == Kind::Kernel || self.arena.exists() {
            return None;
        }
        let is_used = |other: &Kind| {
            ![self.kind, Kind::Kernel].contains(other) && Engine::default_arena(*other).exists()
        };
        let used = Kind::ALL.into_iter().find(is_used)?;
        Some(format!(
            "no program has used the engine {0}, but {used}: `--sysv {used}` shows its objects",
            self.kind
        ))
    }

    /// Refuses an arena that was named and is not there, for who needs nothing of what is in it.
    pub fn expect(&self) -> Result<(), Error> {
        match self.named && self.kind != Kind::Kernel && !self.arena.exists() {
            true => Err(Error::Input(arena::there_is_none(&self.arena))),
            false => Ok(()),
        }
    }

    /// Lets `work` have the engine. `None` if nobody has made its usual arena yet; that one that was named is not there
    /// is an error.
    pub fn visit<R: Send>(&self, work: impl FnOnce(Engine) -> R + Send) -> Result<Option<R>, Error> {
        let engine = Engine::join(self.kind, &self.arena).map_err(|error| Error::arena(&error))?;
        match engine {
            None if self.named => Err(Error::Input(arena::there_is_none(&self.arena))),
            engine => Ok(engine.map(|engine| aside(|| work(engine)))),
        }
    }

    /// Lets `work` have the engine, whose arena is made if it is not there.
    pub fn open<R: Send>(&self, work: impl FnOnce(Engine) -> R + Send) -> Result<R, Error> {
        let engine = Engine::open(self.kind, &self.arena, &Options::default(), None);
        let engine = engine.map_err(|error| Error::arena(&error))?;
        Ok(aside(|| work(engine)))
    }
}

/// The engine that an arena was made for.
fn kind_of(arena: &Path) -> Option<Kind> {
    Some(Found::at(arena).ok()??.contents.ok()?.kind)
}

/// The engine of the program that has started us under `unspin run`, if one has.
fn inherited() -> Result<Option<Kind>, Error> {
    let Some(name) = variable("UNSPIN_SYSV") else { return Ok(None) };
    let name = name.to_string_lossy();
    name.parse().map(Some).map_err(|unknown| {
        Error::Input(format!("UNSPIN_SYSV={name}: {unknown}, or unset it, or name the engine by --sysv"))
    })
}

/// A variable that is neither unset nor empty: to the preload library both are the same.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Runs in a thread of its own. Who calls an engine takes part in its arena until his thread ends; at the end of a process
/// the main thread does not, and is found dead by others later.
fn aside<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
