//! `unspin arenas list`.

use super::{size, user, users};
use crate::options::ArenasList;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::shell::on_one_line;
use unspin_launch::output::stdout;
use unspin_sys::creds::Creds;
use unspin_sysv::arenas::{Contents, Found};
use unspin_sysv::{ARENA_FOLDERS, ArenaError};

/// Lists the arenas in a folder, or in those of the default arenas: the caller's own, or all of them for root.
pub fn list(options: &ArenasList) -> Result<ExitCode, Error> {
    let mut arenas = match &options.folder {
        Some(folder) => all_in(folder)?,
        // A folder that does not exist, or that may not be read, has no default arena.
        None => {
            ARENA_FOLDERS.iter().flat_map(|folder| all_in(Path::new(folder)).unwrap_or_default()).collect()
        }
    };
    let uid = Creds::current().uid;
    arenas.retain(|arena| uid == 0 || arena.uid == uid);
    let bytes = if options.bytes { size::exact } else { size::human };
    let blocks: Vec<String> = arenas.iter().map(|arena| block(arena, bytes)).collect();
    match blocks.is_empty() {
        true => stdout::print(&format!("no arenas in {}\n", searched(options)))?,
        false => stdout::print(&blocks.join("\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn all_in(folder: &Path) -> Result<Vec<Found>, Error> {
    let failed = |error| Error::at(folder, "the folder cannot be searched for arenas", error);
    std::path::absolute(folder).and_then(|folder| Found::all_in(&folder)).map_err(failed)
}

fn searched(options: &ArenasList) -> String {
    options.folder.as_deref().map_or_else(|| ARENA_FOLDERS.join(", "), on_one_line)
}

/// The lines about one arena. Each has at most 100 columns, except that of a long file name.
fn block(arena: &Found, bytes: fn(u64) -> String) -> String {
    let engine = match &arena.contents {
        Ok(contents) => format!("engine {}, ", contents.kind),
        Err(_) => String::new(),
    };
    let namespace = match arena.ipc_namespace() {
        Some(number) => format!(", IPC namespace {number}"),
        None => String::new(),
    };
    let contents = match &arena.contents {
        Ok(contents) => objects(contents, bytes),
        Err(error) => condition(error).to_owned(),
    };
    format!(
        "{}\n  {engine}owner {}{namespace}, {} on disk\n  {contents}\n  used by {}\n",
        on_one_line(&arena.path),
        user::name(arena.uid),
        bytes(arena.on_disk),
        users(arena)
    )
}

fn objects(contents: &Contents, bytes: fn(u64) -> String) -> String {
    let count = |number: u64, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    format!(
        "{} ({}), {} ({}), {} ({})",
        count(contents.sets.into(), "set"),
        count(contents.semaphores, "semaphore"),
        count(contents.queues.into(), "message queue"),
        bytes(contents.message_bytes),
        count(contents.segments.into(), "segment"),
        bytes(contents.segment_bytes),
    )
}

/// Why the contents of an arena cannot be read, and what to do.
fn condition(error: &ArenaError) -> &'static str {
    match error {
        ArenaError::Version(_) => "made by another version of unspin: `unspin arenas remove` removes it",
        ArenaError::Io(..) | ArenaError::NotOurs(_) | ArenaError::DefaultPathTaken(_) => {
            "unreadable: run this as its owner or as root"
        }
        _ => "damaged: `unspin arenas remove` removes it",
    }
}
