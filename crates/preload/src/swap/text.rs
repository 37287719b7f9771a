//! The text of a compiled plan, line by line. `unspin` itself writes it. Errors in it are reported nevertheless.
//!
//! ```text
//! unspin plan 2
//! KIND<tab>all
//! KIND<tab>variable<tab>START-END@MODULE
//! KIND<tab>init<tab>START-END@MODULE<tab>START-END@MODULE…
//! KIND<tab>use<tab>START-END@MODULE…
//! wakeup<tab>NANOSECONDS
//! waits<tab>poll
//! waits<tab>system
//! poll<tab>site<tab>START-END@MODULE<tab>START-END@MODULE…
//! system<tab>site<tab>START-END@MODULE…
//! force<tab>polls
//! force<tab>ready
//! ```
//!
//! `wakeup` is the cost of a wake-up on this machine. `force<tab>polls` makes every wait poll, whatever was
//! learnt; tests use it. `force<tab>ready` makes every timed call count as one that found its answer ready, however long it
//! took; counts of instructions use it, because calls take longer under the tool that counts.
//!
//! Addresses are link-time addresses of the module, in hexadecimal; the end is exclusive. A module is an absolute path.

use core::ops::Range;
use unspin_locks::LockKind;

/// First line of a plan of this version.
const TITLE: &[u8] = b"unspin plan 2";

/// The contents of one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line<'text> {
    /// The kind for all mutexes to which no other line applies.
    All(LockKind),
    /// The kind for the mutexes that the line describes.
    Some(LockKind, Subject, Fields<'text>),
    /// The cost of a wake-up, in nanoseconds.
    WakeUp(u64),
    /// The policy of the waits to which no other line applies.
    Waits(Waits),
    /// The policy of the waits of a call site.
    Site(Waits, Fields<'text>),
    /// Every wait polls, whatever was learnt.
    ForcePolls,
    /// Every timed call has found its answer ready, however long it took.
    ForceReady,
}

/// What a thread does when it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// The thread sleeps at once, as with libc: the control.
    System,
    /// The thread polls first, where that pays.
    Poll,
}

/// How a rule recognises a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// By its address: the mutex lies in this range.
    Variable,
    /// By the calls that initialise it.
    Initialised,
    /// By the calls of its first use.
    Used,
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
        Some(range_in(field))
    }
}

fn range_in(field: &[u8]) -> Option<Field<'_>> {
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
    /// This line, counted from 1, is not valid.
    Line(u32),
    /// The plan has more rules, call sites, ranges or modules than there is room for.
    TooLong,
}

/// Calls `each` with every line. `each` returns whether there was room.
pub fn parse<'text>(text: &'text [u8], mut each: impl FnMut(Line<'text>) -> bool) -> Result<(), Wrong> {
    let mut lines = text.split(|&byte| byte == b'\n');
    if lines.next() != Some(TITLE) {
        return Err(Wrong::Title);
    }
    for (line, number) in lines.zip(2..).filter(|(line, _)| !line.is_empty()) {
        if !each(line_in(line).ok_or(Wrong::Line(number))?) {
            return Err(Wrong::TooLong);
        }
    }
    Ok(())
}

fn line_in(line: &[u8]) -> Option<Line<'_>> {
    let (kind, rest) = split(line, b'\t')?;
    match (kind, rest) {
        (b"force", b"polls") => return Some(Line::ForcePolls),
        (b"force", b"ready") => return Some(Line::ForceReady),
        (b"wakeup", number) => return decimal(number).map(Line::WakeUp),
        (b"waits", policy) => return waits(policy).map(Line::Waits),
        _ => {}
    }
    if let Some(sites) = rest.strip_prefix(b"site\t") {
        return Some(Line::Site(waits(kind)?, well_formed(Fields(sites))?));
    }
    let kind = core::str::from_utf8(kind).ok()?.parse().ok()?;
    if rest == b"all" {
        return Some(Line::All(kind));
    }
    let (subject, fields) = split(rest, b'\t')?;
    let subject = match subject {
        b"variable" => Subject::Variable,
        b"init" => Subject::Initialised,
        b"use" => Subject::Used,
        _ => return None,
    };
    Some(Line::Some(kind, subject, well_formed(Fields(fields))?))
}

fn well_formed(fields: Fields<'_>) -> Option<Fields<'_>> {
    let is_well_formed = fields.clone().all(|field| field.is_some()) && fields.clone().next().is_some();
    is_well_formed.then_some(fields)
}

fn waits(policy: &[u8]) -> Option<Waits> {
    match policy {
        b"poll" => Some(Waits::Poll),
        b"system" => Some(Waits::System),
        _ => None,
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_decimal = digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| is_decimal)?.parse().ok()
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|&byte| byte == at)?;
    Some((&text[..position], &text[position + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let text = b"unspin plan 2\nadaptive\tall\nrt-fair\tvariable\t10-1f@/a b\n\
            fair\tinit\t1-2@/x\tA-b@/y@z\nsystem\tuse\t1-2@/x\n\nwakeup\t45000\nwaits\tpoll\n\
            system\tsite\t1-2@/x\t3-4@/x\nforce\tpolls\nforce\tready\n";
        let mut lines = Vec::new();
        assert_eq!(
            parse(text, |line| {
                lines.push(line);
                true
            }),
            Ok(())
        );
        assert_eq!(lines[0], Line::All(LockKind::Adaptive));
        assert_eq!(lines[4..6], [Line::WakeUp(45_000), Line::Waits(Waits::Poll)]);
        assert!(matches!(lines[6], Line::Site(Waits::System, _)));
        assert_eq!(lines[7..], [Line::ForcePolls, Line::ForceReady]);
        let Line::Some(LockKind::Fair, Subject::Initialised, fields) = &lines[2] else { panic!("{lines:?}") };
        let fields: Vec<_> = fields.clone().flatten().collect();
        assert_eq!(fields[1], Field { range: 10..11, module: b"/y@z" });
        assert_eq!((fields.len(), lines.len()), (2, 9));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let parse = |text: &str| parse(text.as_bytes(), |_| true);
        assert_eq!(parse(""), Err(Wrong::Title));
        assert_eq!(parse("unspin plan 3\nfair\tall\n"), Err(Wrong::Title));
        for line in [
            "fare\tall",
            "fair all",
            "fair",
            "fair\tvariable",
            "fair\tvariable\t",
            "fair\tvariable\t2-1@/x",
            "fair\tvariable\t+1-2@/x",
            "fair\tvariable\t1-2@x",
            "fair\tvariable\t1-2",
            "fair\tinit\t1-2@/x\t3",
            "fair\tsomewhere\t1-2@/x",
            "waits\tspin",
            "force\tsleeps",
            "wakeup\t-1",
            "wakeup\t",
            "poll\tsite\t",
            "fair\tsite\t1-2@/x",
        ] {
            let text = format!("unspin plan 2\nsteal\tall\n{line}\n");
            assert_eq!(parse(&text), Err(Wrong::Line(3)), "{line}");
        }
        assert_eq!(super::parse(b"unspin plan 2\nfair\tall\n", |_| false), Err(Wrong::TooLong));
    }
}
