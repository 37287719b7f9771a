//! The plan as the preload library reads it.

use super::place::Place;
use super::plan::Waits;
use crate::cache::{self, CachedFile};
use crate::error::Error;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};
use unspin_locks::Kind;

/// How a compiled plan begins: what it is, and the version of the format.
const HEADER: &str = "unspin mutexes 1";

/// A plan with addresses in place of names: lines of words, with tabs between.
///
/// ```text
/// unspin mutexes 1
/// adaptive	variable	4040-4068@/usr/bin/x
/// steal	init	1135-1136@/usr/lib/libq.so	2000-2040@/usr/bin/x
/// fair	all
/// spin	waits
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    lines: Vec<String>,
    spans: usize,
    modules: BTreeSet<PathBuf>,
    for_all: Option<Kind>,
    waits: Waits,
}

impl Compiled {
    /// Replaces nothing yet.
    pub fn new(waits: Waits) -> Compiled {
        Compiled { lines: Vec::new(), spans: 0, modules: BTreeSet::new(), for_all: None, waits }
    }

    /// A kind for every mutex that no line is about.
    pub fn all(&mut self, kind: Kind) {
        self.for_all.get_or_insert(kind);
    }

    /// A kind for what is recognised at any of these places, which are `lock`'s.
    pub fn add(&mut self, kind: Kind, lock: &str, places: &[Place]) -> Result<(), Error> {
        for place in places {
            for span in &place.spans {
                self.modules.insert(checked(&span.module)?.to_owned());
            }
            let line = format!("{kind}\t{place}");
            if !self.lines.contains(&line) {
                self.lines.push(line);
                self.spans += place.spans.len();
            }
        }
        let too_many = [(self.lines.len(), LINES), (self.spans, SPANS), (self.modules.len(), MODULES)];
        let too_long = self.lines.iter().map(String::len).sum::<usize>() > BYTES;
        if too_long || too_many.iter().any(|&(count, most)| count > most) {
            return Err(Error::Usage(format!(
                "{lock}: that makes {} places in all, and there is room for {SPANS}, of {LINES} kinds: name fewer locks, or \
                 one element of an array (pool[3].lock), or all that is in it (pool)",
                self.spans
            )));
        }
        Ok(())
    }

    /// Puts it into a file of the user's cache folder, where it stays for as long as any program may need it: ours is about
    /// to become one, and cannot remove anything any more.
    pub fn keep(&self) -> Result<PathBuf, Error> {
        let text = self.to_string();
        let hash: String = Sha256::digest(&text).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{PREFIX}{hash}");
        let path =
            cache::keep(&CachedFile { what: "the plan", name: &name, bytes: text.as_bytes(), mode: 0o644 })?;
        cache::sweep(&path, PREFIX, UNUSED);
        Ok(path)
    }

    /// Puts it into a file that the caller will remove.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        fs::write(path, self.to_string()).map_err(|e| Error::at(path, "the plan cannot be written here", e))
    }
}

/// A path that can stand in a line.
fn checked(module: &Path) -> Result<&Path, Error> {
    if module.as_os_str().as_encoded_bytes().iter().any(|byte| b"\t\n".contains(byte)) {
        return Err(Error::Environment(format!(
            "{module:?}: a plan cannot hold a path with a tab or a line break in it: rename the file"
        )));
    }
    Ok(module)
}

/// What the preload library has room for, in its module `swap::plan`: it allocates nothing. Of its bytes a little is left
/// for the lines that are about everything.
const LINES: usize = 256;
const SPANS: usize = 1024;
const MODULES: usize = 64;
const BYTES: usize = 60 << 10;

/// How the names of its files begin.
const PREFIX: &str = "mutexes-";
/// Plans that were not started with for so long go, unless a program that runs was given them: what it starts in turn will
/// read them again. Some programs write over the place where the kernel looks for their environment; these have this long.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        if let Some(kind) = self.for_all {
            writeln!(f, "{kind}\tall")?;
        }
        if self.waits == Waits::SpinningFirst {
            writeln!(f, "spin\twaits")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::{By, Span};
    use super::*;
    use std::path::Path;

    #[test]
    fn specific_lines_come_before_the_one_for_all() {
        let place =
            Place { by: By::Variable, spans: vec![Span::new(Path::new("/usr/bin/x"), 0x4040..0x4068)] };
        let mut compiled = Compiled::new(Waits::SpinningFirst);
        compiled.all(Kind::Fair);
        compiled.add(Kind::Adaptive, "x", &[place.clone(), place]).unwrap();
        let expected = "unspin mutexes 1\nadaptive\tvariable\t4040-4068@/usr/bin/x\nfair\tall\nspin\twaits\n";
        assert_eq!(compiled.to_string(), expected);
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let place = |first: u64| {
            let span = |at| Span::new(Path::new("/usr/bin/x"), at..at + 40);
            Place { by: By::Variable, spans: (first..first + 1000).map(span).collect() }
        };
        let mut compiled = Compiled::new(Waits::Asleep);
        compiled.add(Kind::Fair, "pool.lock", &[place(0)]).unwrap();
        compiled.add(Kind::Fair, "pool.lock", &[place(0)]).unwrap();
        let error = compiled.add(Kind::Fair, "other.lock", &[place(2000)]).unwrap_err().to_string();
        assert!(
            error.starts_with("other.lock: that makes 2000 places in all, and there is room for 1024"),
            "{error}"
        );
    }

    #[test]
    fn paths_that_would_break_a_line_are_refused() {
        let place = Place { by: By::Init, spans: vec![Span::new(Path::new("/a\tb"), 1..2)] };
        let error = Compiled::new(Waits::Asleep).add(Kind::Mcs, "x", &[place]).unwrap_err().to_string();
        assert_eq!(
            error,
            "\"/a\\tb\": a plan cannot hold a path with a tab or a line break in it: rename the file"
        );
    }
}
