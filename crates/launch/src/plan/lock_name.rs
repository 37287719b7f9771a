//! The name of a lock, as `unspin meter` prints it.

use super::place::By;
use std::fmt;
use std::path::PathBuf;
use unspin_symbols::Location;

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
        /// Its origin, if there are several of this name.
        origin: Option<Origin<'n>>,
    },
    /// A line of source.
    Line(Line<'n>),
}

/// `queue.c:57`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'n> {
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
    /// The place.
    pub at: Option<At<'n>>,
}

/// The place where a lock is declared, initialised or first used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At<'n> {
    /// A line.
    Line(Line<'n>),
    /// An offset in bytes in the function, in this file.
    Offset(u64, &'n str),
    /// Anywhere in this file.
    Module(&'n str),
}

/// Separates a name from the absolute path of the file in which it is looked up.
const IN_FILE: &str = " in /";

/// Prefix of the names of locks that are named after their first use.
pub const FIRST_USED: &str = "mutex first used in ";
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

    /// The functions of a lock that may be first used in one of several; empty for other names. Places that the meter
    /// only counted (`2 other places`) are left out.
    pub fn alternatives(&self) -> Vec<LockName> {
        let Meaning::Named { name, .. } = self.meaning() else { return Vec::new() };
        let Some(functions) = name.strip_prefix(FIRST_USED).filter(|functions| functions.contains(OR)) else {
            return Vec::new();
        };
        let known = functions.split(OR).filter(|function| !is_count(function));
        known.filter_map(|function| LockName::new(&format!("{FIRST_USED}{function}"))).collect()
    }

    /// The parts.
    pub fn meaning(&self) -> Meaning<'_> {
        if let Some(line) = Line::parse(&self.text) {
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

impl<'n> Line<'n> {
    /// Whether a location is in this line.
    pub fn is(&self, location: &Location) -> bool {
        let before = location.file.strip_suffix(self.file);
        location.line == self.line && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// Splits `queue.c:57`.
    pub fn parse(text: &'n str) -> Option<Line<'n>> {
        let (file, line) = text.rsplit_once(':')?;
        // `a::b` contains a colon too. The text before it ends in another one, which no file name does.
        let named = !file.is_empty() && !file.ends_with(':') && !file.contains(", ");
        let line = line.parse().ok().filter(|&line| line > 0 && named)?;
        Some(Line { file, line })
    }
}

impl<'n> Origin<'n> {
    /// `static, cache.c:31`, `mutex initialised at +0x30, app`, `mutex initialised there`, `first used at poll.c:9`.
    fn parse(text: &'n str) -> Option<Origin<'n>> {
        if let Some(at) = text.strip_prefix("static, ") {
            let at = Line::parse(at).map_or(At::Module(at), At::Line);
            return Some(Origin { by: By::Variable, at: Some(at) });
        }
        if text == "mutex initialised there" {
            return Some(Origin { by: By::Init, at: None });
        }
        let forms = [("mutex initialised at ", By::Init), ("first used at ", By::Use)];
        let (by, place) = forms.into_iter().find_map(|(form, by)| Some((by, text.strip_prefix(form)?)))?;
        // Of several places only the first is printed, and the others are counted.
        if place.rsplit_once(OR).is_some_and(|(_, count)| is_count(count)) {
            return Some(Origin { by, at: None });
        }
        let at = Line::parse(place).map(At::Line).or_else(|| offset(place))?;
        Some(Origin { by, at: Some(at) })
    }
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

    fn named<'n>(name: &'n str, by: By, at: Option<At<'n>>) -> Meaning<'n> {
        Meaning::Named { name, origin: Some(Origin { by, at }) }
    }

    #[test]
    fn names_printed_by_the_meter_are_parsed() {
        let line = |file, line| At::Line(Line { file, line });
        let cases = [
            ("cache_lock", Meaning::Named { name: "cache_lock", origin: None }),
            ("a::b", Meaning::Named { name: "a::b", origin: None }),
            ("queue.c:57", Meaning::Line(Line { file: "queue.c", line: 57 })),
            ("src/queue.c:57", Meaning::Line(Line { file: "src/queue.c", line: 57 })),
            ("queue.c:0", Meaning::Named { name: "queue.c:0", origin: None }),
            ("cache_lock, static, cache.c:31", named("cache_lock", By::Variable, Some(line("cache.c", 31)))),
            ("cache_lock, static, libc.so", named("cache_lock", By::Variable, Some(At::Module("libc.so")))),
            (
                "Map<int, long>::lock, static, map.cc:3",
                named("Map<int, long>::lock", By::Variable, Some(line("map.cc", 3))),
            ),
            (
                "A::A ▸ M::M, mutex initialised at +0x30, app",
                named("A::A ▸ M::M", By::Init, Some(At::Offset(0x30, "app"))),
            ),
            ("f, mutex initialised there", named("f", By::Init, None)),
            (
                "mutex first used in poll, first used at poll.c:9",
                named("mutex first used in poll", By::Use, Some(line("poll.c", 9))),
            ),
            ("f, g", Meaning::Named { name: "f, g", origin: None }),
            ("(4) pool.lock, static, pool.c:7", named("pool.lock", By::Variable, Some(line("pool.c", 7)))),
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
                .map(|part| part.as_str()[FIRST_USED.len()..].to_owned())
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
        assert_eq!(one.meaning(), named("mutex first used in f", By::Use, None));
    }
}
