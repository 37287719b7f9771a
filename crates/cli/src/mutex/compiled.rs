//! The plan as the preload library reads it.

use super::place::Place;
use super::plan::Waits;
use crate::cache::{self, CachedFile};
use crate::error::Error;
use sha2::{Digest, Sha256};
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
    for_all: Option<Kind>,
    waits: Waits,
}

impl Compiled {
    /// Replaces nothing yet.
    pub fn new(waits: Waits) -> Compiled {
        Compiled { lines: Vec::new(), for_all: None, waits }
    }

    /// A kind for every mutex that no line is about.
    pub fn all(&mut self, kind: Kind) {
        self.for_all.get_or_insert(kind);
    }

    /// A kind for what is recognised at any of these places.
    pub fn add(&mut self, kind: Kind, places: &[Place]) -> Result<(), Error> {
        for place in places {
            for span in &place.spans {
                if span.module.as_os_str().as_encoded_bytes().iter().any(|byte| b"\t\n".contains(byte)) {
                    let module = span.module.display();
                    return Err(Error::Environment(format!(
                        "{module:?}: a plan cannot hold a path with a tab or a line break in it: rename the file"
                    )));
                }
            }
            let line = format!("{kind}\t{place}");
            if !self.lines.contains(&line) {
                self.lines.push(line);
            }
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
        compiled.add(Kind::Adaptive, &[place.clone(), place]).unwrap();
        let expected = "unspin mutexes 1\nadaptive\tvariable\t4040-4068@/usr/bin/x\nfair\tall\nspin\twaits\n";
        assert_eq!(compiled.to_string(), expected);
    }

    #[test]
    fn paths_that_would_break_a_line_are_refused() {
        let place = Place { by: By::Init, spans: vec![Span::new(Path::new("/a\tb"), 1..2)] };
        let error = Compiled::new(Waits::Asleep).add(Kind::Mcs, &[place]).unwrap_err().to_string();
        assert_eq!(
            error,
            "\"/a\\tb\": a plan cannot hold a path with a tab or a line break in it: rename the file"
        );
    }
}
