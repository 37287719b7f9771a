//! The places by which the preload library identifies mutexes and waits.

use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How a mutex or a wait is identified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum By {
    /// By its address within a static variable.
    Variable,
    /// By the call that initialised it.
    Init,
    /// By its first use, if no initialisation was seen.
    Use,
    /// By its call site, for waits.
    Site,
}

impl By {
    const ALL: [By; 4] = [By::Variable, By::Init, By::Use, By::Site];

    /// Its name in compiled plans.
    pub const fn word(self) -> &'static str {
        match self {
            By::Variable => "variable",
            By::Init => "init",
            By::Use => "use",
            By::Site => "site",
        }
    }
}

/// A range of addresses in a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The path of the file, as in `/proc/PID/maps`.
    pub module: PathBuf,
    /// Addresses as in the file's headers (`p_vaddr`), independent of where it is loaded.
    pub range: Range<Address>,
}

/// An address in a file.
pub type Address = u64;

/// A place that identifies a mutex or a wait.
///
/// For [`By::Variable`] the mutex is within one of the spans. For the others the first span is the call of libc's
/// function (its last byte: the return address minus one). Each further span is an outer call; other calls may be
/// between them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// How it identifies.
    pub by: By,
    /// Never empty.
    pub spans: Vec<Span>,
}

impl Span {
    /// A range of addresses in a file.
    pub fn new(module: &Path, range: Range<Address>) -> Span {
        Span { module: module.to_path_buf(), range }
    }

    /// `4040-4068@/usr/bin/x`
    pub fn parse(text: &str) -> Option<Span> {
        let (range, module) = text.split_once('@')?;
        let (start, end) = range.split_once('-')?;
        let address = |digits| Address::from_str_radix(digits, 16).ok();
        let range = address(start)?..address(end)?;
        (!range.is_empty() && module.starts_with('/')).then(|| Span { module: module.into(), range })
    }
}

impl Place {
    /// Parses the words of a plan: how, then the spans.
    pub fn parse(words: &[String]) -> Option<Place> {
        let (by, spans) = words.split_first()?;
        let by = By::ALL.into_iter().find(|known| known.word() == by)?;
        let spans: Vec<Span> = spans.iter().map(|text| Span::parse(text)).collect::<Option<_>>()?;
        (!spans.is_empty()).then_some(Place { by, spans })
    }

    /// Whether it is a special case of another place.
    pub fn is_within(&self, general: &Place) -> bool {
        let inside = |exact: &Span, general: &Span| {
            exact.module == general.module
                && exact.range.start >= general.range.start
                && exact.range.end <= general.range.end
        };
        let (Some(first), Some(general_first)) = (self.spans.first(), general.spans.first()) else {
            return false;
        };
        if self.by != general.by || !inside(first, general_first) {
            return false;
        }
        let mut frames = self.spans[1..].iter();
        general.spans[1..].iter().all(|general| frames.any(|exact| inside(exact, general)))
    }

    /// Whether a mutex or wait at this place may be one of another place.
    pub fn overlaps(&self, general: &Place) -> bool {
        let share = |one: &Span| {
            let of_file = general.spans.iter().filter(|other| other.module == one.module);
            of_file
                .into_iter()
                .any(|other| one.range.start < other.range.end && other.range.start < one.range.end)
        };
        match self.by {
            By::Variable => general.by == By::Variable && self.spans.iter().any(share),
            By::Init | By::Use | By::Site => self.is_within(general),
        }
    }

    /// The words for a plan.
    pub fn words(&self) -> Vec<String> {
        let spans = self.spans.iter().map(Span::to_string);
        [self.by.word().to_owned()].into_iter().chain(spans).collect()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.range;
        write!(f, "{start:x}-{end:x}@{}", self.module.display())
    }
}

/// Like in a compiled plan: `init`, then the spans, separated by tabs.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.by.word())?;
        for span in &self.spans {
            f.write_char('\t')?;
            span.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_round_trips_through_words() {
        let span = |start, end| Span::new(Path::new("/usr/bin/a b"), start..end);
        let place = Place { by: By::Init, spans: vec![span(0x1135, 0x1136), span(0x2000, 0x2040)] };
        assert_eq!(place.to_string(), "init\t1135-1136@/usr/bin/a b\t2000-2040@/usr/bin/a b");
        assert_eq!(Place::parse(&place.words()), Some(place));
    }

    #[test]
    fn invalid_place_is_refused() {
        let parse =
            |words: &[&str]| Place::parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        for words in [
            &[][..],
            &["init"],
            &["somewhere", "1-2@/x"],
            &["init", "1-2"],
            &["init", "2-2@/x"],
            &["init", "1-2@x"],
            &["init", "g-h@/x"],
        ] {
            assert_eq!(parse(words), None, "{words:?}");
        }
    }
}
