//! A compiled plan: which locks replace which locks of the program, and which waits poll, with addresses instead of names.
//! `unspin` writes it, the preload library reads it. Errors in it are reported nevertheless, because a user can write one by
//! hand.
//!
//! ```text
//! unspin plan 2
//! KIND<tab>all
//! KIND<tab>variable<tab>START-END@MODULE
//! KIND<tab>init<tab>START-END@MODULE<tab>START-END@MODULE…
//! KIND<tab>use<tab>START-END@MODULE…
//! rwlock<tab>KIND<tab>all
//! rwlock<tab>KIND<tab>variable|init|use<tab>START-END@MODULE…
//! spin<tab>KIND<tab>all
//! spin<tab>KIND<tab>variable|init<tab>START-END@MODULE…
//! wakeup<tab>NANOSECONDS
//! waits<tab>poll
//! waits<tab>system
//! poll<tab>site<tab>START-END@MODULE<tab>START-END@MODULE…
//! system<tab>site<tab>START-END@MODULE…
//! force<tab>polls
//! force<tab>ready
//! ```
//!
//! A line that begins with a kind is for mutexes, one that begins with `rwlock` for read-write locks, one that begins with
//! `spin` for spin locks. A library that does not know these words refuses the plan, so they need no new version.
//!
//! `wakeup` is the cost of a wake-up on this machine. `force<tab>polls` makes every wait poll, whatever was
//! learnt; tests use it. `force<tab>ready` makes every timed call count as one that found its answer ready, however long it
//! took; counts of instructions use it, because calls take longer under the tool that counts.
//!
//! Addresses are link-time addresses of the module, in hexadecimal; the end is exclusive. A module is an absolute path.
//!
//! A [deployed](seal) plan has a checksum in its first line, and begins with lines that say for which builds it is.
//!
//! This crate knows no lock, so the kinds of the three families of locks are parameters, in [`AnyKind`].
//!
//! ```
//! use unspin_wire::plan::{self, AnyKind, By, Field, Line, LockFamily, TITLE};
//!
//! type Kind = AnyKind<String, String, String>;
//!
//! let place = || Field { range: 0x4040..0x4068, module: b"/usr/bin/x" };
//! let mutex = plan::rule(LockFamily::Mutex, "fair", By::Variable, [place()]);
//! let rwlock = plan::rule(LockFamily::RwLock, "rw-fair", By::Use, [place()]);
//! let all = Line::<Kind>::All(AnyKind::Spin("adaptive".into()));
//! let text = format!("{TITLE}\n{mutex}\n{rwlock}\n{all}\n");
//! assert_eq!(
//!     text,
//!     "unspin plan 2\nfair\tvariable\t4040-4068@/usr/bin/x\nrwlock\trw-fair\tuse\t4040-4068@/usr/bin/x\n\
//!      spin\tadaptive\tall\n"
//! );
//!
//! let mut lines: Vec<Line<Kind>> = Vec::new();
//! plan::parse(text.as_bytes(), |line| {
//!     lines.push(line);
//!     true
//! })
//! .unwrap();
//! assert_eq!(lines[2], all);
//! ```

mod deployed;
mod family;

pub use deployed::{BuiltFile, FileBuild, is_deployed, seal};
pub use family::{AnyKind, LockFamily};

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

/// The first line of a plan of this version.
pub const TITLE: &str = "unspin plan 2";

// The preload library allocates no memory, so it has room for this much. One lock of a large program takes a few places.
/// Maximum size of a plan in bytes.
pub const TEXT: usize = 64 << 10;
/// Maximum number of lines for particular locks, of all families together.
pub const RULES: usize = 256;
/// Maximum number of lines for particular call sites.
pub const SITES: usize = 64;
/// Maximum number of ranges of addresses, in all lines.
pub const PLACES: usize = 1024;
/// Maximum number of modules that a plan may name.
pub const MODULES: usize = 64;

/// The contents of one line. `K` is the kind of a lock: [`AnyKind`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line<'text, K> {
    /// The kind for all locks of its family to which no other line applies.
    All(K),
    /// The kind for the locks that the line describes. Never [`By::Site`]; for spin locks never [`By::Use`].
    Locks(K, By, Fields<'text>),
    /// The cost of a wake-up, in nanoseconds.
    WakeUp(u64),
    /// The policy of the waits to which no other line applies.
    Waits(WaitPolicy),
    /// The policy of the waits of a call site.
    Site(WaitPolicy, Fields<'text>),
    /// Every wait polls, whatever was learnt.
    ForcePolls,
    /// Every timed call has found its answer ready, however long it took.
    ForceReady,
    /// The version of the library that the plan is for. This line and the three below are of deployed plans.
    Library(&'text [u8]),
    /// A program in which the plan is in effect.
    Program(BuiltFile<'text>),
    /// Another file of the plan's places.
    Module(BuiltFile<'text>),
    /// The name of what follows, as the user wrote it.
    Entry(&'text [u8]),
}

/// What a thread does before it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WaitPolicy {
    /// The thread checks repeatedly for as long as a wake-up costs, where that has paid lately.
    Poll,
    /// The thread sleeps at once, as without unspin: the control.
    System,
}

impl WaitPolicy {
    /// Every policy.
    pub const ALL: [WaitPolicy; 2] = [WaitPolicy::Poll, WaitPolicy::System];

    /// The policy's name on the command line, in plan files and in compiled plans.
    pub const fn name(self) -> &'static str {
        match self {
            WaitPolicy::Poll => "poll",
            WaitPolicy::System => "system",
        }
    }

    /// What a thread does in a wait, for readers who do not know the policy's name.
    pub const fn summary(self) -> &'static str {
        match self {
            WaitPolicy::Poll => {
                "polls before it sleeps, for as long as a wake-up costs, where that has paid lately"
            }
            WaitPolicy::System => "sleeps at once, as in libc",
        }
    }
}

impl fmt::Display for WaitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error: the name belongs to no policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownWaitPolicy;

impl FromStr for WaitPolicy {
    type Err = UnknownWaitPolicy;

    fn from_str(name: &str) -> Result<WaitPolicy, UnknownWaitPolicy> {
        WaitPolicy::ALL.into_iter().find(|policy| policy.name() == name).ok_or(UnknownWaitPolicy)
    }
}

/// How a lock or a wait is identified.
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
    /// Every way to identify.
    pub const ALL: [By; 4] = [By::Variable, By::Init, By::Use, By::Site];

    /// The word in compiled plans.
    pub const fn word(self) -> &'static str {
        match self {
            By::Variable => "variable",
            By::Init => "init",
            By::Use => "use",
            By::Site => "site",
        }
    }

    /// The way with this name.
    pub fn from_word(word: &[u8]) -> Option<By> {
        By::ALL.into_iter().find(|by| by.word().as_bytes() == word)
    }
}

/// A range of addresses in a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field<'text> {
    /// Link-time addresses.
    pub range: Range<usize>,
    /// Path of the module's file.
    pub module: &'text [u8],
}

/// The ranges of a line; a malformed one is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields<'text>(&'text [u8]);

impl<'text> Iterator for Fields<'text> {
    type Item = Option<Field<'text>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (field, rest) = split(self.0, b'\t').unwrap_or((self.0, b""));
        self.0 = rest;
        Some(parse_range(field))
    }
}

/// `4040-4068@/usr/bin/x`
impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.range;
        write!(f, "{start:x}-{end:x}@{}", String::from_utf8_lossy(self.module))
    }
}

/// The line, without the line break, for the locks of a family at these places.
pub fn rule<'text>(
    family: LockFamily,
    kind: impl fmt::Display,
    by: By,
    fields: impl IntoIterator<Item = Field<'text>>,
) -> String {
    with_fields(format!("{}{kind}\t{}", Prefix(family), by.word()), fields)
}

/// The line, without the line break, for the waits of the call site at these places.
pub fn site_rule<'text>(policy: WaitPolicy, fields: impl IntoIterator<Item = Field<'text>>) -> String {
    with_fields(format!("{policy}\t{}", By::Site.word()), fields)
}

/// The family's word with a tab; nothing for mutexes.
struct Prefix(LockFamily);

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.word().map_or(Ok(()), |word| write!(f, "{word}\t"))
    }
}

fn with_fields<'text>(mut line: String, fields: impl IntoIterator<Item = Field<'text>>) -> String {
    for field in fields {
        line.push('\t');
        line.push_str(&field.to_string());
    }
    line
}

/// The line, without the line break.
impl<M: fmt::Display, R: fmt::Display, S: fmt::Display> fmt::Display for Line<'_, AnyKind<M, R, S>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::All(kind) => write!(f, "{}{kind}\tall", Prefix(kind.family())),
            Line::Locks(kind, by, fields) => {
                f.write_str(&rule(kind.family(), kind, *by, fields.clone().flatten()))
            }
            Line::WakeUp(ns) => write!(f, "wakeup\t{ns}"),
            Line::Waits(policy) => write!(f, "waits\t{policy}"),
            Line::Site(policy, fields) => f.write_str(&site_rule(*policy, fields.clone().flatten())),
            Line::ForcePolls => f.write_str("force\tpolls"),
            Line::ForceReady => f.write_str("force\tready"),
            Line::Library(version) => write!(f, "library\t{}", String::from_utf8_lossy(version)),
            Line::Program(file) => write!(f, "program\t{file}"),
            Line::Module(file) => write!(f, "module\t{file}"),
            Line::Entry(label) => write!(f, "entry\t{}", String::from_utf8_lossy(label)),
        }
    }
}

fn parse_range(field: &[u8]) -> Option<Field<'_>> {
    let (range, module) = split(field, b'@')?;
    let (start, end) = split(range, b'-')?;
    let (start, end) = (hex(start)?, hex(end)?);
    (start < end && module.first() == Some(&b'/')).then_some(Field { range: start..end, module })
}

fn hex(digits: &[u8]) -> Option<usize> {
    // The library's function would also accept a sign.
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    usize::from_str_radix(core::str::from_utf8(digits).ok().filter(|_| is_hex)?, 16).ok()
}

/// The errors that a plan may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The first line is not that of this version.
    Title,
    /// The length or the checksum of a deployed plan is not that of its first line.
    Damaged,
    /// This line, counted from 1, is not valid.
    Line(u32),
    /// The plan has more rules, call sites, ranges or modules than there is room for.
    TooLong,
}

/// Calls `each` with every line. `each` returns whether there was room.
pub fn parse<'text, M: FromStr, R: FromStr, S: FromStr>(
    text: &'text [u8],
    mut each: impl FnMut(Line<'text, AnyKind<M, R, S>>) -> bool,
) -> Result<(), Wrong> {
    let (title, lines) = split(text, b'\n').unwrap_or((text, b""));
    deployed::check(title, lines)?;
    for (line, number) in lines.split(|&byte| byte == b'\n').zip(2..).filter(|(line, _)| !line.is_empty()) {
        if !each(parse_line(line).ok_or(Wrong::Line(number))?) {
            return Err(Wrong::TooLong);
        }
    }
    Ok(())
}

fn parse_line<M: FromStr, R: FromStr, S: FromStr>(line: &[u8]) -> Option<Line<'_, AnyKind<M, R, S>>> {
    let (word, rest) = split(line, b'\t')?;
    match (word, rest) {
        (b"force", b"polls") => return Some(Line::ForcePolls),
        (b"force", b"ready") => return Some(Line::ForceReady),
        (b"wakeup", number) => return parse_decimal(number).map(Line::WakeUp),
        (b"waits", policy) => return parse_policy(policy).map(Line::Waits),
        (b"library", version) => return Some(Line::Library(version)),
        (b"program", file) => return deployed::parse_file(file).map(Line::Program),
        (b"module", file) => return deployed::parse_file(file).map(Line::Module),
        (b"entry", label) => return Some(Line::Entry(label)),
        _ => {}
    }
    if let Some((by, fields)) = split(rest, b'\t')
        && by == By::Site.word().as_bytes()
    {
        return Some(Line::Site(parse_policy(word)?, parse_fields(fields)?));
    }
    let (family, kind, rest) = match LockFamily::from_word(word) {
        Some(family) => split(rest, b'\t').map(|(kind, rest)| (family, kind, rest))?,
        None => (LockFamily::Mutex, word, rest),
    };
    parse_locks(AnyKind::named(family, core::str::from_utf8(kind).ok()?)?, rest)
}

/// What follows the kind.
fn parse_locks<M, R, S>(kind: AnyKind<M, R, S>, rest: &[u8]) -> Option<Line<'_, AnyKind<M, R, S>>> {
    if rest == b"all" {
        return Some(Line::All(kind));
    }
    let (by, fields) = split(rest, b'\t')?;
    let by = match By::from_word(by)? {
        By::Site => return None,
        By::Use if !kind.family().has_first_use() => return None,
        by => by,
    };
    Some(Line::Locks(kind, by, parse_fields(fields)?))
}

fn parse_fields(text: &[u8]) -> Option<Fields<'_>> {
    let fields = Fields(text);
    let is_well_formed = fields.clone().all(|field| field.is_some()) && fields.clone().next().is_some();
    is_well_formed.then_some(fields)
}

fn parse_policy(policy: &[u8]) -> Option<WaitPolicy> {
    core::str::from_utf8(policy).ok()?.parse().ok()
}

fn parse_decimal(digits: &[u8]) -> Option<u64> {
    let is_decimal = digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| is_decimal)?.parse().ok()
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|&byte| byte == at)?;
    Some((&text[..position], &text[position + 1..]))
}

#[cfg(test)]
mod tests;
