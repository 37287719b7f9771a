//! The trees of waiting: for locks, and for other objects.

use super::icicle::{Icicle, Node};
use super::sides::{Run, Sides};
use maud::{Markup, html};
use unspin_report::{Lock, MeterReport, Wait};

/// The pictures of waits for locks; nothing if no thread waited for one.
pub fn for_locks(sides: &Sides<'_>) -> Markup {
    let pictures = of_runs(sides, "locks", tree_of_locks, "lock, kind of use, call site");
    titled("Flame graph of waiting for locks", pictures)
}

/// The pictures of other waits; nothing if there were none.
pub fn for_others(sides: &Sides<'_>) -> Markup {
    let pictures = of_runs(sides, "waits", tree_of_others, "kind of wait, object, call site");
    titled("Flame graph of other waits", pictures)
}

fn titled(title: &str, pictures: Option<Markup>) -> Markup {
    html! { @if let Some(pictures) = pictures { h3 { (title) } (pictures) } }
}

/// A picture for each run with time, all on one scale; none if no run has time.
fn of_runs(
    sides: &Sides<'_>,
    id: &str,
    tree: fn(&MeterReport) -> Node,
    levels: &'static str,
) -> Option<Markup> {
    let trees: Vec<(&Run<'_>, Node)> = sides.runs().iter().map(|run| (run, tree(run.report))).collect();
    let longest = trees.iter().map(|(_, root)| root.seconds).fold(0.0, f64::max);
    let picture = |(run, root): &(&Run<'_>, Node)| {
        let title = format!("Time waited for {id} {}", run.label).trim_end().to_owned();
        html! {
            (run.heading())
            @if root.seconds == 0.0 {
                p { "No thread waited." }
            } @else {
                (Icicle { id: format!("flame-{id}{}", run.label), title, levels, root, longest }.render())
            }
        }
    };
    (longest > 0.0).then(|| {
        html! {
            @if sides.is_comparison() { p { "Both runs are drawn on one scale." } }
            @for one in &trees { (picture(one)) }
        }
    })
}

fn tree_of_locks(report: &MeterReport) -> Node {
    Node::of("all waits for locks", report.locks.iter().map(lock))
}

/// A level for the kinds of use only where a lock has several.
fn lock(lock: &Lock) -> Node {
    let uses: Vec<Node> = lock
        .uses
        .iter()
        .map(|one| {
            let kind = one.kind.mark().unwrap_or(one.kind.noun());
            Node::of(kind, one.callers.iter().map(|caller| Node::new(&caller.row.name, caller.row.lost)))
        })
        .collect();
    let mut all = Node::of(lock.label(), uses);
    if let [_] = &all.parts[..] {
        all.parts = all.parts.remove(0).parts;
    }
    all
}

fn tree_of_others(report: &MeterReport) -> Node {
    let mut kinds: Vec<(&str, Vec<Node>)> = Vec::new();
    for wait in report.waits.iter().filter(|wait| !wait.used_as_lock) {
        let kind = wait.kind.noun();
        let node = object(wait);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, nodes)) => nodes.push(node),
            None => kinds.push((kind, vec![node])),
        }
    }
    Node::of("all other waits", kinds.into_iter().map(|(kind, nodes)| Node::of(kind, nodes)))
}

/// A wait that is known by its call site has no level for it.
fn object(wait: &Wait) -> Node {
    match wait.callers.len() {
        1 if wait.callers[0].row.name == wait.row.name => Node::new(&wait.row.name, wait.row.waited),
        _ => Node::of(
            &wait.row.name,
            wait.callers.iter().map(|caller| Node::new(&caller.row.name, caller.row.waited)),
        ),
    }
}
