//! `unspin ipcrm`.

use super::source::Source;
use super::{arenas, name, reason, refused};
use crate::arena;
use crate::error::Error;
use crate::options::{Ipcrm, Kinds, Name, Removal, parse_id};
use crate::stdout;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use unspin_sys::Errno;
use unspin_sysv::{Class, Engine, Kind};

/// Removes what is asked for: all of it that can be.
pub fn remove(options: &Ipcrm) -> Result<ExitCode, Error> {
    let mut work = Work::default();
    let (old_form, files) = work.arguments(options)?;
    let removals = if old_form.is_empty() { &options.removals.0 } else { &old_form };
    let objects = !removals.is_empty() || options.all.is_some() || work.failures > 0;
    options
        .arena
        .iter()
        .try_for_each(|named| arena::check(options.source.sysv, Some(named)))
        .map_err(Error::Input)?;
    match options.arena.as_slice() {
        [] => {}
        _ if !objects => return arenas::remove(&[&options.arena[..], &files].concat(), options),
        _ if options.force => {
            return Err(Error::Input(
                "ipcrm: --force is for whole arenas: leave it out to remove objects".into(),
            ));
        }
        [_] => {}
        _ => {
            return Err(Error::Input(
                "ipcrm: objects are removed from one arena at a time: name one --arena".into(),
            ));
        }
    }
    let source = Source::new(options.source.sysv, options.arena.first().map(PathBuf::as_path))?;
    let visited = source.visit(|engine| {
        removals.iter().for_each(|removal| work.remove(engine, *removal));
        options.all.map_or(Ok(()), |kinds| work.remove_all(engine, kinds))
    })?;
    if visited.is_none() {
        // Nothing is there, so nothing can be found.
        removals.iter().for_each(|removal| work.missed(*removal, Errno::EINVAL));
    }
    if options.verbose {
        stdout::print(&work.said)?;
    }
    visited.unwrap_or(Ok(()))?;
    if work.failures > 0 {
        return Ok(ExitCode::FAILURE);
    }
    if !old_form.is_empty() {
        stdout::print("resource(s) deleted\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What has been done.
#[derive(Debug, Default)]
struct Work {
    /// A line for each removal that was tried.
    said: String,
    failures: usize,
}

impl Work {
    /// What stands on the command line without an option: a kind and ids of it, or, behind `--arena`, the files of
    /// further arenas.
    fn arguments(&mut self, options: &Ipcrm) -> Result<(Vec<Removal>, Vec<PathBuf>), Error> {
        let Some((kind, rest)) = options.arguments.split_first() else { return Ok(Default::default()) };
        let class = match kind.to_str() {
            Some("shm") => Class::Shm,
            Some("msg") => Class::Msg,
            Some("sem") => Class::Sem,
            _ if !options.arena.is_empty() => {
                return Ok((Vec::new(), options.arguments.iter().map(PathBuf::from).collect()));
            }
            _ => {
                return Err(Error::Input(format!(
                    "ipcrm: unknown argument: {}: name objects by options, or shm, msg or sem, and ids",
                    kind.display()
                )));
            }
        };
        if rest.is_empty() {
            return Err(Error::Input(format!(
                "ipcrm: not enough arguments: give ids behind {}",
                kind.display()
            )));
        }
        Ok((self.old_form(class, rest), Vec::new()))
    }

    /// A kind and ids. An id that is none is a failure; the others are removed all the same.
    fn old_form(&mut self, class: Class, ids: &[OsString]) -> Vec<Removal> {
        let parsed = ids.iter().map(|id| (id, parse_id(&id.to_string_lossy())));
        let good = parsed.filter_map(|(id, parsed)| match parsed {
            Ok(name) => Some(Removal { class, name }),
            Err(hint) => {
                self.fail(&format!("invalid id: {}: {hint}", id.display()));
                None
            }
        });
        good.collect()
    }

    fn remove(&mut self, engine: Engine, removal: Removal) {
        let id = match removal.name {
            Name::Id(id) => Ok(id),
            Name::Key(key) => engine.id_of(removal.class, key),
        };
        let removed = id.and_then(|id| {
            self.tell(removal.class, id);
            expect(engine, removal.class, id)?;
            engine.remove(removal.class, id)
        });
        if let Err(errno) = removed {
            self.missed(removal, errno);
        }
    }

    fn tell(&mut self, class: Class, id: i32) {
        self.said += &format!("removing {} id `{id}'\n", word(class));
    }

    fn remove_all(&mut self, engine: Engine, kinds: Kinds) -> Result<(), Error> {
        for &class in kinds.classes() {
            let ids = engine.readable(class).map_err(|errno| refused(name(class), errno))?;
            for id in ids {
                self.tell(class, id);
                if let Err(errno) = engine.remove(class, id) {
                    self.missed(Removal { class, name: Name::Id(id) }, errno);
                }
            }
        }
        Ok(())
    }

    fn missed(&mut self, removal: Removal, errno: Errno) {
        let which = match removal.name {
            Name::Id(id) => format!("id ({id})"),
            Name::Key(key) => format!("key ({key:#x})"),
        };
        let list = match removal.class {
            Class::Shm => "unspin ipcs -m",
            Class::Msg => "unspin ipcs -q",
            Class::Sem => "unspin ipcs -s",
        };
        let kind = name(removal.class);
        self.fail(&match errno {
            Errno::EINVAL | Errno::ENOENT => {
                format!("invalid {which}: no {kind} has it; `{list}` shows those that there are")
            }
            Errno::EACCES | Errno::EPERM => format!(
                "permission denied for {which}: only who owns or made the {kind}, and root, may remove it"
            ),
            Errno::EIDRM => format!("already removed {which}"),
            _ => format!("{which} failed: {}", reason(errno)),
        });
    }

    fn fail(&mut self, text: &str) {
        eprintln!("unspin: ipcrm: {text}");
        self.failures += 1;
    }
}

/// `EINVAL` for a segment that is not among the arena's. Ids of segments are good everywhere: the kernel would remove any
/// program's, which `unspin ipcs` has not shown.
fn expect(engine: Engine, class: Class, id: i32) -> Result<(), Errno> {
    let is_there = class != Class::Shm
        || engine.kind() == Kind::Kernel
        || engine.segments()?.iter().any(|(listed, _)| *listed == id);
    if is_there { Ok(()) } else { Err(Errno::EINVAL) }
}

/// What util-linux calls an object that it removes.
fn word(class: Class) -> &'static str {
    match class {
        Class::Shm => "shared memory segment",
        Class::Msg => "message queue",
        Class::Sem => "semaphore",
    }
}
