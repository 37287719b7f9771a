//! Lines of plans, as written and as read.
//!
//! Kinds of read-write locks and of spin locks have names of their own here, so that a kind of another family is unknown.

use super::*;
use proptest::prelude::*;

/// A kind of lock, among those of a family.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Named<const FAMILY: usize>(&'static str);

const NAMES: [&[&str]; 3] =
    [&["adaptive", "fair", "rt-fair", "steal", "system"], &["rw-fair", "system"], &["tas", "system"]];

impl<const FAMILY: usize> fmt::Display for Named<FAMILY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<const FAMILY: usize> FromStr for Named<FAMILY> {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        NAMES[FAMILY].iter().find(|own| **own == name).map(|own| Named(own)).ok_or(())
    }
}

type Kind = AnyKind<Named<0>, Named<1>, Named<2>>;

/// A line of a rule: its family, none for a site; its kind or policy; how it identifies; its places.
type Rule = (Option<LockFamily>, &'static str, By, Vec<(Range<usize>, String)>);

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let place = (0..usize::MAX, 1..4096usize, "/[ -~]{0,20}")
        .prop_map(|(start, length, path)| (start..start.saturating_add(length), path));
    let rule = (0..4usize, 0..6usize, 0..3usize, prop::collection::vec(place, 1..4)).prop_map(
        |(family, kind, by, places)| match LockFamily::ALL.get(family) {
            None => (None, WaitPolicy::ALL[kind % 2].name(), By::Site, places),
            Some(LockFamily::Spin) => {
                (Some(LockFamily::Spin), NAMES[2][kind % NAMES[2].len()], By::ALL[by % 2], places)
            }
            Some(&family) => {
                let names = NAMES[family as usize];
                (Some(family), names[kind % names.len()], By::ALL[by], places)
            }
        },
    );
    prop::collection::vec(rule, 0..6)
}

proptest! {
    #[test]
    fn rules_are_read_as_written(rules in rules()) {
        let fields = |places: &[(Range<usize>, String)]| -> String {
            places.iter().map(|(range, path)| format!("\t{:x}-{:x}@{path}", range.start, range.end)).collect()
        };
        let mut text = format!("{TITLE}\n");
        for (family, word, by, places) in &rules {
            let of = places.iter().map(|(range, path)| Field { range: range.clone(), module: path.as_bytes() });
            let line = match family {
                Some(family) => rule(*family, word, *by, of),
                None => site_rule(word.parse().unwrap(), of),
            };
            let prefix = match family {
                Some(LockFamily::RwLock) => "rwlock\t",
                Some(LockFamily::Spin) => "spin\t",
                Some(LockFamily::Mutex) | None => "",
            };
            prop_assert_eq!(&line, &format!("{prefix}{word}\t{}{}", by.word(), fields(places)));
            text += &format!("{line}\n");
        }
        let mut read = Vec::new();
        let result = parse(text.as_bytes(), |line: Line<'_, Kind>| {
            let again = line.to_string();
            read.push(match line {
                Line::Locks(kind, by, fields) => (Some(kind.family()), kind.to_string(), by, fields),
                Line::Site(policy, fields) => (None, policy.to_string(), By::Site, fields),
                _ => return false,
            });
            text.contains(&again)
        });
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(read.len(), rules.len());
        for (read, rule) in read.into_iter().zip(&rules) {
            let places = read.3.flatten().map(|field| {
                (field.range, String::from_utf8(field.module.to_vec()).unwrap())
            });
            prop_assert_eq!((read.0, read.1.as_str(), read.2, &places.collect()), (rule.0, rule.1, rule.2, &rule.3));
        }
    }
}

#[test]
fn other_lines_are_read_as_written() {
    let lines: [Line<'_, Kind>; 9] = [
        Line::All(AnyKind::Mutex(Named("fair"))),
        Line::All(AnyKind::Mutex(Named("rt-fair"))),
        Line::All(AnyKind::RwLock(Named("rw-fair"))),
        Line::All(AnyKind::Spin(Named("tas"))),
        Line::WakeUp(u64::MAX),
        Line::Waits(WaitPolicy::Poll),
        Line::Waits(WaitPolicy::System),
        Line::ForcePolls,
        Line::ForceReady,
    ];
    for line in lines {
        let text = format!("{TITLE}\n{line}\n");
        let mut read: Option<Line<'_, Kind>> = None;
        let result = parse(text.as_bytes(), |line| read.replace(line).is_none());
        assert_eq!((result, &read), (Ok(()), &Some(line)), "{text}");
    }
}

#[test]
fn every_line_is_read() {
    let text = b"unspin plan 2\nadaptive\tall\nrt-fair\tvariable\t10-1f@/a b\n\
        fair\tinit\t1-2@/x\tA-b@/y@z\nsystem\tuse\t1-2@/x\n\nwakeup\t45000\nwaits\tpoll\n\
        system\tsite\t1-2@/x\t3-4@/x\nforce\tpolls\nforce\tready\n\
        rwlock\trw-fair\tuse\t1-2@/x\nspin\tsystem\tinit\t1-2@/x\nrwlock\tsystem\tall\n";
    let mut lines: Vec<Line<'_, Kind>> = Vec::new();
    assert_eq!(
        parse(text, |line| {
            lines.push(line);
            true
        }),
        Ok(())
    );
    assert_eq!(lines[0], Line::All(AnyKind::Mutex(Named("adaptive"))));
    assert_eq!(lines[4..6], [Line::WakeUp(45_000), Line::Waits(WaitPolicy::Poll)]);
    assert!(matches!(lines[6], Line::Site(WaitPolicy::System, _)));
    assert_eq!(lines[7..9], [Line::ForcePolls, Line::ForceReady]);
    assert!(matches!(lines[9], Line::Locks(AnyKind::RwLock(Named("rw-fair")), By::Use, _)));
    assert!(matches!(lines[10], Line::Locks(AnyKind::Spin(Named("system")), By::Init, _)));
    assert_eq!(lines[11], Line::All(AnyKind::RwLock(Named("system"))));
    let Line::Locks(AnyKind::Mutex(Named("fair")), By::Init, fields) = &lines[2] else { panic!("{lines:?}") };
    let fields: Vec<_> = fields.clone().flatten().collect();
    assert_eq!(fields[1], Field { range: 10..11, module: b"/y@z" });
    assert_eq!((fields.len(), lines.len()), (2, 12));
}

#[test]
fn what_is_wrong_is_said() {
    let parse = |text: &str| parse(text.as_bytes(), |_: Line<'_, Kind>| true);
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
        "rw-fair\tall",
        "rwlock\tall",
        "rwlock\tfair\tall",
        "rwlock\trw-fair",
        "rwlock\trw-fair\tall\t",
        "rwlock\trw-fair\tuse",
        "rwlock\trw-fair\tuse\t",
        "rwlock\trw-fair\tsite\t1-2@/x",
        "rwlock\tpoll\tsite\t1-2@/x",
        "rwlock\trwlock\trw-fair\tall",
        "rwlock\tsite\t1-2@/x",
        "spin\trw-fair\tall",
        "spin\ttas\tvariable\t2-1@/x",
        "spin\ttas\tuse\t1-2@/x",
        "mutex\tfair\tall",
    ] {
        let text = format!("unspin plan 2\nsteal\tall\n{line}\n");
        assert_eq!(parse(&text), Err(Wrong::Line(3)), "{line}");
    }
    assert_eq!(super::parse(b"unspin plan 2\nfair\tall\n", |_: Line<'_, Kind>| false), Err(Wrong::TooLong));
}
