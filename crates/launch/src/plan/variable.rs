//! Locks that are named after static variables.

use super::lock_name::{At, Origin, SourceLine};
use super::place::{By, Place, Span};
use super::resolve::NameMatch;
use std::collections::BTreeMap;
use unspin_symbols::{File, StaticVariable};
use unspin_wire::plan::LockFamily;

/// Size of a lock in bytes in glibc on x86-64: smaller variables contain none.
pub const fn bytes(family: LockFamily) -> u64 {
    match family {
        LockFamily::Mutex => 40,
        LockFamily::RwLock => 56,
        LockFamily::Spin => 4,
    }
}

/// A static variable, or parts of it, and its file.
struct Variable<'f> {
    file: &'f File,
    it: StaticVariable,
}

/// The variables of a name, and of an origin if there is one.
pub fn find(
    family: LockFamily,
    name: &str,
    origin: Option<&Origin<'_>>,
    files: &[File],
) -> Option<NameMatch> {
    if origin.is_some_and(|origin| origin.by != By::Variable) {
        return None;
    }
    let variables =
        files.iter().flat_map(|file| file.variables(name).into_iter().map(move |it| Variable { file, it }));
    merge_duplicates(family, variables.filter(|variable| origin.is_none_or(|origin| variable.is_at(origin))))
}

/// The variables that a line declares.
pub fn declared_at(
    family: LockFamily,
    SourceLine { file, line }: SourceLine<'_>,
    files: &[File],
) -> Option<NameMatch> {
    let declared = |module: &File| module.declared_at(file, line);
    merge_duplicates(
        family,
        files.iter().flat_map(|file| declared(file).into_iter().map(move |it| Variable { file, it })),
    )
}

/// Variables that the dynamic linker or the source merges are one lock; a header may define them in many files.
fn merge_duplicates<'f>(
    family: LockFamily,
    variables: impl Iterator<Item = Variable<'f>>,
) -> Option<NameMatch> {
    let mut locks: BTreeMap<String, Vec<Variable<'f>>> = BTreeMap::new();
    let mut small = None;
    for variable in variables {
        match variable.holds(family) {
            true => locks.entry(variable.identity()).or_default().push(variable),
            false => small = Some(variable),
        }
    }
    match (locks.len(), small) {
        (0, None) => None,
        (0, Some(variable)) => Some(NameMatch::Unfit(variable.too_small(family))),
        (1, _) => {
            let spans = locks.into_values().flatten().flat_map(Variable::into_spans).collect();
            Some(NameMatch::Places(vec![Place { by: By::Variable, spans }]))
        }
        _ => Some(NameMatch::Several(locks.values().map(|one| one[0].label()).collect())),
    }
}

impl Variable<'_> {
    /// As the meter prints it.
    fn label(&self) -> String {
        match &self.it.location {
            Some(location) => format!("{}, static, {location}", self.it.name),
            None => format!("{}, static, {}", self.it.name, self.file.name()),
        }
    }

    fn identity(&self) -> String {
        match (&self.it.exported, &self.it.location) {
            (Some(symbol), _) => format!("symbol {symbol}"),
            (None, Some(location)) => format!("{} {}:{}", self.it.name, location.file, location.line),
            (None, None) => format!("{} {}", self.it.name, self.file.path().display()),
        }
    }

    fn is_at(&self, origin: &Origin<'_>) -> bool {
        match (origin.at, &self.it.location) {
            (Some(At::Line(line)), Some(location)) => line.is(location),
            (Some(At::Module(module)), _) => self.file.is_called(module),
            _ => false,
        }
    }

    /// If it was named by its offset, only the first byte is known.
    fn holds(&self, family: LockFamily) -> bool {
        let bytes = bytes(family);
        self.it.ranges.iter().all(|range| range.end - range.start == 1 || range.end - range.start >= bytes)
    }

    fn too_small(&self, family: LockFamily) -> String {
        let noun = family.noun();
        let bytes = self.it.ranges.first().map_or(0, |range| range.end - range.start);
        format!(
            "the variable ({}) has {bytes} bytes, too few for a {noun}; a {noun} to which it points is named after its \
             initialisation, as `unspin meter` prints it",
            self.label()
        )
    }

    fn into_spans(self) -> Vec<Span> {
        self.it.ranges.into_iter().map(|range| Span::new(self.file.path(), range)).collect()
    }
}
