//! `unspin arenas`: the files that hold the objects of the engines `global` and `rcu`.
//!
//! `list` and `remove` inspect the files from outside and take part in no arena. `show` becomes util-linux's ipcs(1)
//! under the preload library, which then reads the objects of one arena as any other program does.

mod list;
mod remove;
mod show;
mod size;
mod user;

use crate::options::ArenasAction;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::replace::arena;
use unspin_launch::replace::engine::Engine;
use unspin_sysv::arenas::Found;

/// Runs the action that the command line names.
pub fn run(action: &ArenasAction) -> Result<ExitCode, Error> {
    match action {
        ArenasAction::List(options) => list::list(options),
        ArenasAction::Show(options) => show::show(options),
        ArenasAction::Remove(options) => remove::remove(options),
    }
}

/// The files that command-line arguments name. The argument `default` names the default arena of `engine`, or of `rcu`
/// if no engine is given.
fn files(named: &[PathBuf], engine: Option<Engine>) -> Result<Vec<PathBuf>, Error> {
    let is_default = |named: &&PathBuf| *named == Path::new(arena::DEFAULT);
    if let Some(engine) = engine
        && !named.iter().any(|named| is_default(&named))
    {
        return Err(Error::Usage(format!(
            "--sysv {engine} applies only to the arena name {}: leave it out, or name {0} instead of a file",
            arena::DEFAULT
        )));
    }
    let file = |named: &PathBuf| match is_default(&named) {
        true => unspin_sysv::Engine::default_arena(engine.unwrap_or(Engine::Rcu)),
        false => named.clone(),
    };
    Ok(named.iter().map(file).collect())
}

/// Most pids on one line, so that the line has at most 100 columns.
const MAX_PIDS: usize = 8;

/// The processes that use an arena: `process 12`, `processes 12, 13 and 7 more`, `no process`. Threads of other pid
/// namespaces are counted, because their pids mean nothing here.
fn users(arena: &Found) -> String {
    let pids: Vec<String> = arena.processes.iter().take(MAX_PIDS).map(u32::to_string).collect();
    let mut text = match pids.as_slice() {
        [] => String::new(),
        [pid] => format!("process {pid}"),
        pids => format!("processes {}", pids.join(", ")),
    };
    let more = arena.processes.len().saturating_sub(MAX_PIDS);
    if more > 0 {
        text += &format!(" and {more} more");
    }
    if arena.elsewhere > 0 {
        let and = if text.is_empty() { "" } else { "; " };
        let threads = if arena.elsewhere == 1 { "thread" } else { "threads" };
        text += &format!("{and}{} {threads} of other pid namespaces, possibly dead", arena.elsewhere);
    }
    if text.is_empty() { "no process".into() } else { text }
}
