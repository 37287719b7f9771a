//! The page of `unspin meter` and of `unspin report`.

use crate::facts::Facts;
use crate::frame::{Frame, Section};
use crate::lenses;
use crate::locks::Focus;
use crate::name::{code, name, visible};
use crate::number::time;
use crate::prose::prose;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_report::{LockInUse, MeterReport, Statement, describe_disturbance, shell_line};
use unspin_results::StoredMeter;

/// Rows of a list.
const ROWS: usize = 20;

/// The page.
pub fn frame(meter: &StoredMeter) -> Frame {
    let report = meter.report.as_ref();
    let command = command(meter);
    let statements = report.map_or(Vec::new(), MeterReport::statements);
    let locks = report.filter(|report| has_locks_or_waits(report));
    let locks = locks
        .map(|report| ("locks", "Locks and waits", crate::locks::section(report, None, &Focus::default())));
    let at_end = report.and_then(|report| Some(("end", "At the end of the recording", at_the_end(report)?)));
    let rest = statements.get(1..).filter(|rest| !rest.is_empty());
    let more = rest.map(|rest| ("more", "Also found", html! { @for one in rest { (paragraph(one)) } }));
    let processes = report.filter(|report| report.processes.len() > 1);
    let processes = processes.map(|report| ("processes", "Processes", processes_of(report)));
    let sections = more
        .into_iter()
        .chain(locks)
        .chain(lenses::sections(&meter.lenses))
        .chain(at_end)
        .chain(processes)
        .chain([("measured", "How this was measured", measured(meter))]);
    Frame {
        title: format!("unspin meter: {}", shell_line(command)).trim_end_matches([':', ' ']).to_owned(),
        header: header(meter, command, statements.first()),
        sections: sections
            .map(|(id, title, contents)| Section { id, title: title.into(), contents })
            .collect(),
        footer: html! {},
    }
}

/// The command of the program: as it was given, or that of its first process.
fn command(meter: &StoredMeter) -> &[String] {
    let Some(report) = &meter.report else { return &meter.command };
    match &report.invocation.command[..] {
        [] => report.processes.first().map_or(&[], |process| &process.command),
        given => given,
    }
}

/// Whether there is anything to show below the heading: rows, rows that filters left out, or the time of threads.
fn has_locks_or_waits(report: &MeterReport) -> bool {
    let is_filtered = report.left_out.locks > 0 || report.left_out.waits > 0;
    !report.locks.is_empty() || !report.waits.is_empty() || is_filtered || report.blocked.lived > 0.0
}

fn header(meter: &StoredMeter, command: &[String], first: Option<&Statement>) -> Markup {
    html! {
        h1 { "Locks and waits" @if !command.is_empty() { " of " (code(&shell_line(command))) } }
        @match (first, &meter.report) {
            (Some(statement), _) => {
                @let (first, rest) = split_first_sentence(&statement.sentences[0]);
                p.lead { (prose(first)) }
                @if !rest.is_empty() { p { (prose(rest)) } }
                @for sentence in &statement.sentences[1..] { p { (prose(sentence)) } }
                (commands(statement))
            },
            (None, Some(report)) => p.lead { (quiet(report)) },
            (None, None) => (lens_lead(meter)),
        }
        @if let Some(note) = meter.report.as_ref().and_then(MeterReport::note_on_proof) { p { (prose(&note)) } }
        @if let Some(report) = &meter.report {
            p.soft { "Recorded " (prose(&report.extent())) "." }
            @let says_more = report.disturbance.is_none() || report.is_disturbed();
            @if let Some(sentence) = report.disturbance_sentence().filter(|_| says_more) { p { (prose(&sentence)) } }
        }
        @for note in &meter.notes { p { (prose(note)) } }
        p.soft {
            "unspin records which locks and other waits cost the threads of a program time, and where in the program. The program itself is "
            "not changed."
        }
    }
}

/// The first sentence, and the others.
fn split_first_sentence(text: &str) -> (&str, &str) {
    let begins = |end: &usize| text[end + 2..].starts_with(|c: char| c.is_uppercase());
    let end = text.match_indices(". ").map(|(end, _)| end).find(begins);
    end.map_or((text, ""), |end| (&text[..=end], &text[end + 2..]))
}

/// What is said of a program without a finding.
fn quiet(report: &MeterReport) -> &'static str {
    if report.locks.is_empty() && report.waits.is_empty() {
        "No lock and no wait was recorded."
    } else if report.locks.is_empty() {
        "No lock was recorded; what threads waited for is below."
    } else if !report.has_times() {
        "The locks were counted only, so how much time they cost is not known."
    } else {
        "No thread lost time for a lock."
    }
}

fn lens_lead(meter: &StoredMeter) -> Markup {
    match lenses::lead(&meter.lenses) {
        Some((sentence, next)) => html! {
            p.lead { (prose(&sentence)) }
            @if let Some(text) = &next.next { p { "Next: " (prose(text)) } }
            @if let Some(command) = &next.command { pre { code { (visible(command)) } } }
        },
        None => html! { p.lead { "Nothing was observed." } },
    }
}

fn paragraph(statement: &Statement) -> Markup {
    html! {
        @for sentence in &statement.sentences { p { (prose(sentence)) } }
        (commands(statement))
    }
}

fn commands(statement: &Statement) -> Markup {
    html! {
        @for (label, command) in &statement.commands {
            p.soft { (label) }
            pre { code { (visible(command)) } }
        }
    }
}

/// Locks that are held, wanted or left locked; none if there are none.
fn at_the_end(report: &MeterReport) -> Option<Markup> {
    let lists = [
        ("Waited for at the end", &report.waiting),
        ("Held at the end", &report.held),
        ("Still held when their process ended", &report.left_locked),
    ];
    let any = lists.iter().any(|(_, locks)| !locks.is_empty());
    any.then(|| {
        html! {
            @for (title, locks) in lists {
                @if !locks.is_empty() {
                    (in_use(report, title, locks).render())
                    @if locks.len() > ROWS { p.soft { "and " (locks.len() - ROWS) " more." } }
                }
            }
        }
    })
}

fn in_use(report: &MeterReport, title: &str, locks: &[LockInUse]) -> Table {
    let rows = locks.iter().take(ROWS).map(|lock| {
        let lasted = lock.since.map(|since| (report.seconds - since).max(0.0));
        let mark = lock.kind.mark().unwrap_or("");
        TableRow {
            head: html! { (name(&lock.lock)) @if !mark.is_empty() { " " (mark) } },
            cells: vec![
                Cell::text(format!("process {}, thread {}", lock.pid, lock.tid)),
                Cell::Text(name(&lock.caller)),
                Cell::number(lasted, time),
            ],
        }
    });
    Table {
        caption: title.into(),
        head: ["Lock", "Thread", "Call site", "For"].map(|head| html! { (head) }).into(),
        rows: rows.collect(),
    }
}

fn processes_of(report: &MeterReport) -> Markup {
    let rows = report.processes.iter().take(ROWS).map(|process| TableRow {
        head: html! { (process.pid) },
        cells: vec![
            Cell::Number(process.since, time(process.since)),
            Cell::Number(process.threads as f64, process.threads.to_string()),
            Cell::Text(code(&cut(&shell_line(&process.command)))),
        ],
    });
    let table = Table {
        caption: "Processes in the order of their first use of a lock".into(),
        head: ["Process", "From", "Threads", "Command"].map(|head| html! { (head) }).into(),
        rows: rows.collect(),
    };
    html! {
        (table.render())
        @if report.processes.len() > ROWS { p.soft { "and " (report.processes.len() - ROWS) " more." } }
    }
}

/// The first 200 characters of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn measured(meter: &StoredMeter) -> Markup {
    let mut facts = Facts::default()
        .with_repeat(meter.repeat.as_ref())
        .with_command("Program", command(meter))
        .with_machine(meter.machine.as_ref())
        .with_build(meter.unspin.as_ref())
        .with_start(meter.started)
        .with("Lasted", html! { (time(meter.seconds)) " on " (meter.cpus) " CPUs" });
    if let Some(report) = &meter.report {
        if let Some(cpu_seconds) = report.cpu_seconds {
            facts = facts.with("CPU time", html! { (time(cpu_seconds)) " of all threads" });
        }
        let disturbance = report.disturbance.as_ref();
        let said = disturbance.map_or("not measured: the run was too short".into(), describe_disturbance);
        facts = facts.with("Disturbance", html! { (said) });
    }
    html! {
        (facts.render())
        @if let Some(report) = &meter.report { (counted(report)) }
    }
}

/// What was counted beside the rows, and what is missing.
fn counted(report: &MeterReport) -> Markup {
    let missing = [
        (report.unrecorded.overflowed, "samples for which the recording had no room"),
        (report.unrecorded.threads, "threads for which no table was left, with all they did"),
    ];
    let missing: Vec<_> = missing.into_iter().filter(|(n, _)| *n > 0).collect();
    html! {
        @if !report.events.is_empty() {
            h3 { "Counted beside" }
            ul { @for event in &report.events { li { (event.count) " " (event.event.name()) } } }
        }
        @if !missing.is_empty() {
            h3 { "Not recorded" }
            p { "The true figures are higher." }
            ul { @for (n, what) in missing { li { (n) " " (what) } } }
        }
    }
}
