//! How the recorded program was started. The recording's header holds it. From it `advice` makes the commands that the
//! report suggests.

use crate::image::{arguments, load_bytes, store_bytes};
use crate::pages::WORDS;
use crate::plan::LockFamily;
use unspin_sync::atomic::{AtomicU64, Ordering::*};

// Indices of words of the recording's header.
// Bytes of the command line, of the wait policies that follow it, and of the replacements of locks behind these. 0 in recordings
// of versions that did not store them.
const LOCKS_BYTES: usize = 63;
const COMMAND_BYTES: usize = 64;
const WAITS_BYTES: usize = 65;
/// Start of the three texts; they may extend to the end of the page.
const TEXTS: usize = 66;

/// The command that the user gave, the requested wait policies, and the replacements of locks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invocation {
    /// The program's name and its arguments, as the user gave them; empty if they are not known.
    pub command: Vec<String>,
    /// The policies of waits in the syntax of `--waits`: `poll`, `poll@worker_loop+0x2d`. Empty: all waits sleep at
    /// once, as without unspin.
    pub waits: Vec<String>,
    /// The replacements of locks, in order of precedence: `adaptive@cache_lock`, `rw-biased`, `spin adaptive`, `rwlock system@table`.
    /// Without a family the kind is one of mutexes or begins with `rw-`. Empty: all locks are libc's.
    pub locks: Vec<String>,
}

/// Maximum number of policies that a summary lists.
const NAMED_MAX: usize = 3;

impl Invocation {
    /// `waits: poll, system@worker_loop+0x2d`; none if no policy was given.
    pub fn policies(&self) -> Option<String> {
        let more = self.waits.len().saturating_sub(NAMED_MAX);
        let named = self.waits[..self.waits.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("waits: {named}{more}"))
    }

    /// Whether every wait polls before it sleeps.
    pub fn polls_everywhere(&self) -> bool {
        let is_exception = |policy: &String| policy.contains('@') && !policy.starts_with("poll@");
        self.waits.iter().any(|policy| policy == "poll") && !self.waits.iter().any(is_exception)
    }

    /// Whether the waits of a call site poll before they sleep.
    pub fn polls_at(&self, site: &str) -> bool {
        // A policy for one call site comes before the one for all.
        let own = self.waits.iter().find(|policy| policy.split_once('@').is_some_and(|(_, at)| at == site));
        own.map_or_else(|| self.waits.iter().any(|policy| policy == "poll"), |own| own.starts_with("poll@"))
    }

    /// The kind that replaces a lock of a family, if a replacement is for all locks of the family or has a name that `is_named`
    /// accepts. A replacement for a name comes before the one for all.
    pub fn kind_of(&self, family: LockFamily, is_named: impl Fn(&str) -> bool) -> Option<&str> {
        let of_family = || self.locks.iter().map(|text| replacement(text)).filter(move |one| one.0 == family);
        let own = of_family().find(|(.., name)| name.is_some_and(&is_named));
        own.or_else(|| of_family().find(|(.., name)| name.is_none())).map(|(_, kind, _)| kind)
    }
}

/// The family, the kind and the name of a replacement; no name: it is for all locks of the family.
fn replacement(text: &str) -> (LockFamily, &str, Option<&str>) {
    let (kind, name) = text.split_once('@').map_or((text, None), |(kind, name)| (kind, Some(name)));
    let (word, kind) = kind.split_once(' ').unwrap_or(("", kind));
    let family = match LockFamily::from_word(word.as_bytes()) {
        Some(family) => family,
        None if kind.starts_with("rw-") => LockFamily::RwLock,
        None => LockFamily::Mutex,
    };
    (family, kind, name)
}

/// Stores the invocation in the header of a recording. A text that does not fit is omitted.
pub(crate) fn write(header: &[AtomicU64], invocation: &Invocation) {
    let mut room = 8 * (WORDS - TEXTS);
    let mut kept = |words: &[String]| {
        let text: Vec<u8> = words.iter().flat_map(|word| word.bytes().chain([0])).collect();
        let fits = text.len() <= room && !words.iter().any(|word| word.contains('\0'));
        room -= if fits { text.len() } else { 0 };
        if fits { text } else { Vec::new() }
    };
    let waits = kept(&invocation.waits);
    let locks = kept(&invocation.locks);
    let command = kept(&invocation.command);
    // Relaxed (all): only the recording's owner writes these words, before the recorded program starts.
    header[COMMAND_BYTES].store(command.len() as u64, Relaxed);
    header[WAITS_BYTES].store(waits.len() as u64, Relaxed);
    header[LOCKS_BYTES].store(locks.len() as u64, Relaxed);
    store_bytes(&header[TEXTS..WORDS], &[command, waits, locks].concat());
}

/// Reads an invocation that [`write`] stored.
pub(crate) fn read(header: &[AtomicU64]) -> Invocation {
    let texts = load_bytes(&header[TEXTS..WORDS], usize::MAX);
    let mut rest = &texts[..];
    // Relaxed: see `write`. The lengths are bounded because the file may be damaged.
    let [command, waits, locks] = [COMMAND_BYTES, WAITS_BYTES, LOCKS_BYTES].map(|index| {
        let length = header[index].load(Relaxed).min(rest.len() as u64) as usize;
        let (text, behind) = rest.split_at(length);
        rest = behind;
        arguments(text)
    });
    Invocation { command, waits, locks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    fn header() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn invocation_is_read_as_it_was_stored() {
        let header = header();
        assert_eq!(read(&header), Invocation::default());
        let invocation = Invocation {
            command: words(&["sh", "-c", "", "x y"]),
            waits: words(&["poll", "system@f+0x2d"]),
            locks: words(&["rw-biased", "spin adaptive@pool lock"]),
        };
        write(&header, &invocation);
        assert_eq!(read(&header), invocation);
    }

    #[test]
    fn command_that_does_not_fit_is_left_out() {
        let header = header();
        let long = "x".repeat(8 * WORDS);
        write(&header, &Invocation { command: vec![long], waits: words(&["poll"]), ..Invocation::default() });
        assert_eq!(read(&header), Invocation { waits: words(&["poll"]), ..Invocation::default() });
    }

    #[test]
    fn damaged_lengths_are_bounded() {
        let header = header();
        for index in [COMMAND_BYTES, WAITS_BYTES, LOCKS_BYTES] {
            // Relaxed: one thread.
            header[index].store(u64::MAX, Relaxed);
        }
        read(&header);
    }

    #[test]
    fn replacement_of_a_name_comes_before_the_one_for_all() {
        use LockFamily::{Mutex, RwLock, Spin};
        let all = ["rw-biased", "rwlock system@table", "spin adaptive", "fair@table", "pi@other"];
        let invocation = Invocation { locks: words(&all), ..Invocation::default() };
        let cases = [
            (RwLock, "table", Some("system")),
            (RwLock, "other", Some("rw-biased")),
            (Spin, "table", Some("adaptive")),
            (Mutex, "table", Some("fair")),
            (Mutex, "third", None),
        ];
        for (family, lock, kind) in cases {
            assert_eq!(invocation.kind_of(family, |name| name == lock), kind, "{family:?} {lock}");
        }
        assert_eq!(Invocation::default().kind_of(Mutex, |_| true), None);
    }

    #[test]
    fn policy_of_a_call_site_comes_before_the_one_for_all() {
        let policies = |waits: &[&str]| Invocation { waits: words(waits), ..Invocation::default() };
        let cases = [
            (&[][..], false, false),
            (&["poll"], true, true),
            (&["poll", "poll@f+0x1"], true, true),
            (&["poll", "system@f+0x1"], false, false),
            (&["poll", "system@g+0x1"], false, true),
            (&["poll@f+0x1"], false, true),
            (&["system", "poll@f+0x1"], false, true),
            (&["system"], false, false),
        ];
        for (waits, everywhere, at) in cases {
            let policies = policies(waits);
            assert_eq!(
                (policies.polls_everywhere(), policies.polls_at("f+0x1")),
                (everywhere, at),
                "{waits:?}"
            );
        }
    }
}
