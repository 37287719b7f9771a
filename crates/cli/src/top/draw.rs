//! Draws the screen.

mod dialog;
mod lens;
mod lock;
mod style;
mod table;

use super::reading::{Period, Section};
use super::state::{ProgramState, Screen, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
pub use style::Palette;
use unspin_observe::lens::rows::LensTable;
use unspin_report::figures::{count, time};
use unspin_report::{MeterReport, describe_disturbance};
use unspin_sys::child::End;

/// Draws everything, and stores the number of visible lines in the state.
pub fn draw(frame: &mut Frame<'_>, state: &mut State, palette: Palette) {
    let [header, tabs, body, footer] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(about(state, palette)), header);
    frame.render_widget(tab_line(state, palette), tabs);
    match state.screen {
        Screen::Table if state.lens.is_some() => lens::draw(frame, body, state, palette),
        Screen::Table => table::draw(frame, body, state, palette),
        Screen::Lock(_) => lock::draw(frame, body, state, palette),
        Screen::LensRow(_) => lens::draw_row(frame, body, state, palette),
    }
    frame.render_widget(bottom(state, palette), footer);
    dialog::draw(frame, state, palette);
}

/// The program, and the total time that it has lost.
fn about(state: &State, palette: Palette) -> Vec<Line<'static>> {
    let first = Line::from(vec![
        Span::styled("unspin top ", palette.quiet()),
        Span::styled(state.command.clone(), palette.strong()),
    ]);
    let pid = if state.pid > 0 { format!("pid {}  ", state.pid) } else { String::new() };
    let mut second = vec![Span::raw(pid), program(state.program, palette)];
    if state.survivors > 0 {
        let survivors = plural(state.survivors as u64, "process");
        second.push(Span::styled(format!(", {survivors} still running"), palette.alarm()));
    }
    if let Some(reading) = &state.reading {
        let report = &reading.since_start;
        let processes = report.processes.iter().filter(|process| process.threads > 0).count();
        let rate = |report: &MeterReport| format!(" ({}/s)", time(report.total.lost / report.seconds));
        second.push(Span::raw(format!(
            "  {}  LOST {}{}  {}  {}  {}{}  level {}",
            time(report.seconds),
            time(report.total.lost),
            reading.lately.as_ref().map_or(String::new(), rate),
            plural(u64::from(report.cpus), "CPU"),
            plural(processes as u64, "process"),
            plural(reading.threads as u64, "thread"),
            report.invocation.policies().map_or(String::new(), |policies| format!("  {policies}")),
            report.level,
        )));
        let sampled = report.sampled_threads();
        if sampled > 0 {
            let text = format!(": {} sampled", plural(sampled, "thread"));
            second.push(Span::styled(text, palette.quiet()));
        }
        if let Some(disturbance) = report.disturbance {
            let style = if report.is_disturbed() { palette.alarm() } else { palette.quiet() };
            let ceiling = if report.is_disturbed() { ": no CEIL" } else { "" };
            second.push(Span::styled(format!("  {}{ceiling}", describe_disturbance(&disturbance)), style));
        }
        let missing = report.unrecorded;
        if !missing.is_nothing() {
            let text = format!(
                "  NOT RECORDED: {} samples, {}",
                count(missing.overflowed),
                plural(missing.threads, "thread")
            );
            second.push(Span::styled(text, palette.alarm()));
        }
    }
    vec![first, Line::from(second)]
}

fn plural(n: u64, what: &str) -> String {
    match (n, what) {
        (1, _) => format!("1 {what}"),
        (_, "process") => format!("{n} processes"),
        _ => format!("{n} {what}s"),
    }
}

fn program(program: ProgramState, palette: Palette) -> Span<'static> {
    match program {
        ProgramState::Running => Span::styled("running", palette.good()),
        ProgramState::Observed => Span::styled("observed", palette.good()),
        ProgramState::Gone => Span::styled("has ended", palette.strong()),
        ProgramState::Ending => Span::styled("being ended", palette.alarm()),
        ProgramState::Ended(End::Exited(code)) => {
            Span::styled(format!("ended with code {code}"), palette.strong())
        }
        ProgramState::Ended(End::Killed(signal)) => {
            Span::styled(format!("killed by signal {signal}"), palette.alarm())
        }
    }
}

/// Which table is shown, for which period, in which order.
fn tab_line(state: &State, palette: Palette) -> Line<'static> {
    let tab = |is_open: bool, name: &str| match is_open {
        true => Span::styled(format!("[{name}]"), palette.strong()),
        false => Span::styled(format!(" {name} "), palette.quiet()),
    };
    let table = state.lens_table();
    let seconds = match state.lens {
        Some(_) => table.as_ref().map(LensTable::seconds),
        None => state.report().map(|report| report.seconds),
    };
    let period = match (state.period, seconds) {
        (Period::SinceStart, Some(seconds)) if state.lens.is_some() => {
            format!("since it was opened, {}", time(seconds))
        }
        (Period::SinceStart, _) => "since the start".to_owned(),
        (Period::Lately, Some(seconds)) => format!("the last {}", time(seconds)),
        (Period::Lately, None) => {
            format!("the first reading comes after {}", time(state.interval.as_secs_f64()))
        }
    };
    let (shown, all) = state.size();
    let mut spans = Vec::new();
    for &section in state.sections() {
        let name = if section == Section::Locks { "Locks" } else { "Waits" };
        spans.push(tab(state.lens.is_none() && section == state.section, name));
    }
    for (number, lens) in state.lenses.iter().enumerate() {
        spans.push(tab(state.lens == Some(number), lens.lens.name()));
    }
    let interval = time(state.interval.as_secs_f64());
    let order = match state.lens {
        Some(_) => String::new(),
        None => format!(", by {}, ", state.sort.title(state.section)),
    };
    spans.push(Span::raw(format!("  {period}, every {interval}{order}")));
    spans.push(Span::raw(if state.lens.is_some() {
        let lines = plural(table.map_or(0, |table| table.size()) as u64, "line");
        let with = if state.filter.is_empty() { "" } else { " with " };
        format!(", {lines}{with}{}", state.filter)
    } else if state.filter.is_empty() {
        plural(all as u64, "row")
    } else {
        format!("{shown} of {} with \"{}\"", plural(all as u64, "row"), state.filter)
    }));
    if state.paused {
        spans.push(Span::styled("  PAUSED", palette.alarm()));
    }
    Line::from(spans)
}

/// The most important keys.
fn bottom(state: &State, palette: Palette) -> Paragraph<'static> {
    let text = match (&state.dialog, &state.screen) {
        (Some(super::state::Dialog::Filter(_)), _) => {
            format!("filter: {}_   Enter keep  Esc undo", state.filter)
        }
        (_, Screen::Table) if state.lens.is_some() => {
            "q leave  ? help  t lately/since opened  Tab next  Enter open  / filter  p pause".into()
        }
        (_, Screen::Table) => {
            "q leave  ? help  t lately/since start  Tab next  Enter open  / filter  p pause".into()
        }
        (_, Screen::Lock(_)) => "Esc back  q leave  ? help  t lately/since start  p pause".into(),
        (_, Screen::LensRow(_)) => "Esc back  q leave  ? help  t lately/since opened  p pause".into(),
    };
    Paragraph::new(text).style(palette.quiet())
}

/// A rectangle of this size in the middle of another one, or as much of it as fits.
fn centre(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests;
