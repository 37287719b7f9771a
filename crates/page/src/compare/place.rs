//! The sessions: where, with what and how long they were measured; and the statistics.

use crate::facts::Facts;
use crate::frame::Section;
use crate::name::{code, name, visible};
use crate::number::{factor, percent, time};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::{ResultComparison, SessionSummary};
use unspin_stats::{Direction, effect};

/// The section.
pub fn section(comparison: &ResultComparison) -> Section {
    let sides = [("before", &comparison.before), ("after", &comparison.after)];
    let sessions: Vec<(&str, &SessionSummary)> = sides
        .into_iter()
        .flat_map(|(side, sessions)| sessions.iter().map(move |session| (side, session)))
        .collect();
    let better = match comparison.metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let settings = &comparison.settings;
    let unit = if comparison.sessions() == [1, 1] { "runs, or rounds for gains," } else { "sessions" };
    let facts = Facts::default()
        .with_command("Program", &comparison.command)
        .with("Measured", html! { (visible(&comparison.metric.name)) ", " (better) })
        .with("Control", name(&comparison.control))
        .with("Smallest difference", html! {
            @match comparison.floor {
                Some(floor) => { (effect(floor)) ": no smaller one is ranked" },
                None => { "as small as the " (unit) " show" },
            }
        })
        .with("Statistics", html! {
            "the " (unit) " are resampled; intervals of " (percent(100.0 * settings.confidence)) ", a difference is proven up to p = "
            (settings.alpha) ", corrected for the number of configurations (Holm)"
        })
        .with_build(Some(&comparison.unspin));
    let contents = html! {
        (differences(&sessions))
        (table(&sessions).render())
        (facts.render())
    };
    Section { id: "place", title: "Sessions and machines".into(), contents }
}

/// A property of a session, with its name.
type Property = (&'static str, fn(&SessionSummary) -> String);

const PROPERTIES: [Property; 6] = [
    ("host", |session| session.machine.host.clone()),
    ("processor", |session| session.machine.processor.clone()),
    ("number of CPUs", |session| session.machine.cpus.to_string()),
    ("kernel", |session| session.machine.kernel.clone()),
    ("build of unspin", |session| format!("{} ({})", session.unspin.version, session.unspin.commit)),
    ("command", |session| unspin_report::shell_line(&session.command)),
];

/// What differs between the sessions.
fn differences(sessions: &[(&str, &SessionSummary)]) -> Markup {
    let differs =
        |property: &&Property| sessions.windows(2).any(|pair| property.1(pair[0].1) != property.1(pair[1].1));
    let names: Vec<&str> = PROPERTIES.iter().filter(differs).map(|(name, _)| *name).collect();
    html! {
        p {
            @if names.is_empty() { "All sessions are of one machine, kernel, command and build of unspin." }
            @else { "The sessions differ in " (unspin_report::figures::list(&names, "and")) "." }
        }
    }
}

fn table(sessions: &[(&str, &SessionSummary)]) -> Table {
    let head = [
        "session",
        "side",
        "host",
        "processor",
        "CPUs",
        "kernel",
        "unspin",
        "command",
        "rounds",
        "duration",
        "noise floor",
        "drift",
    ];
    let row = |(side, session): &(&str, &SessionSummary)| {
        let machine = &session.machine;
        TableRow {
            head: name(&session.file),
            cells: vec![
                Cell::text(side),
                Cell::Text(name(&machine.host)),
                Cell::Text(name(&machine.processor)),
                Cell::Number(machine.cpus as f64, machine.cpus.to_string()),
                Cell::Text(name(&machine.kernel)),
                Cell::Text(html! { (name(&session.unspin.version)) " (" (name(&session.unspin.commit)) ")" }),
                Cell::Text(code(&unspin_report::shell_line(&session.command))),
                Cell::Number(f64::from(session.rounds), session.rounds.to_string()),
                Cell::Number(session.elapsed_s, time(session.elapsed_s)),
                Cell::number(session.noise_floor.map(|floor| floor.factor), effect),
                Cell::number(session.drift.map(|drift| drift.ratio), factor),
            ],
        }
    };
    Table {
        caption: "Each session. Noise floor: by how much the control seems to differ from itself. Drift: the second half of the \
                  session against the first, above 1 is better"
            .into(),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: sessions.iter().map(row).collect(),
    }
}
