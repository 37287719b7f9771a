//! Locks that are named after the code that initialises them or uses them first.

use super::lock_name::{At, Origin, SourceLine, first_used, split_first_use};
use super::place::{Address, By, Place, Span};
use super::resolve::NameMatch;
use super::site;
use crate::program::system_code::is_of_system;
use core::ops::Range;
use std::collections::BTreeMap;
use unspin_symbols::File;
use unspin_wire::plan::LockFamily;

/// Separates the names of two functions, the outer one first.
const BY_WAY_OF: &str = " ▸ ";

/// The locks that are initialised or first used in a line.
pub fn at_line(
    family: LockFamily,
    line: SourceLine<'_>,
    files: &[File],
    runtime: &[File],
) -> Option<NameMatch> {
    let code = Code::of_line(line, files);
    let paths = code.paths();
    if paths.len() > 1 {
        let label = |path: &&String| format!("{path}:{}", line.line);
        return Some(NameMatch::Several(paths.iter().map(label).collect()));
    }
    let calls =
        [LockCall::Init, LockCall::Use].map(|call| Calls::of(Callee::Lock(family, call), files, runtime));
    let direct = |calls: &Calls| code.spans().flat_map(|span| calls.within(span)).collect::<Vec<Place>>();
    let mut places: Vec<Place> = calls.iter().flat_map(direct).collect();
    if places.is_empty() {
        // Look for initialisations through wrappers anywhere below the line, but for first uses only through the
        // runtime's wrappers: a mutex that is first used somewhere below a line need not belong to it.
        let [init, used] = &calls;
        let below = |span: &Span| {
            init.anywhere_below(span).into_iter().chain(used.through_system(std::slice::from_ref(span)))
        };
        places.extend(code.spans().flat_map(below));
    }
    code.found(places, &format!("its code calls no function that initialises or uses a {}", family.noun()))
}

/// The locks that a function initialises, or that an inner function initialises for it (`outer ▸ inner`); or the locks that
/// are first used there ([`first_used`]).
pub fn find(
    family: LockFamily,
    name: &str,
    origin: Option<&Origin<'_>>,
    files: &[File],
    runtime: &[File],
) -> Option<NameMatch> {
    let (name, call) = match split_first_use(name) {
        Some((_, name)) => (name, LockCall::Use),
        None => (name, LockCall::Init),
    };
    if origin.is_some_and(|origin| origin.by != call.by()) {
        return None;
    }
    let (outer, inner) = match name.split_once(BY_WAY_OF) {
        Some((outer, inner)) => (outer, Some(inner)),
        None => (name, None),
    };
    let mut code = Code::of_function(outer, files);
    if let Some(at) = origin.and_then(|origin| origin.at) {
        code = code.narrow(outer, at, files);
    }
    if code.paths().len() > 1 {
        return Some(NameMatch::Several(code.labels(outer)));
    }
    let chains: Vec<Vec<Span>> = match inner.map(|inner| Code::of_function(inner, files)) {
        None => code.spans().map(|span| vec![span.clone()]).collect(),
        Some(inner) => {
            inner.spans().flat_map(|inner| code.spans().map(move |outer| chain(inner, outer))).collect()
        }
    };
    let calls = Calls::of(Callee::Lock(family, call), files, runtime);
    let mut places = Vec::new();
    for spans in chains {
        places.extend(calls.through_system(&spans));
        if !calls.within(&spans[0]).is_empty() || may_reach_libc(family, &spans, files) {
            places.push(Place { by: call.by(), spans });
        }
    }
    let locks = || {
        let calls = Calls::of(Callee::Lock(family, LockCall::Use), files, runtime);
        code.spans().any(|span| !calls.within(span).is_empty())
    };
    let (noun, nouns) = (family.noun(), family.nouns());
    let why = match call {
        LockCall::Init if family.has_first_use() && places.is_empty() && locks() => format!(
            "it initialises no {noun}: {nouns} that are first used there have the name '{}', others that of their variable, or \
             of the function that initialises them",
            first_used(family, name)
        ),
        LockCall::Init => format!(
            "it calls no function of libc that initialises a {noun}: name the function that does, or for which it is done"
        ),
        LockCall::Use => format!(
            "it calls no function of libc that locks a {noun}: name the function that does, or for which it is done"
        ),
    };
    code.found(places, &why)
}

/// Whether the innermost code may call libc in a way that the file does not show: the code is a single call, or it
/// calls through a pointer. The meter prints such names where it has seen libc's function return. Calls of mutex
/// functions are not among them, because the file shows them.
fn may_reach_libc(family: LockFamily, spans: &[Span], files: &[File]) -> bool {
    let Some(inner) = spans.first() else { return false };
    let Range { start, end } = inner.range;
    let is_of_lock = |name: &str| LockCall::ALL.iter().any(|&call| Callee::Lock(family, call).is(name));
    let is_known = |file: &File| file.calls(is_of_lock).contains(&start);
    let may_reach = |file: &File| match end == start + 1 {
        true => file.is_return_address(end) && !is_known(file),
        false => file.calls_through_pointer(&inner.range),
    };
    files.iter().any(|file| file.path() == inner.module && may_reach(file))
}

/// A call within the inner function on behalf of the outer one. A function that was inlined into the outer one has no
/// call.
fn chain(inner: &Span, outer: &Span) -> Vec<Span> {
    let start = inner.range.start.max(outer.range.start);
    let end = inner.range.end.min(outer.range.end);
    match inner.module == outer.module && start < end {
        true => vec![Span::new(&inner.module, start..end)],
        false => vec![inner.clone(), outer.clone()],
    }
}

/// How code calls libc for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockCall {
    /// It initialises the lock.
    Init,
    /// It acquires the lock.
    Use,
}

impl LockCall {
    const ALL: [LockCall; 2] = [LockCall::Init, LockCall::Use];

    fn by(self) -> By {
        match self {
            LockCall::Init => By::Init,
            LockCall::Use => By::Use,
        }
    }
}

/// A set of functions of libc.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// Those that initialise or acquire a lock of this family.
    Lock(LockFamily, LockCall),
    /// Those that wait.
    Wait,
}

impl Callee {
    fn by(self) -> By {
        match self {
            Callee::Lock(_, call) => call.by(),
            Callee::Wait => By::Site,
        }
    }

    /// Whether a function of this name is among them.
    fn is(self, function: &str) -> bool {
        let Callee::Lock(family, call) = self else { return site::is_wait(function) };
        let Some(verb) = verb(family, function) else { return false };
        match call {
            LockCall::Init => verb == "init",
            LockCall::Use => family.has_first_use() && ACQUIRE.contains(&verb),
        }
    }

    /// Whether a runtime function of the language is between the program's functions and libc's.
    fn is_between(self, function: &str) -> bool {
        if self == Callee::Wait { is_of_system(function) } else { is_lock_of_system(function) }
    }
}

/// The functions that acquire a lock, without the object.
const ACQUIRE: [&str; 12] = [
    "lock",
    "trylock",
    "timedlock",
    "clocklock",
    "rdlock",
    "tryrdlock",
    "timedrdlock",
    "clockrdlock",
    "wrlock",
    "trywrlock",
    "timedwrlock",
    "clockwrlock",
];

/// `init`, `lock` and so on: the name of a function of libc for locks of this family, without the object.
pub fn verb(family: LockFamily, function: &str) -> Option<&str> {
    let objects: &[&str] = match family {
        LockFamily::Mutex => &["pthread_mutex_", "mtx_"],
        LockFamily::RwLock => &["pthread_rwlock_", "__pthread_rwlock_"],
        LockFamily::Spin => &["pthread_spin_"],
    };
    objects.iter().find_map(|object| function.strip_prefix(object))
}

/// The calls of libc's functions that initialise a lock, use it, or wait.
pub struct Calls {
    callee: Callee,
    /// Each call in the program's own code.
    calls: Vec<Span>,
    /// The files that contain them.
    files: Vec<Span>,
    /// Functions of the language's runtime library that call libc for others.
    system: Vec<Span>,
}

impl Calls {
    /// The calls in these files, and in the runtime libraries of their language.
    pub fn of(callee: Callee, files: &[File], runtime: &[File]) -> Calls {
        let calls = |file: &File| file.calls(|name| callee.is(name));
        let all = |file: &File| Span::new(file.path(), file.extent());
        let calling = runtime.iter().filter(|file| !calls(file).is_empty());
        let mut found =
            Calls { callee, calls: Vec::new(), files: Vec::new(), system: calling.map(all).collect() };
        for file in files {
            let calls = calls(file);
            if calls.is_empty() {
                continue;
            }
            let functions = file.functions_where(|name| callee.is_between(name)).into_iter();
            let calling = functions.filter(|range| calls.iter().any(|call| range.contains(call)));
            found.system.extend(calling.map(|range| Span::new(file.path(), range)));
            found.calls.extend(calls.iter().map(|&call| Span::new(file.path(), call..call + 1)));
            found.files.push(all(file));
        }
        found
    }

    /// The calls in a piece of code.
    pub fn within(&self, span: &Span) -> Vec<Place> {
        let inside = |call: &&Span| call.module == span.module && span.range.contains(&call.range.start);
        let place = |call: &Span| Place { by: self.callee.by(), spans: vec![call.clone()] };
        self.calls.iter().filter(inside).map(place).collect()
    }

    /// Calls by runtime functions on behalf of these calls, unless they were inlined into the program.
    pub fn through_system(&self, calls: &[Span]) -> Vec<Place> {
        self.system.iter().map(|first| self.through(first, calls)).collect()
    }

    /// All calls in a piece of code.
    fn anywhere_below(&self, span: &Span) -> Vec<Place> {
        self.files.iter().map(|file| self.through(file, std::slice::from_ref(span))).collect()
    }

    fn through(&self, first: &Span, rest: &[Span]) -> Place {
        Place {
            by: self.callee.by(),
            spans: [first.clone()].into_iter().chain(rest.iter().cloned()).collect(),
        }
    }
}

/// `std::mutex::lock`, `__gthread_mutex_lock`, `std::__glibcxx_rwlock_rdlock`; not
/// `std::lock_guard<std::mutex>::lock_guard`, which calls these.
fn is_lock_of_system(function: &str) -> bool {
    let own = function.split('<').next().unwrap_or(function);
    is_of_system(function) && ["mutex", "rwlock"].iter().any(|object| own.contains(object))
}

/// Pieces of code, each with the path of its source file if that is known.
pub struct Code {
    pieces: Vec<(Option<String>, Span)>,
}

impl Code {
    /// The code of a line.
    pub fn of_line(SourceLine { file, line }: SourceLine<'_>, files: &[File]) -> Code {
        Code::new(files, |module| module.code_of_line(file, line))
    }

    /// The code of all functions of a name, or the call with a return address.
    pub fn of_function(name: &str, files: &[File]) -> Code {
        let found = Code::new(files, |module| module.functions(name));
        if found.pieces.is_empty() { Code::of_call(name, files) } else { found }
    }

    /// `libq.so+0x1135`: the meter's name of a call in a function without a name, by its return address.
    fn of_call(name: &str, files: &[File]) -> Code {
        let address = |(module, digits)| Some((module, Address::from_str_radix(digits, 16).ok()?));
        let Some((module, end)) = name.rsplit_once("+0x").and_then(address) else {
            return Code { pieces: Vec::new() };
        };
        let named = files.iter().filter(|file| file.is_called(module) && file.extent().contains(&end));
        let call = |file: &File| (None, Span::new(file.path(), end.saturating_sub(1)..end));
        Code { pieces: named.map(call).collect() }
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

    /// The pieces of code.
    pub fn spans(&self) -> impl Iterator<Item = &Span> {
        self.pieces.iter().map(|(_, span)| span)
    }

    /// These places; if there are none, the reason why the code is not a valid name.
    pub fn found(&self, places: Vec<Place>, why: &str) -> Option<NameMatch> {
        match (self.pieces.is_empty(), places.is_empty()) {
            (true, _) => None,
            (false, true) => Some(NameMatch::Unfit(why.to_owned())),
            (false, false) => Some(NameMatch::Places(places)),
        }
    }

    /// The sources; a module replaces an unknown one.
    pub fn paths(&self) -> Vec<&String> {
        let mut paths: Vec<&String> = self.pieces.iter().filter_map(|(path, _)| path.as_ref()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// One name for each source.
    pub fn labels(&self, function: &str) -> Vec<String> {
        let mut labels = BTreeMap::new();
        for (path, span) in &self.pieces {
            let name = path.clone().unwrap_or_else(|| span.module.display().to_string());
            labels.entry(name).or_insert_with(|| function.to_owned());
        }
        labels.into_iter().map(|(path, function)| format!("{function} ({path})")).collect()
    }

    /// Only the code in a line, at an offset in a function, or in a file.
    fn narrow(self, function: &str, at: At<'_>, files: &[File]) -> Code {
        let within: Vec<Span> = match at {
            At::Line(line) => Code::of_line(line, files).pieces.into_iter().map(|(_, span)| span).collect(),
            At::Offset(offset, module) => {
                let mut calls = Vec::new();
                for file in files.iter().filter(|file| file.is_called(module)) {
                    // The return address is known; the call ends one byte before it.
                    let call = |function: Range<Address>| {
                        let end = function.start.checked_add(offset)?;
                        Some(Span::new(file.path(), end.checked_sub(1)?..end))
                    };
                    calls.extend(file.functions_named(function).into_iter().filter_map(call));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libc_belong_to_one_family() {
        let is = |family, call, function: &str| Callee::Lock(family, call).is(function);
        for (function, family, call) in [
            ("pthread_mutex_init", LockFamily::Mutex, LockCall::Init),
            ("mtx_timedlock", LockFamily::Mutex, LockCall::Use),
            ("pthread_rwlock_init", LockFamily::RwLock, LockCall::Init),
            ("pthread_rwlock_clockwrlock", LockFamily::RwLock, LockCall::Use),
            ("__pthread_rwlock_rdlock", LockFamily::RwLock, LockCall::Use),
            ("pthread_spin_init", LockFamily::Spin, LockCall::Init),
        ] {
            for other in LockFamily::ALL {
                for other_call in LockCall::ALL {
                    let expected = (other, other_call) == (family, call);
                    assert_eq!(
                        is(other, other_call, function),
                        expected,
                        "{function} {other:?} {other_call:?}"
                    );
                }
            }
        }
        assert!(!is(LockFamily::Spin, LockCall::Use, "pthread_spin_lock"), "its initialisation is mandatory");
        assert!(!is(LockFamily::RwLock, LockCall::Use, "pthread_rwlock_unlock"));
    }

    #[test]
    fn runtime_functions_are_recognised() {
        for function in [
            "std::mutex::lock",
            "__gthread_recursive_mutex_lock",
            "boost::mutex::mutex",
            "std::__glibcxx_rwlock_rdlock",
            "std::shared_mutex::lock_shared",
        ] {
            assert!(is_lock_of_system(function), "{function}");
        }
        for function in ["std::lock_guard<std::mutex>::lock_guard", "port::Mutex::Lock", "mutex_lock"] {
            assert!(!is_lock_of_system(function), "{function}");
        }
    }
}
