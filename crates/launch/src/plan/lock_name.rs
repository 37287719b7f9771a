//! The name of a lock, as `unspin meter` prints it.

use super::place::By;
use std::fmt;
use std::path::PathBuf;
use unspin_symbols::Location;
use unspin_wire::plan::LockFamily;

/// A lock's name, with as much of its origin as the user has given.
///
/// | written | means |
/// |---|---|
/// | `cache_lock`, `pool.lock`, `pool[3].lock`, `work::lock` | a static variable, or a part of one; otherwise like the
/// next |
/// | `queue_new`, `DBImpl::DBImpl ▸ port::Mutex::Mutex` | the locks that this function initialises, or the second one
/// for the first |
/// | `mutex first used in poll` | the locks without an initialisation that are first used there |
/// | `mutex first used in push or pop` | those that are first used in either function |
/// | `libq.so+0x1135` instead of a function | the call that returns there, in a file without names |
/// | `rwlock` instead of `mutex` | the same of read-write locks |
/// | `queue.c:57` | the locks that this line declares, initialises, or else first uses |
/// | each of the first three, a comma, and the rest of the line that the meter prints | this one |
/// | each of these, ` in `, and an absolute path | the same in this file |
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockName {
    text: String,
}

/// The parts of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning<'n> {
    /// A variable, a part of one, or a function; the meter does not distinguish them either.
    Named {
        /// The name.
        name: &'n str,
        /// The lock's origin, if there are several of this name.
        origin: Option<Origin<'n>>,
    },
    /// A line of source.
    Line(SourceLine<'n>),
}

/// `queue.c:57`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceLine<'n> {
    /// The file's name, or the end of its path.
    pub file: &'n str,
    /// The number of the line, from 1.
    pub line: u32,
}

/// What the meter prints after a lock's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin<'n> {
    /// How the lock is identified.
    pub by: By,
    /// What the lock is, if the origin says it.
    pub family: Option<LockFamily>,
    /// The place.
    pub at: Option<At<'n>>,
}

/// The place where a lock is declared, initialised or first used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At<'n> {
    /// A line.
    Line(SourceLine<'n>),
    /// An offset in bytes in the function, in this file.
    Offset(u64, &'n str),
    /// Anywhere in this file.
    Module(&'n str),
}

/// Separates a name from the absolute path of the file in which it is looked up.
const IN_FILE: &str = " in /";

/// Separates the family of a lock that is named after its first use from the function.
const FIRST_USED: &str = " first used in ";
/// Separates the functions of such a name.
const OR: &str = " or ";

impl LockName {
    /// A name; none if the text is empty.
    pub fn new(text: &str) -> Option<LockName> {
        let text = without_count(text.trim());
        (!text.is_empty()).then(|| LockName { text: text.to_owned() })
    }

    /// As the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name without a file, and the file.
    pub fn split_file(&self) -> (LockName, Option<PathBuf>) {
        match self.text.find(IN_FILE) {
            None => (self.clone(), None),
            Some(at) => {
                let (name, file) = (&self.text[..at], &self.text[at + IN_FILE.len() - 1..]);
                (LockName { text: name.trim_end().to_owned() }, Some(file.into()))
            }
        }
    }

    /// The family of the lock, if the name says it: `rwlock first used in poll`.
    pub fn family(&self) -> Option<LockFamily> {
        match self.meaning() {
            Meaning::Named { name, origin } => {
                origin.and_then(|origin| origin.family).or(split_first_use(name).map(|(family, _)| family))
            }
            Meaning::Line(_) => None,
        }
    }

    /// The functions in one of which the lock is first used; empty for other names. Places that the meter only counted
    /// (`2 other places`) are left out.
    pub fn alternatives(&self) -> Vec<LockName> {
        let Meaning::Named { name, .. } = self.meaning() else { return Vec::new() };
        let several = split_first_use(name).filter(|(_, functions)| functions.contains(OR));
        let Some((family, functions)) = several else { return Vec::new() };
        let known = functions.split(OR).filter(|function| !is_count(function));
        known.filter_map(|function| LockName::new(&first_used(family, function))).collect()
    }

    /// The parts.
    pub fn meaning(&self) -> Meaning<'_> {
        if let Some(line) = SourceLine::parse(&self.text) {
            return Meaning::Line(line);
        }
        // C++ names contain commas too: the last one that begins an origin counts.
        let split = self
            .text
            .rmatch_indices(", ")
            .find_map(|(at, comma)| Some((&self.text[..at], Origin::parse(&self.text[at + comma.len()..])?)));
        match split {
            Some((name, origin)) => Meaning::Named { name, origin: Some(origin) },
            None => Meaning::Named { name: &self.text, origin: None },
        }
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'n> SourceLine<'n> {
    /// Whether a location is in this line.
    pub fn is(&self, location: &Location) -> bool {
        let before = location.file.strip_suffix(self.file);
        location.line == self.line && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// Splits `queue.c:57`.
    pub fn parse(text: &'n str) -> Option<SourceLine<'n>> {
        let (file, line) = text.rsplit_once(':')?;
        // `a::b` contains a colon too. The text before it ends in another one, which no file name does.
        let named = !file.is_empty() && !file.ends_with(':') && !file.contains(", ");
        let line = line.parse().ok().filter(|&line| line > 0 && named)?;
        Some(SourceLine { file, line })
    }
}

impl<'n> Origin<'n> {
    /// `static, cache.c:31`, `mutex initialised at +0x30, app`, `mutex initialised there`, `first used at poll.c:9`.
    fn parse(text: &'n str) -> Option<Origin<'n>> {
        if let Some(at) = text.strip_prefix("static, ") {
            let at = SourceLine::parse(at).map_or(At::Module(at), At::Line);
            return Some(Origin { by: By::Variable, family: None, at: Some(at) });
        }
        let initialised = |family: LockFamily| {
            let rest = text.strip_prefix(family.noun_in_names())?.strip_prefix(" initialised ")?;
            Some((By::Init, Some(family), rest))
        };
        let used = || Some((By::Use, None, text.strip_prefix("first used ")?));
        let (by, family, rest) = LockFamily::ALL.into_iter().find_map(initialised).or_else(used)?;
        if rest == "there" && by == By::Init {
            return Some(Origin { by, family, at: None });
        }
        let place = rest.strip_prefix("at ")?;
        // Of several places only the first is printed, and the others are counted.
        if place.rsplit_once(OR).is_some_and(|(_, count)| is_count(count)) {
            return Some(Origin { by, family, at: None });
        }
        let at = SourceLine::parse(place).map(At::Line).or_else(|| offset(place))?;
        Some(Origin { by, family, at: Some(at) })
    }
}

/// `mutex first used in poll`: the name of the locks of a family that are first used in a function.
pub fn first_used(family: LockFamily, function: &str) -> String {
    format!("{}{FIRST_USED}{function}", family.noun_in_names())
}

/// Splits `mutex first used in poll`.
pub fn split_first_use(name: &str) -> Option<(LockFamily, &str)> {
    let of = |family: LockFamily| {
        Some((family, name.strip_prefix(family.noun_in_names())?.strip_prefix(FIRST_USED)?))
    };
    LockFamily::ALL.into_iter().find_map(of)
}

/// `(4) pool.lock`, as the meter prints a row of several locks, without the number: the name means all of them.
fn without_count(text: &str) -> &str {
    let behind = text.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    match behind {
        Some((count, name)) if count.parse::<u64>().is_ok() => name,
        _ => text,
    }
}

/// `2 other places`
fn is_count(text: &str) -> bool {
    let count = text.strip_suffix(" other place").or_else(|| text.strip_suffix(" other places"));
    count.is_some_and(|count| count.parse::<u64>().is_ok())
}

/// `+0x30, app`
fn offset(text: &str) -> Option<At<'_>> {
    let (digits, module) = text.strip_prefix("+0x")?.split_once(", ")?;
    Some(At::Offset(u64::from_str_radix(digits, 16).ok()?, module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_meaning<'n>(name: &'n str, by: By, at: Option<At<'n>>) -> Meaning<'n> {
        let family = (by == By::Init).then_some(LockFamily::Mutex);
        Meaning::Named { name, origin: Some(Origin { by, family, at }) }
    }

    #[test]
    fn names_printed_by_the_meter_are_parsed() {
        let line = |file, line| At::Line(SourceLine { file, line });
        let cases = [
            ("cache_lock", Meaning::Named { name: "cache_lock", origin: None }),
            ("a::b", Meaning::Named { name: "a::b", origin: None }),
            ("queue.c:57", Meaning::Line(SourceLine { file: "queue.c", line: 57 })),
            ("src/queue.c:57", Meaning::Line(SourceLine { file: "src/queue.c", line: 57 })),
            ("queue.c:0", Meaning::Named { name: "queue.c:0", origin: None }),
            (
                "cache_lock, static, cache.c:31",
                named_meaning("cache_lock", By::Variable, Some(line("cache.c", 31))),
            ),
            (
                "cache_lock, static, libc.so",
                named_meaning("cache_lock", By::Variable, Some(At::Module("libc.so"))),
            ),
            (
                "Map<int, long>::lock, static, map.cc:3",
                named_meaning("Map<int, long>::lock", By::Variable, Some(line("map.cc", 3))),
            ),
            (
                "A::A ▸ M::M, mutex initialised at +0x30, app",
                named_meaning("A::A ▸ M::M", By::Init, Some(At::Offset(0x30, "app"))),
            ),
            ("f, mutex initialised there", named_meaning("f", By::Init, None)),
            (
                "mutex first used in poll, first used at poll.c:9",
                named_meaning("mutex first used in poll", By::Use, Some(line("poll.c", 9))),
            ),
            ("f, g", Meaning::Named { name: "f, g", origin: None }),
            (
                "(4) pool.lock, static, pool.c:7",
                named_meaning("pool.lock", By::Variable, Some(line("pool.c", 7))),
            ),
            (
                "(anonymous namespace)::lock",
                Meaning::Named { name: "(anonymous namespace)::lock", origin: None },
            ),
        ];
        for (text, meaning) in cases {
            assert_eq!(LockName::new(text).unwrap().meaning(), meaning, "{text}");
        }
        assert_eq!(LockName::new(" "), None);
    }

    #[test]
    fn first_use_in_several_functions_is_parsed() {
        let parts = |text: &str| {
            let name = LockName::new(text).unwrap();
            name.alternatives()
                .iter()
                .map(|part| split_first_use(part.as_str()).unwrap().1.to_owned())
                .collect::<Vec<_>>()
        };
        let name = "mutex first used in Queue::pop or Queue::push or 2 other places";
        assert_eq!(parts(name), ["Queue::pop", "Queue::push"]);
        assert_eq!(
            parts(&format!("{name}, first used at q.cc:9 or 3 other places")),
            ["Queue::pop", "Queue::push"]
        );
        assert_eq!(parts("mutex first used in Map<int, long>::get"), Vec::<String>::new());
        assert_eq!(parts("this or that"), Vec::<String>::new());
        let one = LockName::new("mutex first used in f, first used at f.c:9 or 1 other place").unwrap();
        assert_eq!(one.meaning(), named_meaning("mutex first used in f", By::Use, None));
        let one = LockName::new("rwlock first used in get or put").unwrap();
        let names: Vec<String> = one.alternatives().iter().map(LockName::to_string).collect();
        assert_eq!(names, ["rwlock first used in get", "rwlock first used in put"]);
    }

    #[test]
    fn name_may_say_what_the_lock_is() {
        let family = |text: &str| LockName::new(text).unwrap().family();
        for (name, expected) in [
            ("mutex first used in f", Some(LockFamily::Mutex)),
            ("rwlock first used in f or g, first used at f.c:9", Some(LockFamily::RwLock)),
            ("table_new, rwlock initialised at table.c:18", Some(LockFamily::RwLock)),
            ("pool_new, spin lock initialised there", Some(LockFamily::Spin)),
            ("cache_lock, static, cache.c:31", None),
            ("cache_lock", None),
            ("cache.c:31", None),
            ("rwlock", None),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
