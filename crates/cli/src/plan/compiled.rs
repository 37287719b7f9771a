//! The plan as the preload library reads it.

use super::located::Located;
use super::place::Place;
use super::policy::WaitPolicy;
use crate::cache::{self, CachedFile};
use crate::error::Error;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};
use unspin_locks::LockKind;

/// How a compiled plan begins: what it is, and the version of the format.
const HEADER: &str = "unspin plan 2";

/// A plan with addresses in place of names: lines of words, with single tabs between, shown here as spaces.
///
/// ```text
/// unspin plan 2
/// wakeup  48000
/// adaptive  variable  4040-4068@/usr/bin/x
/// steal  init  1135-1136@/usr/lib/libq.so  2000-2040@/usr/bin/x
/// system  site  1c40-1c41@/usr/bin/x
/// fair  all
/// waits  poll
/// ```
///
/// `wakeup` is what a wake-up costs on this machine, in nanoseconds; it stands in every plan that is about waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    lines: Vec<String>,
    spans: usize,
    modules: BTreeSet<PathBuf>,
    for_all: Option<LockKind>,
    waits: Option<WaitPolicy>,
    wait_policies: Vec<String>,
    wake_up_ns: Option<u64>,
    polling: Vec<Located>,
}

impl Compiled {
    /// Replaces nothing yet.
    pub fn new() -> Compiled {
        Compiled {
            lines: Vec::new(),
            spans: 0,
            modules: BTreeSet::new(),
            for_all: None,
            waits: None,
            wait_policies: Vec::new(),
            wake_up_ns: None,
            polling: Vec::new(),
        }
    }

    /// A kind for every mutex that no line is about.
    pub fn all(&mut self, kind: LockKind) {
        self.for_all.get_or_insert(kind);
    }

    /// A policy for every wait that no line is about.
    pub fn all_waits(&mut self, policy: WaitPolicy) {
        self.waits.get_or_insert(policy);
    }

    /// The policies for waits, as the user named them.
    pub fn set_wait_policies(&mut self, policies: Vec<String>) {
        self.wait_policies = policies;
    }

    /// The policies for waits, as the user named them: `poll`, `poll@worker_loop+0x2d`.
    pub fn wait_policies(&self) -> &[String] {
        &self.wait_policies
    }

    /// What a wake-up costs, in nanoseconds: for plans that are about waits.
    pub fn set_wake_up(&mut self, ns: u64) {
        self.wake_up_ns = Some(ns);
    }

    /// A policy for the waits of one call site, which are recognised at any of these places.
    pub fn add_site(&mut self, policy: WaitPolicy, name: &str, places: &[Place]) -> Result<(), Error> {
        self.add(policy.name(), name, places)?;
        if policy == WaitPolicy::Poll {
            let (name, places) = (name.to_owned(), places.to_vec());
            self.polling.push(Located { name, origin: None, places });
        }
        Ok(())
    }

    /// The call sites whose waits poll, each under the name that the plan has for it. Not among them are the waits that poll
    /// because all do.
    pub fn polling_sites(&self) -> &[Located] {
        &self.polling
    }

    /// Whether every wait polls that no line is about.
    pub fn polls_everywhere(&self) -> bool {
        self.waits == Some(WaitPolicy::Poll)
    }

    /// A kind or a policy for what is recognised at any of these places, which are those of the lock or call site `name`.
    pub fn add(&mut self, kind: &str, name: &str, places: &[Place]) -> Result<(), Error> {
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
                "{name}: that makes {} places in all, and there is room for {SPANS}, of {LINES} kinds: name fewer locks, or \
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
const PREFIX: &str = "plan-";
/// Plans that were not started with for so long go, unless a program that runs was given them: what it starts in turn will
/// read them again. Some programs write over the place where the kernel looks for their environment; these have this long.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(ns) = self.wake_up_ns {
            writeln!(f, "wakeup\t{ns}")?;
        }
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        if let Some(kind) = self.for_all {
            writeln!(f, "{kind}\tall")?;
        }
        if let Some(policy) = self.waits {
            writeln!(f, "waits\t{policy}")?;
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
        let site = Place { by: By::Site, spans: vec![Span::new(Path::new("/usr/bin/x"), 0x1c40..0x1c41)] };
        let mut compiled = Compiled::new();
        compiled.all(LockKind::Fair);
        compiled.all_waits(WaitPolicy::Poll);
        compiled.add("adaptive", "x", &[place.clone(), place]).unwrap();
        compiled.add("system", "f+0x41", &[site]).unwrap();
        compiled.set_wake_up(48_000);
        let expected = "unspin plan 2\nwakeup\t48000\nadaptive\tvariable\t4040-4068@/usr/bin/x\n\
            system\tsite\t1c40-1c41@/usr/bin/x\nfair\tall\nwaits\tpoll\n";
        assert_eq!(compiled.to_string(), expected);
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let place = |first: u64| {
            let span = |at| Span::new(Path::new("/usr/bin/x"), at..at + 40);
            Place { by: By::Variable, spans: (first..first + 1000).map(span).collect() }
        };
        let mut compiled = Compiled::new();
        compiled.add("fair", "pool.lock", &[place(0)]).unwrap();
        compiled.add("fair", "pool.lock", &[place(0)]).unwrap();
        let error = compiled.add("fair", "other.lock", &[place(2000)]).unwrap_err().to_string();
        assert!(
            error.starts_with("other.lock: that makes 2000 places in all, and there is room for 1024"),
            "{error}"
        );
    }

    #[test]
    fn paths_that_would_break_a_line_are_refused() {
        let place = Place { by: By::Init, spans: vec![Span::new(Path::new("/a\tb"), 1..2)] };
        let error = Compiled::new().add("mcs", "x", &[place]).unwrap_err().to_string();
        assert_eq!(
            error,
            "\"/a\\tb\": a plan cannot hold a path with a tab or a line break in it: rename the file"
        );
    }
}
