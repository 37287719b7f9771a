//! How long the judged waits were, before and after: the histogram of each call site.

use super::distribution::{Distribution, HEIGHT, ends, table_head};
use super::focus::Focus;
use super::histograms::summary;
use super::sides::{Run, Sides};
use crate::name::{name, short};
use crate::number::{data, time};
use crate::phone::{PHONE_WIDTH, PhoneDrawing, with_phone};
use crate::picture::{NumbersShown, Picture};
use crate::svg::text;
use crate::table::Table;
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_report::{Times, Wait, WaitRow};

/// Call sites that are drawn.
const SITES: usize = 6;
const WIDTH: f64 = 760.0;
const PHONE_LETTERS: usize = 44;
const HEAD: f64 = 20.0;

/// The waits of one kind at a call site, in each run.
struct Site<'r> {
    label: String,
    rows: Vec<Option<&'r WaitRow>>,
    lengths: Distribution<'r>,
}

/// The pictures; nothing if no wait is judged, or no times are known.
pub fn render(sides: &Sides<'_>, focus: &Focus<'_>) -> Markup {
    let mut sites: Vec<Site<'_>> = focus.waits.iter().flat_map(|site| of_site(sides, site)).collect();
    sites.truncate(SITES);
    let Some(axis) = ends(sites.iter().map(|site| &site.lengths)) else { return html! {} };
    let height = (HEAD + HEIGHT) * sites.len() as f64;
    let picture = Picture {
        id: "wait-lengths-picture".into(),
        title: "How long the judged waits were".into(),
        description: sites.iter().map(|site| site.description(sides.runs())).collect::<Vec<_>>().join(" "),
        how_to_read: html! {
            "Each bar is a range of times that is twice as long as the one before; its height is the share of the waits in it. "
            @if sides.is_comparison() { "Filled: before. Outlined: after. " }
            "Bars further left are shorter waits. A wait that ends while the thread polls has no wake-up at its end."
        },
        width: WIDTH,
        height,
        drawing: draw(sides, &sites, WIDTH, axis),
        numbers: table(sides.runs(), &sites),
        numbers_shown: NumbersShown::OnRequest,
    };
    let phone = PhoneDrawing { height, drawing: draw(sides, &sites, PHONE_WIDTH, axis) };
    html! {
        h3 { "How long the judged waits were" }
        @for site in &sites { (site.sentence(sides.runs())) }
        (with_phone(&picture, &phone))
    }
}

/// The waits at a call site, one for each object for which it waits.
fn of_site<'r>(sides: &Sides<'r>, site: &str) -> Vec<Site<'r>> {
    let of = |same: Vec<Option<&'r Wait>>| {
        let found = |wait: &'r Wait| caller(wait, site).map(|(row, times)| (wait, row, times));
        let found: Vec<_> = same.into_iter().map(|wait| wait.and_then(found)).collect();
        let (wait, ..) = found.iter().flatten().next()?;
        // The call site itself is the wait, or one of the callers that wait for an object.
        let object = if wait.row.name == site { String::new() } else { format!(", {}", wait.label()) };
        Some(Site {
            label: format!("{site}{object}"),
            rows: found.iter().map(|found| found.map(|(_, row, _)| row)).collect(),
            lengths: Distribution {
                kind: "waits",
                times: found.iter().map(|found| found.map(|(_, _, times)| times)).collect(),
            },
        })
    };
    sides.waits().into_iter().filter_map(of).filter(|site| site.lengths.has_times()).collect()
}

/// The row of a call site, and its times.
fn caller<'r>(wait: &'r Wait, site: &str) -> Option<(&'r WaitRow, &'r Times)> {
    if wait.row.name == site {
        return Some((&wait.row, &wait.times));
    }
    let caller = wait.callers.iter().find(|caller| caller.row.name == site)?;
    Some((&caller.row, &caller.times))
}

impl Site<'_> {
    /// How the waits ended: `19986 waits, 100 % of which slept, median 38 µs`.
    fn sentence(&self, runs: &[Run<'_>]) -> Markup {
        let of_runs: Vec<(&str, &WaitRow)> =
            runs.iter().zip(&self.rows).filter_map(|(run, row)| Some((run.label, (*row)?))).collect();
        html! {
            p {
                (name(&self.label)) ": "
                @for (place, (label, row)) in of_runs.iter().enumerate() {
                    @if place > 0 { "; " }
                    @if !label.is_empty() { b { (label) } " " }
                    (data(row.waits as f64, row.waits.to_string())) " waits, " (Percent::TwoDigits.of(slept_share(row))) " of which slept, median " (data(row.median, time(row.median)))
                }
                "."
            }
        }
    }

    fn description(&self, runs: &[Run<'_>]) -> String {
        let of = |(run, times): (&Run<'_>, &Option<&Times>)| {
            Some(format!("{} {}", run.label, summary((*times)?)).trim_start().to_owned())
        };
        let of_runs: Vec<String> = runs.iter().zip(&self.lengths.times).filter_map(of).collect();
        format!("{}: {}.", self.label, of_runs.join("; "))
    }
}

fn slept_share(row: &WaitRow) -> f64 {
    if row.waits == 0 { 0.0 } else { row.slept() as f64 / row.waits as f64 }
}

fn draw(sides: &Sides<'_>, sites: &[Site<'_>], width: f64, axis: (f64, f64)) -> Markup {
    const MARGIN: f64 = 4.0;
    let letters = if width < WIDTH { PHONE_LETTERS } else { 100 };
    html! {
        @for (place, site) in sites.iter().enumerate() {
            @let top = (HEAD + HEIGHT) * place as f64;
            (text("", (MARGIN, top + 13.0), &short(&site.label, letters)))
            (site.lengths.plot(sides.runs(), (MARGIN, top + HEAD), width - 2.0 * MARGIN, axis))
        }
    }
}

fn table(runs: &[Run<'_>], sites: &[Site<'_>]) -> Table {
    Table {
        caption: "Judged waits by their length".into(),
        head: table_head("Call site", runs),
        rows: sites.iter().flat_map(|site| site.lengths.rows(&site.label)).collect(),
    }
}
