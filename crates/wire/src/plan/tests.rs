//! Lines of plans, as written and as read.

use super::*;
use proptest::prelude::*;

/// A kind of lock.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Adaptive,
    Fair,
    RtFair,
    Steal,
    System,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Adaptive, Kind::Fair, Kind::RtFair, Kind::Steal, Kind::System];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["adaptive", "fair", "rt-fair", "steal", "system"][*self as usize])
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(name: &str) -> Result<Kind, ()> {
        Kind::ALL.into_iter().find(|kind| kind.to_string() == name).ok_or(())
    }
}

/// A line of a rule: its word, how it identifies, its places.
type Rule = (String, By, Vec<(Range<usize>, String)>);

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let place = (0..usize::MAX, 1..4096usize, "/[ -~]{0,20}")
        .prop_map(|(start, length, path)| (start..start.saturating_add(length), path));
    let rule = (0..Kind::ALL.len(), 0..By::ALL.len(), prop::collection::vec(place, 1..4)).prop_map(
        |(kind, by, places)| match By::ALL[by] {
            By::Site => (WaitPolicy::ALL[kind % 2].to_string(), By::Site, places),
            by => (Kind::ALL[kind].to_string(), by, places),
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
        for (word, by, places) in &rules {
            let of = places.iter().map(|(range, path)| Field { range: range.clone(), module: path.as_bytes() });
            let line = rule(word, *by, of);
            prop_assert_eq!(&line, &format!("{word}\t{}{}", by.word(), fields(places)));
            text += &format!("{line}\n");
        }
        let mut read = Vec::new();
        let result = parse(text.as_bytes(), |line: Line<'_, Kind>| {
            let again = line.to_string();
            read.push(match line {
                Line::Mutexes(kind, by, fields) => (kind.to_string(), by, fields),
                Line::Site(policy, fields) => (policy.to_string(), By::Site, fields),
                _ => return false,
            });
            text.contains(&again)
        });
        prop_assert_eq!(result, Ok(()));
        let read: Vec<Rule> = read
            .into_iter()
            .map(|(word, by, fields)| {
                let places = fields.flatten().map(|field| {
                    (field.range, String::from_utf8(field.module.to_vec()).unwrap())
                });
                (word, by, places.collect())
            })
            .collect();
        prop_assert_eq!(read, rules);
    }
}

#[test]
fn other_lines_are_read_as_written() {
    let lines: [Line<'_, Kind>; 7] = [
        Line::All(Kind::Fair),
        Line::All(Kind::RtFair),
        Line::WakeUp(u64::MAX),
        Line::Waits(WaitPolicy::Poll),
        Line::Waits(WaitPolicy::System),
        Line::ForcePolls,
        Line::ForceReady,
    ];
    for line in lines {
        let text = format!("{TITLE}\n{line}\n");
        let mut read = None;
        let result = parse(text.as_bytes(), |line| read.replace(line).is_none());
        assert_eq!((result, &read), (Ok(()), &Some(line)), "{text}");
    }
}

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
    assert_eq!(lines[0], Line::All(Kind::Adaptive));
    assert_eq!(lines[4..6], [Line::WakeUp(45_000), Line::Waits(WaitPolicy::Poll)]);
    assert!(matches!(lines[6], Line::Site(WaitPolicy::System, _)));
    assert_eq!(lines[7..], [Line::ForcePolls, Line::ForceReady]);
    let Line::Mutexes(Kind::Fair, By::Init, fields) = &lines[2] else { panic!("{lines:?}") };
    let fields: Vec<_> = fields.clone().flatten().collect();
    assert_eq!(fields[1], Field { range: 10..11, module: b"/y@z" });
    assert_eq!((fields.len(), lines.len()), (2, 9));
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
    ] {
        let text = format!("unspin plan 2\nsteal\tall\n{line}\n");
        assert_eq!(parse(&text), Err(Wrong::Line(3)), "{line}");
    }
    assert_eq!(super::parse(b"unspin plan 2\nfair\tall\n", |_: Line<'_, Kind>| false), Err(Wrong::TooLong));
}
