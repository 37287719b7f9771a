//! What the lenses of the kernel's events saw: a table of each, and its stacks as nested rectangles.

use crate::locks::{ColumnHead, Grid, GridCell, GridRow, Icicle, Node};
use crate::name::{code, name};
use crate::number::time;
use crate::prose::prose;
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_results::{StoredFutexes, StoredKernel, StoredLenses, StoredNext, StoredOffCpu, StoredThreadTime};

const LOST: ColumnHead =
    ColumnHead { title: "Waited", meaning: "time that threads waited, summed over all threads" };
const WAITS: ColumnHead = ColumnHead { title: "Waits", meaning: "how often" };
const MEAN: ColumnHead = ColumnHead { title: "Mean", meaning: "" };
const LONGEST: ColumnHead = ColumnHead { title: "Longest", meaning: "" };

/// The headings and contents of the sections.
pub fn sections(lenses: &StoredLenses) -> Vec<(&'static str, &'static str, Markup)> {
    let kernel = lenses.kernel.as_ref().map(|lens| ("kernel", "Locks of the kernel", kernel(lens)));
    let futex = lenses.futex.as_ref().map(|lens| ("futex", "Waits at futexes", futexes(lens)));
    let off_cpu = lenses.off_cpu.as_ref().map(|lens| ("off-cpu", "Time off the CPUs", off_cpu(lens)));
    let total = lenses
        .thread_time
        .as_ref()
        .map(|total| ("thread-time", "Where the threads' time went, by all lenses", thread_time(total)));
    [total, off_cpu, futex, kernel].into_iter().flatten().collect()
}

/// The finding in a sentence, with what to do next: of the lens that has seen most.
pub fn lead(lenses: &StoredLenses) -> Option<(String, StoredNext)> {
    if let Some(off_cpu) = &lenses.off_cpu {
        let (blocked, all) = (off_cpu.blocked, off_cpu.thread_seconds);
        let first = off_cpu.reasons.first();
        let most = first.map_or(String::new(), |reason| {
            format!(", {} of it for: {}", time(reason.blocked), reason.reason)
        });
        let share = if all > 0.0 { blocked / all } else { 0.0 };
        let sentence = format!(
            "{} threads were blocked for {} of their {} ({}){most}.",
            off_cpu.threads,
            time(blocked),
            time(all),
            Percent::TwoDigits.of(share)
        );
        return Some((sentence, first.map(|reason| reason.next.clone()).unwrap_or_default()));
    }
    if let Some(futex) = &lenses.futex {
        let first = futex.futexes.first();
        let most = first
            .map_or(String::new(), |one| format!(", {} of it at {}", time(one.row.waited), one.row.name));
        let sentence = format!("Threads waited at futexes for {}{most}.", time(futex.total.waited));
        return Some((sentence, first.map(|one| one.next.clone()).unwrap_or_default()));
    }
    let kernel = lenses.kernel.as_ref()?;
    let first = kernel.locks.first();
    let most =
        first.map_or(String::new(), |lock| format!(", {} of it for {}", time(lock.row.lost), lock.row.name));
    let sentence = format!("Threads waited for locks of the kernel for {}{most}.", time(kernel.total.lost));
    Some((sentence, first.map(|lock| lock.next.clone()).unwrap_or_default()))
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What to do next about the rows of a table.
#[derive(Default)]
struct Advice<'n>(Vec<(&'n StoredNext, &'n str)>);

impl<'n> Advice<'n> {
    /// The name of a row, and what to do next about it; if a row before has the same advice, which one that is.
    fn head(&mut self, label: &'n str, kind: &str, next: &'n StoredNext) -> Markup {
        let before = self.0.iter().find(|(known, _)| *known == next).map(|(_, label)| *label);
        if before.is_none() {
            self.0.push((next, label));
        }
        html! {
            (name(label))
            @if !kind.is_empty() { span.soft { " " (name(kind)) } }
            @match (before, next.next.is_some()) {
                (Some(before), true) => { br; span.soft { "→ as for " (name(before)) } },
                _ => (advice(next)),
            }
        }
    }
}

fn advice(next: &StoredNext) -> Markup {
    html! {
        @if let Some(text) = &next.next { br; span.soft { "→ " (prose(text)) } }
        @if let Some(command) = &next.command { br; (code(command)) }
    }
}

/// Whose waits a lens saw.
fn target(target: &str) -> &str {
    match target {
        "command" => "the program and its children",
        "process" => "the process",
        "system" => "the whole machine",
        other => other,
    }
}

fn row(head: Markup, longest: f64, (waited, waits, mean, max): (f64, u64, Option<f64>, f64)) -> GridRow {
    let mean = mean.unwrap_or(share(waited, waits as f64));
    GridRow {
        head,
        lines: vec![Some(vec![
            GridCell::Bar(waited, time(waited), share(waited, longest)),
            GridCell::Number(waits as f64, waits.to_string()),
            GridCell::Number(mean, time(mean)),
            GridCell::Number(max, time(max)),
        ])],
    }
}

fn grid(caption: &str, first: &'static str, rows_are: &'static str, rows: Vec<GridRow>) -> Markup {
    if rows.is_empty() {
        return html! { p { "No wait was seen." } };
    }
    let columns = vec![ColumnHead { title: first, meaning: "" }, LOST, WAITS, MEAN, LONGEST];
    Grid { caption: caption.into(), rows_are, columns, rows }.render_alone()
}

fn missing(lost: u64, unreadable: u64) -> Markup {
    html! {
        @if lost > 0 { p { (lost) " records were lost, because a buffer was full: the true figures are higher. Enlarge it with --buffer." } }
        @if unreadable > 0 { p { (unreadable) " records could not be read." } }
    }
}

fn flame(id: &str, title: &str, levels: &'static str, mut root: Node) -> Markup {
    root.sort();
    if root.seconds == 0.0 || root.parts.iter().all(|part| part.parts.is_empty()) {
        return html! {};
    }
    let longest = root.seconds;
    html! {
        h3 { (title) }
        (Icicle { id: id.into(), title: title.into(), levels, root: &root, longest }.render())
    }
}

/// A path from a first name over the frames, the outermost first.
fn path<'p>(first: &'p str, frames: &'p [String]) -> impl Iterator<Item = &'p str> {
    std::iter::once(first).chain(frames.iter().rev().map(String::as_str))
}

fn kernel(lens: &StoredKernel) -> Markup {
    let longest = lens.locks.first().map_or(0.0, |lock| lock.row.lost);
    let mut seen = Advice::default();
    let rows = lens.locks.iter().map(|lock| {
        let r = &lock.row;
        row(
            seen.head(&r.name, &lock.kind, &lock.next),
            longest,
            (r.lost, r.waits, Some(r.wait_mean), r.wait_max),
        )
    });
    let mut root = Node::new("locks of the kernel", 0.0);
    for lock in &lens.locks {
        for stack in lock.uses.iter().flat_map(|one| &one.callers).flat_map(|caller| &caller.stacks) {
            root.add(path(&lock.row.name, &stack.frames), stack.waited);
        }
    }
    html! {
        p { "Waits of: " (name(target(&lens.target))) ". All together: " (time(lens.total.lost)) " in " (lens.total.waits) " waits." }
        (grid("Locks of the kernel, most time first", "Lock", "locks", rows.collect()))
        (missing(lens.lost_records, lens.unreadable_records))
        (flame("kernel-flame", "Flame graph of waits for locks of the kernel", "lock, and the functions that waited, from the outermost on", root))
    }
}

fn futexes(lens: &StoredFutexes) -> Markup {
    let longest = lens.futexes.first().map_or(0.0, |futex| futex.row.waited);
    let mut seen = Advice::default();
    let rows = lens.futexes.iter().map(|futex| {
        let (r, process) = (&futex.row, futex.process.as_deref().unwrap_or(""));
        row(
            seen.head(&r.name, process, &futex.next),
            longest,
            (r.waited, r.waits, Some(r.wait_mean), r.wait_max),
        )
    });
    let mut root = Node::new("futexes", 0.0);
    for futex in &lens.futexes {
        for stack in futex.callers.iter().flat_map(|caller| &caller.stacks) {
            root.add(path(&futex.row.name, &stack.frames), stack.waited);
        }
    }
    html! {
        p { "Waits of: " (name(target(&lens.target))) ". All together: " (time(lens.total.waited)) " in " (lens.total.waits) " waits." }
        (grid("Futexes, most time first", "Futex", "futexes", rows.collect()))
        (missing(lens.lost_records, lens.unreadable_records))
        (flame("futex-flame", "Flame graph of waits at futexes", "futex, and the functions that waited, from the outermost on", root))
    }
}

fn off_cpu(lens: &StoredOffCpu) -> Markup {
    let longest = lens.reasons.first().map_or(0.0, |reason| reason.blocked);
    let mut seen = Advice::default();
    let rows = lens.reasons.iter().map(|reason| {
        row(
            seen.head(&reason.reason, "", &reason.next),
            longest,
            (reason.blocked, reason.count, None, reason.max),
        )
    });
    let mut root = Node::new("blocked", 0.0);
    for reason in &lens.reasons {
        for caller in &reason.callers {
            match &caller.frames[..] {
                [] => root.add([reason.reason.as_str(), caller.name.as_str()], caller.blocked),
                frames => root.add(path(&reason.reason, frames), caller.blocked),
            }
        }
    }
    let part = |seconds: f64| {
        format!("{} ({})", time(seconds), Percent::TwoDigits.of(share(seconds, lens.thread_seconds)))
    };
    html! {
        p {
            "Threads of: " (name(target(&lens.target))) ". " (lens.threads) " threads lived for " (time(lens.thread_seconds)) " together: " (part(lens.on_cpu))
            " on a CPU, " (part(lens.runnable)) " ready to run without a CPU, " (part(lens.blocked)) " blocked."
        }
        @for (what, next) in [("On CPUs", &lens.on_cpu_next), ("Without a CPU", &lens.runnable_next)] {
            @if let Some(next) = next { p { (what) (advice(next)) } }
        }
        (grid("Why threads were blocked, most time first", "Reason", "reasons", rows.collect()))
        (missing(lens.lost_records, lens.unreadable_records))
        (flame("off-cpu-flame", "Flame graph of blocked threads", "reason, and the functions that blocked, from the outermost on", root))
    }
}

fn thread_time(total: &StoredThreadTime) -> Markup {
    let longest = total.parts.iter().map(|part| part.seconds).fold(0.0, f64::max);
    let rows = total.parts.iter().map(|part| GridRow {
        head: html! { (name(&part.name)) },
        lines: vec![Some(vec![
            GridCell::Bar(part.seconds, time(part.seconds), share(part.seconds, longest)),
            match total.thread_seconds {
                Some(all) => GridCell::Number(
                    share(part.seconds, all),
                    Percent::TwoDigits.of(share(part.seconds, all)),
                ),
                None => GridCell::Unknown,
            },
            GridCell::Text(html! { (name(&part.lock)) }),
        ])],
    });
    let columns = vec![
        ColumnHead { title: "Part", meaning: "" },
        ColumnHead { title: "Time", meaning: "" },
        ColumnHead {
            title: "Share",
            meaning: "share of the time of all threads; not known without the off-cpu lens",
        },
        ColumnHead { title: "For locks", meaning: "whether it is time spent for locks" },
    ];
    Grid { caption: "Parts of the threads' time".into(), rows_are: "parts", columns, rows: rows.collect() }
        .render_alone()
}
