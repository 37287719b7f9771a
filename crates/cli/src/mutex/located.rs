//! Locks that a recording knows, and where another run recognises them.

use super::place::{Address, By, Place, Span};
use crate::meter::names::{Home, Lookup, Names, Parts, Trace};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unspin_meter::{Kind, Lock, Snapshot};
use unspin_symbols::File;

/// A lock that is known by its name and by where it is recognised: a row of a report, or of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// Its name, as the report has it.
    pub name: String,
    /// What the report prints behind it.
    pub origin: Option<String>,
    /// Any of these is it. Never empty.
    pub places: Vec<Place>,
}

impl Located {
    /// The mutexes of a recording, by the rows of its report (elements of arrays and objects of one origin together). Not
    /// among them are those of which an address is all that is known, and those in files that have changed since.
    pub fn all(snapshot: &Snapshot, lookup: &Lookup) -> Vec<Located> {
        let names = Names::new(snapshot, lookup, Parts::Together);
        let mut files = Files::default();
        let mut rows = BTreeMap::<(String, Option<String>), Vec<Place>>::new();
        for image in &snapshot.images {
            for key in image.rows.keys() {
                if !matches!(key.kind(), Some(Kind::Mutex | Kind::Reacquired)) {
                    continue;
                }
                let Some((name, trace)) = names.name(image, key).zip(names.trace(image, key)) else {
                    continue;
                };
                let places = rows.entry((name.lock, name.origin)).or_default();
                for place in files.places(trace) {
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
        let located = |((name, origin), places)| Located { name, origin, places };
        rows.into_iter().map(located).filter(|located| !located.places.is_empty()).collect()
    }

    /// Whether it is that row of the report.
    pub fn is(&self, lock: &Lock) -> bool {
        self.name == lock.row.name && self.origin == lock.origin
    }

    /// `cache_lock, static, cache.c:31`: what can be written behind the @ of `--mutex`.
    pub fn label(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{}, {origin}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The files that variables lie in, and what was found there.
#[derive(Default)]
struct Files {
    open: HashMap<PathBuf, Option<File>>,
    parts: HashMap<(PathBuf, String, u64), Vec<Range<Address>>>,
}

impl Files {
    fn places(&mut self, trace: Trace) -> Vec<Place> {
        match trace {
            Trace::Variable { name, start, size, home } => {
                let parts = self.parts(&home.module, name, start..start.saturating_add(size));
                // Where the file does not tell the parts, the one that was used is known all the same.
                let spans = match parts.iter().any(|range| range.contains(&home.address)) {
                    true => parts.iter().map(|range| Span::new(&home.module, range.clone())).collect(),
                    false => vec![Span::new(&home.module, home.address..home.address + 1)],
                };
                vec![Place { by: By::Variable, spans }]
            }
            Trace::Initialised(calls) => vec![called(By::Init, &calls)],
            Trace::FirstUsed(calls) => vec![called(By::Use, &calls)],
        }
    }

    /// The parts of a variable that share a name, also those that were not used this time.
    fn parts(&mut self, module: &Path, name: String, variable: Range<Address>) -> &[Range<Address>] {
        let key = (module.to_path_buf(), name, variable.start);
        let open = &mut self.open;
        self.parts.entry(key).or_insert_with_key(|(module, name, _)| {
            let file = open.entry(module.clone()).or_insert_with(|| File::open(module));
            let named = file.as_ref().map(|file| file.variables(name)).unwrap_or_default();
            let ranges = named.into_iter().flat_map(|variable| variable.ranges);
            ranges.filter(|range| range.start >= variable.start && range.end <= variable.end).collect()
        })
    }
}

/// Each call is known by its last byte.
fn called(by: By, calls: &[Home]) -> Place {
    let span = |home: &Home| Span::new(&home.module, home.address - 1..home.address);
    Place { by, spans: calls.iter().map(span).collect() }
}
