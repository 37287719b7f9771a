//! CPU time beside wall time.

use super::contestant::{Contestant, Contestants};
use crate::frame::Section;
use crate::name::{PICTURE_MAX, name, short, visible};
use crate::number::{percent, time};
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, line, rectangle, text, text_around, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::{StoredCpuShares, StoredProof};
use unspin_stats::CpuCostUnit;

const WIDTH: f64 = 740.0;
/// Where bars begin and end.
const PLOT: (f64, f64) = (200.0, 650.0);
const TOP: f64 = 10.0;
/// The height of a configuration's two bars with the space around, and of one bar.
const ROW: f64 = 44.0;
const BAR: f64 = 14.0;
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
        (picture(proof, &measured).render())
    };
    Some(Section { id: "cpu", title: "CPU time beside wall time".into(), contents })
}

fn picture(proof: &StoredProof, measured: &[&Contestant<'_>]) -> Picture {
    let rows: Vec<&&Contestant<'_>> = measured.iter().take(ROWS_MAX).collect();
    let bottom = TOP + ROW * rows.len() as f64;
    let most = rows
        .iter()
        .map(|row| row.configuration.cpu.wall_s.max(row.configuration.cpu.cpu_s))
        .fold(0.0, f64::max);
    let axis = Axis::linear((0.0, most * 1.02), PLOT);
    let drawing = html! {
        @for value in axis.ticks(6) {
            (line("grid", (axis.at(value), TOP), (axis.at(value), bottom)))
            (text_around("small", (axis.at(value), bottom + 16.0), &time(value)))
        }
        (line("axis", (PLOT.0, TOP), (PLOT.0, bottom)))
        @for (place, contestant) in rows.iter().enumerate() {
            (bars(contestant, &axis, TOP + ROW * place as f64, proof.machine.cpus))
        }
    };
    let described = rows.iter().map(|row| {
        let StoredCpuShares { wall_s, cpu_s, .. } = row.configuration.cpu;
        format!("{}: {} of wall time, {} of CPU time", visible(row.name()), time(wall_s), time(cpu_s))
    });
    Picture {
        id: "cpu-picture".into(),
        title: "Wall time and CPU time of a run".into(),
        description: format!("Means of a run. {}.", described.collect::<Vec<_>>().join("; ")),
        how_to_read: html! {
            "How to read it: the outlined bar is how long a run took, the filled bar below it how much CPU time it used, summed over its "
            "threads: solid in the program, pale in the kernel. A filled bar that is longer than with the control is the price of a gain."
        },
        width: WIDTH,
        height: bottom + 26.0,
        drawing,
        numbers: table(proof, measured),
        numbers_shown: NumbersShown::AtOnce,
    }
}

fn bars(contestant: &Contestant<'_>, axis: &Axis, top: f64, cpus: usize) -> Markup {
    let cpu = contestant.configuration.cpu;
    let whole = cpu.wall_s * cpus as f64 / 100.0;
    let (user, both) = (cpu.user_percent * whole, (cpu.user_percent + cpu.system_percent) * whole);
    let series = contestant.series.class();
    let (upper, lower) = (top + 6.0, top + 6.0 + BAR + 2.0);
    html! {
        (text_before("", (PLOT.0 - 14.0, top + ROW / 2.0 + 4.0), &short(contestant.name(), PICTURE_MAX)))
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
        "user",
        "system",
        "idle, others",
        "voluntary switches",
        "involuntary",
        "CPU ratio",
        "from",
        "to",
    ];
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
                Cell::Number(cpu.voluntary_switches, format!("{:.0}", cpu.voluntary_switches)),
                Cell::Number(cpu.involuntary_switches, format!("{:.0}", cpu.involuntary_switches)),
                Cell::number(times.map(|times| times.value), |_| part(None)),
                Cell::number(bounds.map(|times| times.lower), |_| part(Some(0))),
                Cell::number(bounds.map(|times| times.upper), |_| part(Some(1))),
            ],
        }
    });
    let per_unit =
        proof.analysis.comparisons.iter().any(|c| c.cpu.is_some_and(|cpu| cpu.per == CpuCostUnit::Unit));
    Table {
        caption: format!(
            "Means of a run. Shares are of wall time × {} CPUs. CPU ratio: CPU time {} over the control's, with its interval; above 1 is \
             more, which is worse",
            proof.machine.cpus,
            if per_unit { "for a unit of work" } else { "of a run" }
        ),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: rows.collect(),
    }
}
