//! Locks that are named by who initialises them, or uses them first.

use super::lock_name::{At, FIRST_USED, Line, Origin};
use super::place::{Address, By, Place, Span};
use super::resolve::Found;
use crate::meter::names::{is_library_of_system, is_of_system, is_wrapper};
use std::collections::BTreeMap;
use unspin_symbols::File;

/// Between the names of two functions, of which the outer one comes first.
const BY_WAY_OF: &str = " ▸ ";

/// What is initialised, or used first, in a line.
pub fn at_line(line: Line<'_>, files: &[File]) -> Option<Found> {
    let code = Code::of_line(line, files);
    let paths = code.paths();
    if paths.len() > 1 {
        let label = |path: &&String| format!("{path}:{}", line.line);
        return Some(Found::Several(paths.iter().map(label).collect()));
    }
    let mut places = Vec::new();
    for span in code.spans() {
        places.push(Place { by: By::Init, spans: vec![span.clone()] });
        places.push(Place { by: By::Use, spans: vec![span.clone()] });
        // Through wrappers, wherever they lie.
        let wrappers = files.iter().filter(|file| !is_library_of_system(&file.name()));
        places.extend(wrappers.map(|file| Place {
            by: By::Init,
            spans: vec![Span::new(file.path(), file.extent()), span.clone()],
        }));
    }
    (!places.is_empty()).then_some(Found::Places(places))
}

/// What is initialised in a function, or in one for another (`outer ▸ inner`); or used first in it.
pub fn named(name: &str, origin: Option<&Origin<'_>>, files: &[File]) -> Option<Found> {
    let (name, by) = match name.strip_prefix(FIRST_USED) {
        Some(name) => (name, By::Use),
        None => (name, By::Init),
    };
    if origin.is_some_and(|origin| origin.by != by) {
        return None;
    }
    let (outer, inner) = match name.split_once(BY_WAY_OF) {
        Some((outer, inner)) => (outer, Some(inner)),
        None => (name, None),
    };
    let mut code = Code::of_function(outer, files);
    if let Some(at) = origin.and_then(|origin| origin.at) {
        code = code.narrowed(outer, at, files);
    }
    let paths = code.paths();
    if paths.len() > 1 {
        return Some(Found::Several(code.labels(outer)));
    }
    let inner = inner.map(|inner| Code::of_function(inner, files));
    let mut places = Vec::new();
    for span in code.spans() {
        match &inner {
            None => places.push(Place { by, spans: vec![span.clone()] }),
            Some(inner) => places.extend(inner.spans().map(|inner| joined(by, inner, span))),
        }
    }
    let direct = places.clone();
    let system = of_system(files);
    for place in direct {
        // The machinery stands between, where it was not put into the program.
        let through = |first: &Span| Place {
            by,
            spans: [first.clone()].into_iter().chain(place.spans.iter().cloned()).collect(),
        };
        places.extend(system.iter().map(through));
    }
    (!places.is_empty()).then_some(Found::Places(places))
}

/// A call within the inner function, on behalf of the outer one: of one that was put into the outer one there is no call.
fn joined(by: By, inner: &Span, outer: &Span) -> Place {
    let start = inner.range.start.max(outer.range.start);
    let end = inner.range.end.min(outer.range.end);
    let spans = match inner.module == outer.module && start < end {
        true => vec![Span::new(&inner.module, start..end)],
        false => vec![inner.clone(), outer.clone()],
    };
    Place { by, spans }
}

/// Functions of the language's library that lock for others, or make locks.
fn of_system(files: &[File]) -> Vec<Span> {
    let functions = |file: &File| match is_library_of_system(&file.name()) {
        true => vec![Span::new(file.path(), file.extent())],
        false => {
            let ranges = file.functions_where(|name| is_of_system(name) && is_wrapper(name));
            ranges.into_iter().map(|range| Span::new(file.path(), range)).collect()
        }
    };
    let is_libc = |file: &&File| file.name().starts_with("libc.so") || file.name().starts_with("ld-");
    files.iter().filter(|file| !is_libc(file)).flat_map(functions).collect()
}

/// Pieces of code, by the path of their source file: none where that is not known.
struct Code {
    pieces: Vec<(Option<String>, Span)>,
}

impl Code {
    fn of_line(Line { file, line }: Line<'_>, files: &[File]) -> Code {
        Code::new(files, |module| module.code_of_line(file, line))
    }

    fn of_function(name: &str, files: &[File]) -> Code {
        Code::new(files, |module| module.functions(name))
    }

    fn new(files: &[File], of: impl Fn(&File) -> Vec<unspin_symbols::Code>) -> Code {
        let mut pieces = Vec::new();
        for module in files {
            for code in of(module) {
                let span = |range| (code.file.clone(), Span::new(module.path(), range));
                pieces.extend(code.ranges.iter().cloned().map(span));
            }
        }
        Code { pieces }
    }

    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.pieces.iter().map(|(_, span)| span)
    }

    /// The sources; a module stands for what has none.
    fn paths(&self) -> Vec<&String> {
        let mut paths: Vec<&String> = self.pieces.iter().filter_map(|(path, _)| path.as_ref()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// One name for each source.
    fn labels(&self, function: &str) -> Vec<String> {
        let mut labels = BTreeMap::new();
        for (path, span) in &self.pieces {
            let name = path.clone().unwrap_or_else(|| span.module.display().to_string());
            labels.entry(name).or_insert_with(|| function.to_owned());
        }
        labels.into_iter().map(|(path, function)| format!("{function} ({path})")).collect()
    }

    /// Only what is in a line, or at an offset in a function, or in a file.
    fn narrowed(self, function: &str, at: At<'_>, files: &[File]) -> Code {
        let within: Vec<Span> = match at {
            At::Line(line) => Code::of_line(line, files).pieces.into_iter().map(|(_, span)| span).collect(),
            At::Offset(offset, module) => {
                let mut calls = Vec::new();
                for file in files.iter().filter(|file| file.name() == module) {
                    // The return address is known; the call ends one byte before.
                    let call = |start: Address| {
                        let end = start.checked_add(offset)?;
                        Some(Span::new(file.path(), end.checked_sub(1)?..end))
                    };
                    calls.extend(file.function_starts(function).into_iter().filter_map(call));
                }
                calls
            }
            At::Module(_) => Vec::new(),
        };
        let mut pieces = Vec::new();
        for (path, span) in &self.pieces {
            for narrow in within.iter().filter(|narrow| narrow.module == span.module) {
                let start = span.range.start.max(narrow.range.start);
                let end = span.range.end.min(narrow.range.end);
                if start < end {
                    pieces.push((path.clone(), Span::new(&span.module, start..end)));
                }
            }
        }
        Code { pieces }
    }
}
