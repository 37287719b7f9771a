//! CPU time beside wall time.

use super::contestant::{Contestant, Contestants};
use crate::frame::Section;
use crate::name::{PICTURE_MAX, name, short, visible};
use crate::number::{percent, tick_of_time, time};
use crate::phone::{PHONE_WIDTH, PhoneDrawing, with_phone};
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, line, rectangle, text, text_around, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::{StoredCpuShares, StoredProof};
use unspin_stats::CpuCostUnit;

const WIDTH: f64 = 740.0;
const TOP: f64 = 10.0;
/// The height of a bar.
const BAR: f64 = 14.0;

/// Where the parts of the drawing lie.
struct Layout {
    /// Where bars begin and end.
    plot: (f64, f64),
    /// The height of a configuration's two bars with the space around, and the part of it above the bars.
    row: f64,
    above: f64,
    /// Most labels of the axis.
    ticks: usize,
    /// Whether the name stands above the bars.
    name_above: bool,
}

const WIDE: Layout = Layout { plot: (200.0, 650.0), row: 44.0, above: 6.0, ticks: 6, name_above: false };
const PHONE: Layout =
    Layout { plot: (2.0, PHONE_WIDTH - 84.0), row: 62.0, above: 24.0, ticks: 4, name_above: true };
/// Most rows of the picture; the table has all.
const ROWS_MAX: usize = 40;

/// The section.
pub fn section(proof: &StoredProof, contestants: &Contestants<'_>) -> Option<Section> {
    let measured: Vec<&Contestant<'_>> =
        contestants.0.iter().filter(|c| c.configuration.cpu.wall_s > 0.0).collect();
    if measured.is_empty() {
        return None;
    }
    let contents = html! {
        p {
            "A lock that spins can make a program faster and still cost more: threads that poll use CPU time that other programs, "
            "or a cloud's bill, could have saved."
        }
        (picture(proof, &measured))
    };
    Some(Section { id: "cpu", title: "CPU time beside wall time".into(), contents })
}

fn picture(proof: &StoredProof, measured: &[&Contestant<'_>]) -> Markup {
    let rows = &measured[..measured.len().min(ROWS_MAX)];
    let described = rows.iter().map(|row| {
        let StoredCpuShares { wall_s, cpu_s, .. } = row.configuration.cpu;
        format!("{}: {} of wall time, {} of CPU time", visible(row.name()), time(wall_s), time(cpu_s))
    });
    let picture = Picture {
        id: "cpu-picture".into(),
        title: "Wall time and CPU time of a run".into(),
        description: format!("Means of a run. {}.", described.collect::<Vec<_>>().join("; ")),
        how_to_read: html! {
            "How to read it: the outlined bar is how long a run took, the filled bar below it how much CPU time it used, summed over its "
            "threads: solid in the program, pale in the kernel. A filled bar that is longer than with the control is the price of a gain."
        },
        width: WIDTH,
        height: WIDE.height(rows.len()),
        drawing: draw(proof, rows, &WIDE),
        numbers: table(proof, measured),
        numbers_shown: NumbersShown::AtOnce,
    };
    let phone = PhoneDrawing { height: PHONE.height(rows.len()), drawing: draw(proof, rows, &PHONE) };
    with_phone(&picture, &phone)
}

impl Layout {
    fn bottom(&self, rows: usize) -> f64 {
        TOP + self.row * rows as f64
    }

    fn height(&self, rows: usize) -> f64 {
        self.bottom(rows) + 26.0
    }
}

fn draw(proof: &StoredProof, rows: &[&Contestant<'_>], layout: &Layout) -> Markup {
    let bottom = layout.bottom(rows.len());
    let longest = |row: &&Contestant<'_>| row.configuration.cpu.wall_s.max(row.configuration.cpu.cpu_s);
    let most = rows.iter().map(longest).fold(0.0, f64::max);
    let axis = Axis::linear((0.0, most * 1.02), layout.plot);
    html! {
        @for value in axis.ticks(layout.ticks) {
            (line("grid", (axis.at(value), TOP), (axis.at(value), bottom)))
            (text_around("small", (axis.at(value).max(6.0), bottom + 16.0), &tick_of_time(value)))
        }
        (line("axis", (layout.plot.0, TOP), (layout.plot.0, bottom)))
        @for (place, contestant) in rows.iter().enumerate() {
            @let top = TOP + layout.row * place as f64;
            @let shown = short(contestant.name(), PICTURE_MAX);
            @if layout.name_above { (text("", (layout.plot.0 + 4.0, top + layout.above - 6.0), &shown)) }
            @else { (text_before("", (layout.plot.0 - 14.0, top + layout.row / 2.0 + 4.0), &shown)) }
            (bars(contestant, &axis, top + layout.above, proof.machine.cpus))
        }
    }
}

fn bars(contestant: &Contestant<'_>, axis: &Axis, upper: f64, cpus: usize) -> Markup {
    let cpu = contestant.configuration.cpu;
    let whole = cpu.wall_s * cpus as f64 / 100.0;
    let (user, both) = (cpu.user_percent * whole, (cpu.user_percent + cpu.system_percent) * whole);
    let series = contestant.series.class();
    let lower = upper + BAR + 2.0;
    html! {
        (rectangle(&format!("outline {series}"), (axis.at(0.0), upper), (axis.at(cpu.wall_s), upper + BAR)))
        (text("small", (axis.at(cpu.wall_s) + 6.0, upper + BAR - 3.0), &format!("{} wall", time(cpu.wall_s))))
        (rectangle(&format!("bar {series}"), (axis.at(0.0), lower), (axis.at(user), lower + BAR)))
        (rectangle(&format!("bar pale {series}"), (axis.at(user), lower), (axis.at(both), lower + BAR)))
        (text("small", (axis.at(both) + 6.0, lower + BAR - 3.0), &format!("{} CPU", time(cpu.cpu_s))))
    }
}

fn table(proof: &StoredProof, measured: &[&Contestant<'_>]) -> Table {
    let head = [
        "configuration",
        "wall time",
        "CPU time",
        "in the program",
        "in the kernel",
        "idle, others",
        "voluntary switches",
        "involuntary",
        "CPU ratio",
        "from",
        "to",
    ];
    // Those of a server are not counted: the document has 0.
    let switches = |number: f64| {
        Cell::number(Some(number).filter(|_| proof.service.is_none()), |number| format!("{number:.0}"))
    };
    let rows = measured.iter().map(|contestant| {
        let cpu = contestant.configuration.cpu;
        let comparison = contestant.comparison;
        let times = comparison.and_then(|comparison| comparison.cpu).map(|cost| cost.times);
        let shown = times.map(|times| times.shown());
        let part = |index: Option<usize>| {
            let (value, ends) = shown.clone().unwrap_or_default();
            index.map_or(value, |index| ends[index].clone())
        };
        let bounds =
            times.filter(|_| comparison.is_some_and(|c| c.has_interval(proof.analysis.settings.confidence)));
        TableRow {
            head: name(contestant.name()),
            cells: vec![
                Cell::Number(cpu.wall_s, time(cpu.wall_s)),
                Cell::Number(cpu.cpu_s, time(cpu.cpu_s)),
                Cell::Number(cpu.user_percent, percent(cpu.user_percent)),
                Cell::Number(cpu.system_percent, percent(cpu.system_percent)),
                Cell::Number(cpu.idle_percent, percent(cpu.idle_percent)),
                switches(cpu.voluntary_switches),
                switches(cpu.involuntary_switches),
                Cell::number(times.map(|times| times.value), |_| part(None)),
                Cell::number(bounds.map(|times| times.lower), |_| part(Some(0))),
                Cell::number(bounds.map(|times| times.upper), |_| part(Some(1))),
            ],
        }
    });
    let work = match proof.analysis.comparisons.iter().find_map(|comparison| comparison.cpu) {
        Some(cost) => match cost.per {
            CpuCostUnit::Run => "of a run",
            CpuCostUnit::Request => "for a request",
            CpuCostUnit::Unit => "for a unit of work",
        },
        None => "of a run",
    };
    Table {
        caption: format!(
            "Means of a run. Shares are of wall time × {} CPUs. CPU ratio: CPU time {work} over the control's, with its interval; above 1 is \
             more, which is worse",
            proof.machine.cpus
        ),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: rows.collect(),
    }
}
