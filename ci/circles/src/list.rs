//! The checked-in list of circles.
//!
//! The list has an entry for each use that closes circles. An entry is the use, the reason why it stays, and the circles that
//! it closes, each from the end of the use back to its beginning:
//!
//! ```text
//! crates/sysv/src: cancel.rs -> wait.rs
//!     why wait.rs may use cancel.rs and be used by it
//!     : wait.rs -> cancel.rs
//!     : wait.rs -> monitor.rs -> cancel.rs
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fmt, fs, io};

/// Where the list is, below the root of the workspace.
pub const PATH: &str = "ci/circles/list.txt";

const TITLE: &str = "\
# Circles of uses between the source files of one crate. Each entry is a use that closes circles, the reason why it stays,
# and the circles. `ci/facade.sh --update-circles` writes this list and keeps the reasons.
";

/// A circle of files in one folder of sources.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Circle {
    /// The folder, below the root of the workspace.
    pub folder: String,
    /// Each file uses the next, and the last one uses the first. The first file in the order of their names comes first.
    pub files: Vec<String>,
}

/// The use of one file by another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Use {
    folder: String,
    from: String,
    to: String,
}

#[derive(Default, Debug)]
struct Entry {
    reason: String,
    circles: BTreeSet<Circle>,
}

/// The uses that close circles.
#[derive(Debug)]
pub struct List(BTreeMap<Use, Entry>);

impl Circle {
    /// A circle of these files, from wherever it is written.
    pub fn new(folder: &str, mut files: Vec<String>) -> Circle {
        let first = (0..files.len()).min_by_key(|&at| &files[at]).unwrap_or(0);
        files.rotate_left(first);
        Circle { folder: folder.to_owned(), files }
    }

    fn uses(&self) -> impl Iterator<Item = Use> {
        let next = self.files.iter().cycle().skip(1);
        self.files.iter().zip(next).map(|(from, to)| Use {
            folder: self.folder.clone(),
            from: from.clone(),
            to: to.clone(),
        })
    }

    /// The circle without the use that closes it: from that use's end to its beginning.
    fn opened(&self, closed_by: &Use) -> String {
        let mut files = self.files.clone();
        files.rotate_left(self.files.iter().position(|file| *file == closed_by.to).unwrap_or(0));
        files.join(ARROW)
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{ARROW}{}", self.folder, self.files.join(ARROW), self.files[0])
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{ARROW}{}", self.folder, self.from, self.to)
    }
}

const ARROW: &str = " -> ";

impl List {
    /// Reads the list of the workspace at `root`. A missing list is an empty one.
    pub fn read(root: &Path) -> io::Result<List> {
        match fs::read_to_string(root.join(PATH)) {
            Ok(text) => List::parse(&text).map_err(|line| io::Error::other(format!("{PATH}: {line:?}"))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(List(BTreeMap::new())),
            Err(e) => Err(e),
        }
    }

    /// The error is the line that is wrong.
    fn parse(text: &str) -> Result<List, &str> {
        let mut list: BTreeMap<Use, Entry> = BTreeMap::new();
        let mut last: Option<Use> = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some(detail) = line.strip_prefix("    ") else {
                let (folder, files) = line.split_once(": ").ok_or(line)?;
                let (from, to) = files.split_once(ARROW).ok_or(line)?;
                let [folder, from, to] = [folder, from, to].map(str::to_owned);
                let closing = Use { folder, from, to };
                list.entry(closing.clone()).or_default();
                last = Some(closing);
                continue;
            };
            let closing = last.as_ref().ok_or(line)?;
            let entry = list.entry(closing.clone()).or_default();
            if let Some(files) = detail.strip_prefix(": ") {
                let files = files.split(ARROW).map(str::to_owned).collect();
                entry.circles.insert(Circle::new(&closing.folder, files));
            } else {
                entry.reason = format!("{} {detail}", entry.reason).trim().to_owned();
            }
        }
        Ok(List(list))
    }

    /// Returns a line for each circle that the list lacks or has in vain, and for each use without a reason.
    pub fn complaints(&self, found: &BTreeSet<Circle>) -> Vec<String> {
        let listed: BTreeSet<&Circle> = self.0.values().flat_map(|entry| &entry.circles).collect();
        let found: BTreeSet<&Circle> = found.iter().collect();
        let new = found.difference(&listed).map(|circle| format!("new circle: {circle}"));
        let gone =
            listed.difference(&found).map(|circle| format!("{PATH} lists a circle that is gone: {circle}"));
        let idle = self.0.iter().filter(|(_, entry)| entry.circles.is_empty());
        let idle = idle.map(|(closing, _)| format!("{PATH} lists a use that closes no circle: {closing}"));
        let bare = self.0.iter().filter(|(_, entry)| entry.reason.is_empty());
        let bare = bare.map(|(closing, _)| format!("{PATH} has no reason for: {closing}"));
        new.chain(gone).chain(idle).chain(bare).collect()
    }

    /// Returns the list for these circles. Uses that are listed already come first, then the uses that close most circles.
    pub fn updated(mut self, found: &BTreeSet<Circle>) -> List {
        let mut remaining: BTreeSet<&Circle> = found.iter().collect();
        let mut list = BTreeMap::new();
        while let Some(first) = remaining.first() {
            let mut closes: BTreeMap<Use, usize> = BTreeMap::new();
            remaining
                .iter()
                .flat_map(|circle| circle.uses())
                .for_each(|use_| *closes.entry(use_).or_default() += 1);
            let rank = |closing: &Use| (self.0.contains_key(closing), closes[closing]);
            // Of equals the first one in the order of their names.
            let best = closes.keys().rev().max_by_key(|closing| rank(closing)).cloned();
            let closing = best.unwrap_or_else(|| unreachable!("{first} has uses"));
            let circles: BTreeSet<Circle> = remaining
                .iter()
                .filter(|circle| circle.uses().any(|use_| use_ == closing))
                .copied()
                .cloned()
                .collect();
            remaining.retain(|circle| !circles.contains(circle));
            let reason = self.0.remove(&closing).unwrap_or_default().reason;
            list.insert(closing, Entry { reason, circles });
        }
        List(list)
    }

    /// Writes the list of the workspace at `root`.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        fs::write(root.join(PATH), self.to_string())
    }

    /// Returns the number of uses that have no reason.
    pub fn without_reason(&self) -> usize {
        self.0.values().filter(|entry| entry.reason.is_empty()).count()
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TITLE)?;
        for (closing, entry) in &self.0 {
            write!(f, "\n{closing}\n")?;
            if !entry.reason.is_empty() {
                writeln!(f, "    {}", entry.reason)?;
            }
            for circle in &entry.circles {
                writeln!(f, "    : {}", circle.opened(closing))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &str) -> Circle {
        Circle::new("src", files.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn update_prefers_the_use_that_closes_most_circles_and_the_text_reads_back() {
        let found = BTreeSet::from([circle("a b"), circle("a b c")]);
        let list = List::parse("").unwrap().updated(&found);
        let text = list.to_string();
        assert!(text.ends_with("\nsrc: a -> b\n    : b -> a\n    : b -> c -> a\n"), "{text}");
        assert_eq!(list.without_reason(), 1);
        let with_reason = text.replace("a -> b\n", "a -> b\n    Because.\n");
        let list = List::parse(&with_reason).unwrap();
        assert_eq!(list.complaints(&found), Vec::<String>::new());
        assert_eq!(list.updated(&found).to_string(), with_reason);
    }

    #[test]
    fn update_keeps_the_use_that_has_a_reason() {
        let list = List::parse("src: b -> a\n    Because.\n    : a -> b\n").unwrap();
        let text = list.updated(&BTreeSet::from([circle("a b")])).to_string();
        assert!(text.ends_with("\nsrc: b -> a\n    Because.\n    : a -> b\n"), "{text}");
    }

    #[test]
    fn each_disagreement_has_its_complaint() {
        let list = List::parse("src: b -> a\n    : a -> b\nsrc: x -> y\n    Because.\n").unwrap();
        let complaints = list.complaints(&BTreeSet::from([circle("a c")]));
        let expected = [
            "new circle: src: a -> c -> a",
            "ci/circles/list.txt lists a circle that is gone: src: a -> b -> a",
            "ci/circles/list.txt lists a use that closes no circle: src: x -> y",
            "ci/circles/list.txt has no reason for: src: b -> a",
        ];
        assert_eq!(complaints, expected);
    }
}
