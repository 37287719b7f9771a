//! How long holds and waits were: small pictures on one axis of time.

use super::distribution::{Distribution, ends, table_head};
use super::sides::{Run, Sides};
use crate::name::short;
use crate::picture::{NumbersShown, Picture};
use crate::prose::with_units;
use crate::svg::text;
use crate::table::Table;
use maud::{Markup, html};
use unspin_report::{Lock, Times};

/// Locks that are drawn.
const LOCKS: usize = 6;

const WIDTH: f64 = 760.0;
/// Width of the plot of one histogram.
const PLOT: f64 = 352.0;
/// Where the two columns begin.
const COLUMNS: [f64; 2] = [4.0, 404.0];
/// Height of a lock with its name and axis.
const ROW: f64 = 116.0;
const HEAD: f64 = 20.0;

/// What a histogram counts, and where a lock has it.
type Kind = (&'static str, fn(&Lock) -> &Times);
const KINDS: [Kind; 2] = [("holds", |lock| &lock.holds), ("waits", |lock| &lock.waits)];

/// The name of a lock, its holds and its waits.
type Shown<'r> = (String, Vec<Distribution<'r>>);

/// The pictures of the locks with most time lost; nothing if no thread waited for a lock, or no times are known.
pub fn render(sides: &Sides<'_>) -> Markup {
    let has_times = |same: &[Option<&Lock>]| same.iter().flatten().any(|lock| lock.waits.count() > 0);
    let all: Vec<_> = sides.locks().into_iter().filter(|(_, same)| has_times(same)).collect();
    let shown: Vec<Shown<'_>> =
        all.iter().take(LOCKS).map(|(label, same)| (label.clone(), distributions(same))).collect();
    let Some(axis) = ends(shown.iter().flat_map(|(_, kinds)| kinds)) else { return html! {} };
    let picture = Picture {
        id: "histograms-picture".into(),
        title: "How long holds and waits were".into(),
        description: shown
            .iter()
            .map(|(label, kinds)| description(sides.runs(), label, kinds))
            .collect::<Vec<_>>()
            .join(" "),
        how_to_read: html! {
            "Left: how long the lock was held. Right: how long threads waited for it. Each bar is a range of times that is twice as long "
            "as the one before; its height is the share of the holds or waits in it, and the highest bar of a plot has the full height. "
            @if sides.is_comparison() { "Filled: before. Outlined: after. " }
            "Waits far longer than the holds are waits for threads to be woken, or for many holds."
        },
        width: WIDTH,
        height: ROW * shown.len() as f64,
        drawing: html! {
            @for (place, (label, kinds)) in shown.iter().enumerate() {
                @let top = ROW * place as f64;
                (text("", (COLUMNS[0], top + 13.0), &short(label, 100)))
                @for (left, one) in COLUMNS.iter().zip(kinds) {
                    (one.plot(sides.runs(), (*left, top + HEAD), PLOT, axis))
                }
            }
        },
        numbers: table(sides.runs(), &shown),
        numbers_shown: NumbersShown::OnRequest,
    };
    html! {
        h3 { "How long locks were held and waited for" }
        @if all.len() > shown.len() {
            p.soft { "The " (shown.len()) " locks with most time lost, of " (all.len()) " for which threads waited." }
        }
        (picture.render())
    }
}

fn distributions<'r>(same: &[Option<&'r Lock>]) -> Vec<Distribution<'r>> {
    let of =
        |(kind, times): Kind| Distribution { kind, times: same.iter().map(|lock| lock.map(times)).collect() };
    KINDS.map(of).into()
}

fn description(runs: &[Run<'_>], label: &str, kinds: &[Distribution<'_>]) -> String {
    let of = |(index, run): (usize, &Run<'_>)| {
        let parts = kinds.iter().map(|one| Some(format!("{} {}", one.kind, summary(one.times[index]?))));
        let parts = parts.collect::<Option<Vec<String>>>()?;
        Some(format!("{} {}", run.label, parts.join("; ")).trim().to_owned())
    };
    format!("{label}: {}.", runs.iter().enumerate().filter_map(of).collect::<Vec<_>>().join("; "))
}

/// Median and tail in a few words.
pub fn summary(times: &Times) -> String {
    let text = times.summary();
    if text.is_empty() { "not timed".into() } else { with_units(&text) }
}

fn table(runs: &[Run<'_>], shown: &[Shown<'_>]) -> Table {
    let rows = shown.iter().flat_map(|(label, kinds)| kinds.iter().flat_map(move |one| one.rows(label)));
    Table {
        caption: "Holds and waits by their length".into(),
        head: table_head("Lock", runs),
        rows: rows.collect(),
    }
}
