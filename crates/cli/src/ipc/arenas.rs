//! The files that objects lie in: `unspin ipcs --arenas`, `unspin ipcrm --arena`.

use super::legend::Legend;
use super::size::Unit;
use super::source::Source;
use super::table;
use crate::arena;
use crate::error::Error;
use crate::options::Ipcrm;
use crate::stdout;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unspin_sys::creds::Creds;
use unspin_sysv::ArenaError;
use unspin_sysv::arenas::Found;

/// Shows the arenas in a folder: the caller's own, or for root everybody's.
pub fn show(folder: &Path, unit: Unit) -> Result<ExitCode, Error> {
    let cannot = |error| Error::at(folder, "arenas cannot be looked for", error);
    let mut arenas = std::path::absolute(folder).and_then(|folder| Found::all_in(&folder)).map_err(cannot)?;
    let uid = Creds::current().uid;
    arenas.retain(|arena| uid == 0 || arena.uid == uid);
    stdout::print(&text(&arenas, unit, &Legend::default()))?;
    Ok(ExitCode::SUCCESS)
}

/// Numbers stand to the right, words to the left.
const COLUMNS: [(&str, Align); 11] = [
    ("owner", Align::Left),
    ("engine", Align::Left),
    ("ipc-ns", Align::Left),
    ("size", Align::Right),
    ("sets", Align::Right),
    ("sems", Align::Right),
    ("queues", Align::Right),
    ("segments", Align::Right),
    ("bytes", Align::Right),
    ("users", Align::Right),
    ("file", Align::Left),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Align {
    Left,
    Right,
}

fn text(arenas: &[Found], unit: Unit, legend: &Legend) -> String {
    let unit = if unit == Unit::Bytes { Unit::Bytes } else { Unit::Human };
    let rows: Vec<[String; 11]> = arenas.iter().map(|arena| row(arena, unit, legend)).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(COLUMNS[column].0.len())
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let line = |cells: &[String; 11]| {
        let cells = cells.iter().zip(&widths).zip(COLUMNS).map(|((cell, &width), (_, align))| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let titles = COLUMNS.map(|(title, _)| title.to_owned());
    let lines: String = rows.iter().map(line).collect();
    format!("\n------ Arenas --------\n{}{lines}\n", line(&titles))
}

fn row(arena: &Found, unit: Unit, legend: &Legend) -> [String; 11] {
    let none = || "-".to_owned();
    let namespace = arena.ipc_namespace().map_or_else(none, |number| number.to_string());
    let size = |bytes| table::size(unit, bytes);
    let (engine, contents) = match &arena.contents {
        Ok(contents) => {
            let counts =
                [contents.sets.into(), contents.semaphores, contents.queues.into(), contents.segments.into()];
            let [sets, semaphores, queues, segments] = counts.map(|count: u64| count.to_string());
            let bytes = size(contents.message_bytes.saturating_add(contents.segment_bytes));
            (contents.kind.to_string(), [sets, semaphores, queues, segments, bytes])
        }
        Err(error) => (condition(error).to_owned(), [(); 5].map(|()| none())),
    };
    let [sets, semaphores, queues, segments, bytes] = contents;
    [
        legend.user(arena.uid),
        engine,
        namespace,
        size(arena.on_disk),
        sets,
        semaphores,
        queues,
        segments,
        bytes,
        users(arena),
        on_one_line(&arena.path),
    ]
}

/// A file's name without what would end the line or be obeyed by a terminal: in `/dev/shm` anybody gives files names, and root
/// is shown them.
fn on_one_line(path: &Path) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    path.display().to_string().chars().map(escaped).collect()
}

/// Why nothing can be said of what is in an arena, in a word.
fn condition(error: &ArenaError) -> &'static str {
    match error {
        ArenaError::Version(_) => "(other version)",
        ArenaError::Io(..) | ArenaError::NotOurs(_) | ArenaError::DefaultPathTaken(_) => "(unreadable)",
        _ => "(damaged)",
    }
}

/// How many processes use it; a `?` behind the number says that threads of other pid namespaces may.
fn users(arena: &Found) -> String {
    let doubt = if arena.elsewhere > 0 { "?" } else { "" };
    format!("{}{doubt}", arena.processes.len())
}

/// Removes arenas: all of them that can be.
pub fn remove(named: &[PathBuf], options: &Ipcrm) -> Result<ExitCode, Error> {
    let mut code = ExitCode::SUCCESS;
    for named in named {
        let usual = match named == Path::new(arena::USUAL) {
            true => Some(Source::new(options.source.sysv, Some(named))?),
            false => None,
        };
        let path = usual.as_ref().map_or(named.as_path(), Source::arena);
        match remove_one(path, options) {
            Ok(()) if options.verbose => stdout::print(&format!("removing arena {}\n", path.display()))?,
            Ok(()) => {}
            Err(reason) => {
                eprintln!("unspin: ipcrm: {reason}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Of a file that neither begins nor ends as an arena does, nor is called like one.
const NO_ARENA: &str = "is no arena of unspin, and is left alone";

/// What a file may have been, which a folder, a link or a device has not.
const PERHAPS_ONE: &str = "; if you know that it was one, rm removes it, and \
     `unspin ipcs -m -c --sysv kernel` shows what it may have left: `unspin ipcrm -m ID --sysv kernel` removes that";

fn remove_one(path: &Path, options: &Ipcrm) -> Result<(), String> {
    let name = path.display();
    let arena = match Found::at(path) {
        Ok(Some(arena)) => arena,
        Ok(None) => return Err(arena::there_is_none(path)),
        Err(ArenaError::NotOurs(_) | ArenaError::DefaultPathTaken(_)) => {
            return Err(format!("arena {name}: belongs to another user: ask its owner, or root"));
        }
        Err(ArenaError::Corrupt(_)) => {
            let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
            return Err(format!("arena {name}: {NO_ARENA}{}", if is_file { PERHAPS_ONE } else { "" }));
        }
        Err(error) => return Err(error.to_string()),
    };
    if arena.is_in_use() && !options.force {
        return Err(format!(
            "arena {name}: is in use by {}: end what uses it first, or use --force, after which it finds nothing that \
             others make",
            in_words(&arena)
        ));
    }
    let removed = arena.remove().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            let owner = Legend::default().user(arena.uid);
            format!("arena {name}: cannot be removed by you: ask its owner, {owner}, or root")
        }
        _ => format!("arena {name}: cannot be removed: {error}"),
    })?;
    match removed.refused {
        0 => Ok(()),
        left => Err(format!(
            "arena {name}: is removed, but for the memory of {left} of its segments, which other users made: \
             `unspin ipcs -m -c --sysv kernel` shows it to root"
        )),
    }
}

/// Most pids that a line names.
const NAMED: usize = 8;

/// Who uses an arena.
fn in_words(arena: &Found) -> String {
    let pids: Vec<String> = arena.processes.iter().take(NAMED).map(u32::to_string).collect();
    let more = arena.processes.len().saturating_sub(NAMED);
    let mut who = match arena.processes.len() {
        0 => String::new(),
        1 => format!("process {}", pids[0]),
        _ => format!("processes {}", pids.join(", ")),
    };
    if more > 0 {
        who += &format!(" and {more} more");
    }
    if arena.elsewhere > 0 {
        let and = if who.is_empty() { "" } else { " and " };
        let threads = if arena.elsewhere == 1 { "thread" } else { "threads" };
        who += &format!("{and}{} {threads} of other pid namespaces, which may be dead", arena.elsewhere);
    }
    who
}
