//! The plan in the form that the preload library reads.

use super::kind::{self, AnyKind};
use super::located::Located;
use super::place::{By, Place, Span};
use super::policy::WaitPolicy;
use super::resolve::{PlanTarget, Resolver};
use crate::error::Error;
use crate::library::cache::{self, CachedFile};
use crate::machine::looks::{self, PollSupport};
use crate::program::Program;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unspin_locks::RwLockKind;
use unspin_sys::{printable, regular};
use unspin_wire::TallyRow;
use unspin_wire::plan::{self, Line, LockFamily, MODULES, PLACES, RULES, SITES, TEXT, TITLE};

/// A plan with addresses instead of names: lines of words, separated by single tabs, shown here as spaces.
///
/// ```text
/// unspin plan 2
/// wakeup  48000
/// adaptive  variable  4040-4068@/usr/bin/x
/// steal  init  1135-1136@/usr/lib/libq.so  2000-2040@/usr/bin/x
/// system  site  1c40-1c41@/usr/bin/x
/// fair  all
/// rwlock  rw-biased  all
/// waits  poll
/// ```
///
/// `wakeup` is the cost of a wake-up on this machine in nanoseconds. Every plan under which a wait polls contains it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// What it wants to replace.
    reach: PlanTarget,
    lines: Vec<String>,
    /// The index of the first line of each entry, and the entry's label.
    labels: Vec<(usize, String)>,
    /// The places of each of those entries.
    places: Vec<Vec<Place>>,
    /// The place of each line; none: a line for a call site.
    written: HashSet<(Option<LockFamily>, Place)>,
    /// Number of rows for locks, and for call sites.
    rules: usize,
    sites: usize,
    /// The kind and the place of each line for locks.
    placed: Vec<(AnyKind, Place)>,
    counted: Vec<Counted>,
    spans: usize,
    modules: BTreeSet<PathBuf>,
    /// At most one of each family.
    for_all: Vec<AnyKind>,
    waits: Option<WaitPolicy>,
    wait_policies: Vec<String>,
    wake_up_ns: Option<u64>,
    polling: Vec<Located>,
}

/// An entry of a plan, and the rows of the tally that count for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// `adaptive@cache_lock`, as the user writes it.
    pub label: String,
    /// What it replaces.
    pub subject: EntryKind,
    /// The rows.
    pub rows: Vec<TallyRow>,
}

/// What an entry of a plan replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// Locks of a family.
    Locks(LockFamily),
    /// Locks of a family that are recognised by their first use.
    FirstUsed(LockFamily),
    /// Call sites of waits.
    Waits,
}

impl EntryKind {
    /// The family of the locks; none for waits.
    pub fn family(self) -> Option<LockFamily> {
        match self {
            EntryKind::Locks(family) | EntryKind::FirstUsed(family) => Some(family),
            EntryKind::Waits => None,
        }
    }
}

impl Compiled {
    /// A plan without entries, which will have some for these.
    pub fn new(reach: PlanTarget) -> Compiled {
        Compiled {
            reach,
            lines: Vec::new(),
            labels: Vec::new(),
            places: Vec::new(),
            written: HashSet::new(),
            rules: 0,
            sites: 0,
            placed: Vec::new(),
            counted: Vec::new(),
            spans: 0,
            modules: BTreeSet::new(),
            for_all: Vec::new(),
            waits: None,
            wait_policies: Vec::new(),
            wake_up_ns: None,
            polling: Vec::new(),
        }
    }

    /// Sets the kind of every lock of its family that no line names.
    pub fn all(&mut self, kind: AnyKind) {
        if self.all_of(kind.family()).is_none() {
            self.for_all.push(kind);
            self.count(&kind::label(kind), EntryKind::Locks(kind.family()));
        }
    }

    fn all_of(&self, family: LockFamily) -> Option<AnyKind> {
        self.for_all.iter().copied().find(|kind| kind.family() == family)
    }

    /// Sets the policy of every wait that no line names.
    pub fn all_waits(&mut self, policy: WaitPolicy) {
        if self.waits.is_none() {
            self.waits = Some(policy);
            // The control changes nothing that could be counted.
            if policy == WaitPolicy::Poll {
                self.count(policy.name(), EntryKind::Waits);
            }
        }
    }

    fn count(&mut self, label: &str, subject: EntryKind) {
        self.counted.push(Counted { label: label.to_owned(), subject, rows: vec![TallyRow::All] });
    }

    /// Refuses a program in which this plan could replace nothing.
    pub fn check_reach(&self, program: &Program) -> Result<(), Error> {
        Resolver::new(program).check_reach(&self.reach)
    }

    /// The entries of the plan, with the rows of the tally that count what they replace. Where no wait polls, call sites
    /// are not counted.
    pub fn counted(&self) -> impl Iterator<Item = &Counted> {
        let polls = self.polls();
        self.counted.iter().filter(move |entry| polls || entry.subject != EntryKind::Waits)
    }

    /// Records the policies of waits, as the user named them.
    pub fn set_wait_policies(&mut self, policies: Vec<String>) {
        self.wait_policies = policies;
    }

    /// The policies of waits, as the user named them: `poll`, `poll@worker_loop+0x2d`.
    pub fn wait_policies(&self) -> &[String] {
        &self.wait_policies
    }

    /// Whether a lock of this family stays libc's under this plan. `None`: a lock of which no place is known.
    pub fn leaves_to_libc(&self, family: LockFamily, lock: Option<&Located>) -> bool {
        let places = lock.map_or(&[][..], |lock| &lock.places);
        let of_line = |(kind, line): &&(AnyKind, Place)| {
            kind.family() == family && places.iter().any(|place| place.overlaps(line))
        };
        let named = self.placed.iter().find(of_line).map(|(kind, _)| *kind);
        named.or(self.all_of(family)).is_none_or(kind::is_libcs)
    }

    /// Sets the cost of a wake-up in nanoseconds, for plans for waits.
    pub fn set_wake_up(&mut self, ns: u64) {
        self.wake_up_ns = Some(ns);
    }

    /// Sets the policy for the waits of one call site, which is identified by any of these places.
    pub fn add_site(&mut self, policy: WaitPolicy, name: &str, places: &[Place]) -> Result<(), Error> {
        self.add_lines(Replacement::Policy(policy), name, places)?;
        if policy == WaitPolicy::Poll {
            let (name, places) = (name.to_owned(), places.to_vec());
            self.polling.push(Located { name, origin: None, places, mutexes: 0 });
        }
        Ok(())
    }

    /// The call sites whose waits poll, each by its name in the plan. Waits that poll because all do are not included.
    pub fn polling_sites(&self) -> &[Located] {
        &self.polling
    }

    /// Whether every wait polls that no line names.
    pub fn polls_everywhere(&self) -> bool {
        self.waits == Some(WaitPolicy::Poll)
    }

    /// Whether any wait polls.
    pub fn polls(&self) -> bool {
        self.polls_everywhere() || !self.polling.is_empty()
    }

    /// Which looks work here, if the plan depends on that: a wait polls, or writers of biased locks call membarrier(2). To be called
    /// before a program is started.
    pub fn poll_support(&self) -> Option<&'static PollSupport> {
        let is_biased = |kind: &AnyKind| *kind == AnyKind::RwLock(RwLockKind::Biased);
        let placed = self.placed.iter().map(|(kind, _)| kind);
        let depends = self.polls() || self.for_all.iter().chain(placed).any(is_biased);
        depends.then(looks::poll_support)
    }

    /// Sets the kind of the locks `name` of its family, which are identified by any of these places.
    pub fn add(&mut self, kind: AnyKind, name: &str, places: &[Place]) -> Result<(), Error> {
        self.add_lines(Replacement::Kind(kind), name, places)
    }

    fn add_lines(&mut self, by: Replacement, name: &str, places: &[Place]) -> Result<(), Error> {
        let (mut rows, first) = (Vec::new(), self.lines.len());
        for place in places {
            for span in &place.spans {
                self.modules.insert(check_path(&span.module)?.to_owned());
            }
            // Of two lines for one place the first counts.
            if !self.written.insert((by.family(), place.clone())) {
                continue;
            }
            let fields = place.spans.iter().map(Span::field);
            let (line, of_sort) = match by {
                Replacement::Policy(policy) => (plan::site_rule(policy, fields), &mut self.sites),
                Replacement::Kind(kind) => {
                    self.placed.push((kind, place.clone()));
                    (plan::rule(kind.family(), kind, place.by, fields), &mut self.rules)
                }
            };
            rows.push(TallyRow::Rule(*of_sort));
            *of_sort += 1;
            self.lines.push(line);
            self.spans += place.spans.len();
        }
        // An entry replaces nothing if all its places belong to earlier entries. That is intended, so it is not
        // counted.
        if !rows.is_empty() {
            let is_first_used = places.iter().any(|place| place.by == By::Use);
            let subject = match by {
                Replacement::Policy(_) => EntryKind::Waits,
                Replacement::Kind(kind) if is_first_used => EntryKind::FirstUsed(kind.family()),
                Replacement::Kind(kind) => EntryKind::Locks(kind.family()),
            };
            let label = format!("{}@{name}", by.label());
            self.labels.push((first, label.clone()));
            self.places.push(places.to_vec());
            self.counted.push(Counted { label, subject, rows });
        }
        let too_many =
            [(self.rules, RULES), (self.sites, SITES), (self.spans, PLACES), (self.modules.len(), MODULES)];
        let too_long = self.lines.iter().map(String::len).sum::<usize>() > BYTES;
        if too_long || too_many.iter().any(|&(count, most)| count > most) {
            return Err(Error::Usage(format!(
                "{name}: that makes {} places in all, and there is room for {PLACES}, in {RULES} lines: name fewer locks, or \
                 one element of an array (pool[3].lock), or all that is in it (pool)",
                self.spans
            )));
        }
        Ok(())
    }

    /// Writes the plan to a file in the user's cache folder, where it stays as long as a program may need it: this
    /// process is about to become the program, and cannot remove the file later.
    pub fn keep(&self) -> Result<PathBuf, Error> {
        let text = self.to_string();
        let hash: String = Sha256::digest(&text).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{PREFIX}{hash}");
        let path =
            cache::keep(&CachedFile { what: "the plan", name: &name, bytes: text.as_bytes(), mode: 0o644 })?;
        cache::sweep(&path, PREFIX, UNUSED);
        Ok(path)
    }

    /// The files in which the places lie.
    pub fn modules(&self) -> impl Iterator<Item = &Path> {
        self.modules.iter().map(PathBuf::as_path)
    }

    /// The entries, those for everything last: the label, a noun, and the places, of which one for everything has none.
    pub fn rows(&self) -> Vec<(String, &'static str, &[Place])> {
        let noun = |label: &str| {
            let entry = self.counted.iter().find(|entry| entry.label == label);
            entry.and_then(|entry| entry.subject.family()).map_or("waits", LockFamily::noun)
        };
        let named = self.labels.iter().zip(&self.places);
        let named = named.map(|((_, label), places)| (label.clone(), noun(label), &places[..]));
        let for_all = self.for_all.iter().map(|&kind| (kind::label(kind), kind.family().nouns(), &[][..]));
        let waits = self.waits.map(|policy| (policy.name().to_owned(), "waits", &[][..]));
        named.chain(for_all).chain(waits).collect()
    }

    /// The lines with the entries to which they belong, for a deployed plan.
    pub fn lines_by_entry(&self) -> String {
        let mut lines =
            self.wake_up_ns.map(|ns| Line::<AnyKind>::WakeUp(ns).to_string()).into_iter().collect::<Vec<_>>();
        // A label has a line of its own.
        let entry = |label: &str| Line::<AnyKind>::Entry(printable::line(label).as_bytes()).to_string();
        let mut labels = self.labels.iter().peekable();
        for (index, line) in self.lines.iter().enumerate() {
            lines.extend(labels.next_if(|(first, _)| *first == index).map(|(_, label)| entry(label)));
            lines.push(line.clone());
        }
        for &kind in &self.for_all {
            lines.extend([entry(&kind::label(kind)), Line::All(kind).to_string()]);
        }
        if let Some(policy) = self.waits {
            lines.extend([entry(policy.name()), Line::<AnyKind>::Waits(policy).to_string()]);
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// Writes the plan to a file that the caller removes, in place of an earlier one. All users may read it, whatever the umask, and
    /// only we may write to it.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let written = || {
            let _ = fs::remove_file(path);
            let mut file = regular::create(path, 0o600)?;
            file.write_all(self.to_string().as_bytes())?;
            file.set_permissions(Permissions::from_mode(0o644))
        };
        written().map_err(|e| Error::at(path, "the plan cannot be written here", e))
    }
}

/// What replaces a lock or the policy of a wait.
#[derive(Clone, Copy)]
enum Replacement {
    Kind(AnyKind),
    Policy(WaitPolicy),
}

impl Replacement {
    /// The family of locks; none for waits.
    fn family(self) -> Option<LockFamily> {
        match self {
            Replacement::Kind(kind) => Some(kind.family()),
            Replacement::Policy(_) => None,
        }
    }

    fn label(self) -> String {
        match self {
            Replacement::Kind(kind) => kind::label(kind),
            Replacement::Policy(policy) => policy.to_string(),
        }
    }
}

/// Whether a path can be written in a line.
fn check_path(module: &Path) -> Result<&Path, Error> {
    if module.as_os_str().as_encoded_bytes().iter().any(|byte| b"\t\n".contains(byte)) {
        return Err(Error::Environment(format!(
            "{module:?}: a plan cannot hold a path with a tab or a line break in it: rename the file"
        )));
    }
    Ok(module)
}

/// Bytes for the lines of particular locks and call sites. The rest is reserved for the lines for everything.
const BYTES: usize = TEXT - (4 << 10);

/// Prefix of the names of its files.
const PREFIX: &str = "plan-";
/// Age at which unused plans are removed, unless a running program was given them, because its children will read them
/// again. For programs that overwrite the memory from which the kernel shows their environment, only the age protects a
/// plan.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}")?;
        if let Some(ns) = self.wake_up_ns {
            writeln!(f, "{}", Line::<AnyKind>::WakeUp(ns))?;
        }
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        for &kind in &self.for_all {
            writeln!(f, "{}", Line::All(kind))?;
        }
        if let Some(policy) = self.waits {
            writeln!(f, "{}", Line::<AnyKind>::Waits(policy))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::kind::KindOfFamily;
    use std::path::Path;
    use unspin_locks::{LockKind, RwLockKind, SpinKind};

    #[test]
    fn specific_lines_come_before_the_one_for_all() {
        let place =
            Place { by: By::Variable, spans: vec![Span::new(Path::new("/usr/bin/x"), 0x4040..0x4068)] };
        let site = Place { by: By::Site, spans: vec![Span::new(Path::new("/usr/bin/x"), 0x1c40..0x1c41)] };
        let mut compiled = Compiled::new(PlanTarget::default());
        compiled.all(LockKind::Fair.any());
        compiled.all(RwLockKind::Biased.any());
        compiled.all(RwLockKind::Fair.any());
        compiled.all_waits(WaitPolicy::Poll);
        compiled.add(LockKind::Adaptive.any(), "x", &[place.clone(), place.clone()]).unwrap();
        compiled.add(SpinKind::Adaptive.any(), "x", &[place]).unwrap();
        compiled.add_site(WaitPolicy::System, "f+0x41", &[site]).unwrap();
        compiled.set_wake_up(48_000);
        let expected = "unspin plan 2\nwakeup\t48000\nadaptive\tvariable\t4040-4068@/usr/bin/x\n\
            spin\tadaptive\tvariable\t4040-4068@/usr/bin/x\nsystem\tsite\t1c40-1c41@/usr/bin/x\n\
            fair\tall\nrwlock\trw-biased\tall\nwaits\tpoll\n";
        assert_eq!(compiled.to_string(), expected);
        let counted: Vec<(&str, TallyRow)> =
            compiled.counted().map(|entry| (entry.label.as_str(), entry.rows[0])).collect();
        let expected = [
            ("fair", TallyRow::All),
            ("rw-biased", TallyRow::All),
            ("poll", TallyRow::All),
            ("adaptive@x", TallyRow::Rule(0)),
            ("spin adaptive@x", TallyRow::Rule(1)),
            ("system@f+0x41", TallyRow::Rule(0)),
        ];
        assert_eq!(counted, expected, "the rules of all families have one sequence of numbers");
    }

    /// The preload library reads the plan with the kinds of its own.
    #[test]
    fn compiled_plan_is_read_back() {
        let place = |by| Place { by, spans: vec![Span::new(Path::new("/usr/bin/x"), 0x4040..0x4041)] };
        let mut compiled = Compiled::new(PlanTarget::default());
        for kind in RwLockKind::ALL {
            compiled.add(kind.any(), "x", &[place(By::Use)]).unwrap();
        }
        compiled.add(SpinKind::Adaptive.any(), "x", &[place(By::Init)]).unwrap();
        compiled.all(SpinKind::System.any());
        let text = compiled.to_string();
        let mut lines: Vec<Line<'_, AnyKind>> = Vec::new();
        let result = plan::parse(text.as_bytes(), |line| {
            lines.push(line);
            true
        });
        assert_eq!((result, lines.len()), (Ok(()), 3), "{text}");
        assert!(matches!(lines[0], Line::Locks(AnyKind::RwLock(RwLockKind::System), By::Use, _)), "{text}");
        assert!(matches!(lines[1], Line::Locks(AnyKind::Spin(SpinKind::Adaptive), By::Init, _)), "{text}");
        assert_eq!(lines[2], Line::All(AnyKind::Spin(SpinKind::System)));
    }

    #[test]
    fn mutex_of_no_line_stays_libcs() {
        let span = |range| Span::new(Path::new("/usr/bin/x"), range);
        let lock = |by, range| {
            let places = vec![Place { by, spans: vec![span(range)] }];
            Located { name: "q".into(), origin: None, places, mutexes: 0 }
        };
        let mut compiled = Compiled::new(PlanTarget::default());
        let lines = [(By::Variable, 0x4000..0x4100), (By::Use, 0x1000..0x1080)];
        for (by, range) in lines {
            compiled.add(LockKind::Fair.any(), "q", &[Place { by, spans: vec![span(range)] }]).unwrap();
        }
        let place = Place { by: By::Init, spans: vec![span(0x2000..0x2010)] };
        compiled.add(LockKind::System.any(), "r", &[place]).unwrap();
        compiled.all(RwLockKind::Fair.any());
        let stays = |compiled: &Compiled, by, range| {
            compiled.leaves_to_libc(LockFamily::Mutex, Some(&lock(by, range)))
        };
        assert!(!compiled.leaves_to_libc(LockFamily::RwLock, None));
        assert!(compiled.leaves_to_libc(LockFamily::Spin, None));
        assert!(!stays(&compiled, By::Variable, 0x4028..0x4050));
        assert!(!stays(&compiled, By::Use, 0x1010..0x1011));
        assert!(stays(&compiled, By::Use, 0x1080..0x1081));
        assert!(stays(&compiled, By::Init, 0x1010..0x1011));
        assert!(compiled.leaves_to_libc(LockFamily::Mutex, None));
        compiled.all(LockKind::Mcs.any());
        assert!(
            !compiled.leaves_to_libc(LockFamily::Mutex, None) && !stays(&compiled, By::Use, 0x1080..0x1081)
        );
        assert!(stays(&compiled, By::Init, 0x2004..0x2005), "a line takes precedence");
    }

    #[test]
    fn plan_beyond_the_limits_is_refused() {
        let place = |first: u64| {
            let span = |at| Span::new(Path::new("/usr/bin/x"), at..at + 40);
            Place { by: By::Variable, spans: (first..first + 1000).map(span).collect() }
        };
        let mut compiled = Compiled::new(PlanTarget::default());
        compiled.add(LockKind::Fair.any(), "pool.lock", &[place(0)]).unwrap();
        compiled.add(LockKind::Fair.any(), "pool.lock", &[place(0)]).unwrap();
        let error = compiled.add(LockKind::Fair.any(), "other.lock", &[place(2000)]).unwrap_err().to_string();
        assert!(
            error.starts_with("other.lock: that makes 2000 places in all, and there is room for 1024"),
            "{error}"
        );
    }

    #[test]
    fn path_with_tab_or_line_break_is_refused() {
        let place = Place { by: By::Init, spans: vec![Span::new(Path::new("/a\tb"), 1..2)] };
        let error = Compiled::new(PlanTarget::default())
            .add(LockKind::Mcs.any(), "x", &[place])
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "\"/a\\tb\": a plan cannot hold a path with a tab or a line break in it: rename the file"
        );
    }
}
