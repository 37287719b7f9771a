//! Who blocks whom: the call sites that waited for a lock, and those that held it.
//!
//! A recording has both sides of each lock, and no pairs: which waiting call site met which holding one. So the two sides are
//! joined by the lock, and nothing is made up. Where a side has one call site, the pairs follow.

use super::sides::{Run, Sides};
use super::unknown_holder;
use crate::name::{name, short};
use crate::number::time;
use crate::picture::{NumbersShown, Picture};
use crate::svg::{px, rectangle, text, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_report::Lock;
use unspin_report::pprof::UNKNOWN_HOLDER;

/// Locks that are drawn.
const LOCKS: usize = 5;
/// Call sites of a side that are drawn one by one.
const SITES: usize = 6;
/// A lock with a smaller share of all time lost is not drawn.
const SHARE_MIN: f64 = 0.01;

const WIDTH: f64 = 760.0;
/// Height of the time lost for a lock.
const FLOW: f64 = 110.0;
/// Height of a line of text.
const LINE: f64 = 17.0;
const GAP: f64 = 5.0;
/// Letters of a call site's name: a wider one would leave the picture.
const LETTERS: usize = 25;
const HEAD: f64 = 22.0;
/// Where the columns begin and end: left call sites, lock, right call sites.
const LEFT: (f64, f64) = (262.0, 270.0);
const MIDDLE: (f64, f64) = (373.0, 387.0);
const RIGHT: (f64, f64) = (490.0, 498.0);

/// A call site of one side.
struct Site {
    name: String,
    waits: u64,
    seconds: f64,
    max: f64,
}

/// Both sides of a lock.
struct Blocked<'r> {
    label: String,
    lock: &'r Lock,
    waiters: Vec<Site>,
    holders: Vec<Site>,
}

/// A picture of each run, on one scale; nothing if no thread lost time in any.
pub fn render(sides: &Sides<'_>) -> Markup {
    let of_runs: Vec<(&Run<'_>, Vec<Blocked<'_>>)> =
        sides.runs().iter().enumerate().map(|(index, run)| (run, blocked(sides, index))).collect();
    let lost = of_runs.iter().flat_map(|(_, blocked)| blocked).map(|one| one.lock.row.lost);
    let most = lost.fold(0.0, f64::max);
    if most == 0.0 {
        return html! {};
    }
    html! {
        h3 { "Who blocks whom" }
        @if of_runs.iter().any(|(_, blocked)| has_holders(blocked)) {
            p {
                "Left: the call sites that waited, the victims. Right: the call sites that held the lock when these waits began, the "
                "culprits: shorten what is done there. Widths are time waited. The recording has both sides of each lock, but no "
                "pairs: which waiting call site met which holding one is not recorded."
            }
        }
        @for (run, blocked) in &of_runs {
            (run.heading())
            @if blocked.is_empty() {
                p { "No thread lost time for a lock." }
            } @else if has_holders(blocked) {
                (of_run(run, blocked, most))
            } @else {
                p { "No picture: of none of these locks a holder is recorded. The call sites that waited are in the flame graph below." }
                (facts(blocked.iter().take(LOCKS).filter_map(|one| unknown_holder::explanation(&one.label, one.lock))))
            }
        }
    }
}

/// The locks for which threads lost time in a run, the most first.
fn blocked<'r>(sides: &Sides<'r>, index: usize) -> Vec<Blocked<'r>> {
    let all = sides.runs()[index].report.total.lost;
    let worth = |lock: &Lock| lock.row.lost > 0.0 && lock.row.lost >= SHARE_MIN * all;
    let locks = sides.locks().into_iter().filter_map(|(label, same)| Some((label, same[index]?)));
    let mut blocked: Vec<Blocked<'r>> =
        locks.filter(|(_, lock)| worth(lock)).map(|(label, lock)| Blocked::of(label, lock)).collect();
    blocked.sort_by(|a, b| b.lock.row.lost.total_cmp(&a.lock.row.lost));
    blocked
}

/// Whether a call site that held one of the locks is known.
fn has_holders(blocked: &[Blocked<'_>]) -> bool {
    blocked.iter().any(|one| one.holders.iter().any(|holder| holder.name != UNKNOWN_HOLDER))
}

/// The picture of a run. `most` is the time that has the full height.
fn of_run(run: &Run<'_>, blocked: &[Blocked<'_>], most: f64) -> Markup {
    let shown = &blocked[..blocked.len().min(LOCKS)];
    let more = blocked.len() - shown.len();
    let (height, drawing) = draw(shown, most);
    let (id, of) = match run.label {
        "" => ("blockers-picture".into(), String::new()),
        label => (format!("blockers-{label}-picture"), format!(" {label}")),
    };
    let picture = Picture {
        id,
        title: format!("Call sites that waited{of}, and call sites that held the lock"),
        description: shown.iter().map(Blocked::description).collect::<Vec<_>>().join(" "),
        how_to_read: html! {
            @match more {
                0 => {},
                1 => "One more lock is not drawn.",
                n => { (n) " more locks are not drawn." },
            }
        },
        width: WIDTH,
        height,
        drawing,
        numbers: table(shown, &of),
        numbers_shown: NumbersShown::OnRequest,
    };
    let certain = shown.iter().filter_map(Blocked::certain);
    let unknown = shown.iter().filter_map(|one| unknown_holder::explanation(&one.label, one.lock));
    html! {
        (picture.render())
        (facts(certain.chain(unknown)))
    }
}

fn facts(facts: impl Iterator<Item = Markup>) -> Markup {
    let facts: Vec<Markup> = facts.collect();
    html! { @if !facts.is_empty() { ul { @for fact in facts { li { (fact) } } } } }
}

impl<'r> Blocked<'r> {
    fn of(label: String, lock: &'r Lock) -> Blocked<'r> {
        let callers = lock.callers().filter(|(_, caller)| caller.row.lost > 0.0);
        let mut waiters: Vec<Site> = callers
            .map(|(kind, caller)| Site {
                name: kind
                    .mark()
                    .map_or(caller.row.name.clone(), |mark| format!("{} {mark}", caller.row.name)),
                waits: caller.row.attempts.saturating_sub(caller.row.nowait),
                seconds: caller.row.lost,
                max: caller.row.wait_max,
            })
            .collect();
        waiters.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let holders = lock.holders.iter().filter(|holder| holder.seconds > 0.0);
        let mut holders: Vec<Site> = holders
            .map(|holder| Site {
                name: holder.name.clone(),
                waits: holder.waits,
                seconds: holder.seconds,
                max: holder.max,
            })
            .collect();
        holders.extend(unknown(lock));
        Blocked { label, lock, waiters: folded(waiters), holders: folded(holders) }
    }

    fn description(&self) -> String {
        let first = |sites: &[Site]| {
            sites.first().map_or(String::new(), |s| format!("{} ({})", s.name, time(s.seconds)))
        };
        format!(
            "{}: {} lost; the call site that waited longest is {}, the one for which others waited longest {}.",
            self.label,
            time(self.lock.row.lost),
            first(&self.waiters),
            first(&self.holders)
        )
    }

    /// What follows although pairs are not recorded: one side has one call site.
    fn certain(&self) -> Option<Markup> {
        match (&self.waiters[..], &self.holders[..]) {
            (_, [holder]) if holder.name != UNKNOWN_HOLDER => Some(html! {
                (name(&self.label)) ": all its waits were behind " (name(&holder.name)) "."
            }),
            ([waiter], [_, _, ..]) if self.holders.iter().all(|holder| holder.name != UNKNOWN_HOLDER) => {
                Some(html! {
                    (name(&self.label)) ": " (name(&waiter.name)) " alone waited, behind each call site on the right."
                })
            }
            _ => None,
        }
    }
}

/// The waits whose holder is not recorded; none if all are.
fn unknown(lock: &Lock) -> Option<Site> {
    let seconds = lock.unknown_holders()?.seconds;
    let known = lock.holders.iter().fold(0u64, |waits, holder| waits.saturating_add(holder.waits));
    let waited = lock.row.attempts.saturating_sub(lock.row.nowait);
    Some(Site { name: UNKNOWN_HOLDER.into(), waits: waited.saturating_sub(known), seconds, max: 0.0 })
}

/// The first call sites, and the others as one.
fn folded(mut sites: Vec<Site>) -> Vec<Site> {
    if sites.len() > SITES {
        let others = sites.split_off(SITES - 1);
        sites.push(Site {
            name: format!("{} other call sites", others.len()),
            waits: others.iter().fold(0, |sum, site| sum.saturating_add(site.waits)),
            seconds: others.iter().map(|site| site.seconds).sum(),
            max: others.iter().map(|site| site.max).fold(0.0, f64::max),
        });
    }
    sites
}

/// Height and drawing of all locks, one below the other.
fn draw(blocked: &[Blocked<'_>], most: f64) -> (f64, Markup) {
    let mut top = 0.0;
    let mut drawn = Vec::new();
    for one in blocked {
        let scale = FLOW / most;
        let tall = |sites: &[Site]| sites.iter().map(|site| slot(site, scale) + GAP).sum::<f64>();
        let height = tall(&one.waiters).max(tall(&one.holders)).max(one.lock.row.lost * scale);
        let begin = top + HEAD + LINE;
        let middle = begin + (height - one.lock.row.lost * scale) / 2.0;
        drawn.push(html! {
            text.lock x=(px((MIDDLE.0 + MIDDLE.1) / 2.0)) y=(px(top + HEAD - 4.0)) text-anchor="middle" {
                (short(&one.label, 70))
            }
            (text_before("small", (LEFT.1, top + HEAD + 11.0), "waited"))
            (text("small", (RIGHT.0, top + HEAD + 11.0), "held the lock"))
            (rectangle("bar s0", (MIDDLE.0, middle), (MIDDLE.1, middle + (one.lock.row.lost * scale).max(1.0))))
            (side(&one.waiters, (begin, height, tall(&one.waiters)), middle, scale, Direction::FromTheLeft))
            (side(&one.holders, (begin, height, tall(&one.holders)), middle, scale, Direction::ToTheRight))
        });
        top = begin + height + 14.0;
    }
    (top, html! { @for one in drawn { (one) } })
}

/// The height of a call site: that of its time, or of its label.
fn slot(site: &Site, scale: f64) -> f64 {
    (site.seconds * scale).max(LINE)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    FromTheLeft,
    ToTheRight,
}

/// One side: a bar and a label for each call site, and a band from it to the lock.
fn side(
    sites: &[Site],
    (begin, height, own): (f64, f64, f64),
    middle: f64,
    scale: f64,
    direction: Direction,
) -> Markup {
    let (mut y, mut at_lock) = (begin + (height - own) / 2.0, middle);
    let mut drawn = Vec::new();
    for site in sites {
        let wide = (site.seconds * scale).max(0.5);
        let top = y + (slot(site, scale) - wide) / 2.0;
        let baseline = top + wide / 2.0 + 4.5;
        let (label, seconds) = (short(&site.name, LETTERS), time(site.seconds));
        drawn.push(match direction {
            Direction::FromTheLeft => html! {
                (band("flow s1", (LEFT.1, top), (MIDDLE.0, at_lock), wide))
                (rectangle("bar s1", (LEFT.0, top), (LEFT.1, top + wide)))
                (text_before("", (LEFT.0 - 62.0, baseline), &label))
                (text_before("small", (LEFT.0 - 6.0, baseline), &seconds))
            },
            Direction::ToTheRight => html! {
                (band("flow s2", (MIDDLE.1, at_lock), (RIGHT.0, top), wide))
                (rectangle("bar s2", (RIGHT.0, top), (RIGHT.1, top + wide)))
                (text("small", (RIGHT.1 + 6.0, baseline), &seconds))
                (text("", (RIGHT.1 + 62.0, baseline), &label))
            },
        });
        y += slot(site, scale) + GAP;
        at_lock += site.seconds * scale;
    }
    html! { @for one in drawn { (one) } }
}

/// A band of one width between two points, which are the upper ones of its ends.
fn band(class: &str, from: (f64, f64), to: (f64, f64), wide: f64) -> Markup {
    let bend = px((from.0 + to.0) / 2.0);
    let [x0, y0, x1, y1] = [from.0, from.1, to.0, to.1].map(px);
    let [low0, low1] = [from.1 + wide, to.1 + wide].map(px);
    let path = format!(
        "M{x0},{y0}C{bend},{y0} {bend},{y1} {x1},{y1}V{low1}C{bend},{low1} {bend},{low0} {x0},{low0}Z"
    );
    html! { path class=(class) d=(path) {} }
}

fn table(blocked: &[Blocked<'_>], of: &str) -> Table {
    let row = |one: &Blocked<'_>, site: &Site, side: &str| TableRow {
        head: name(&site.name),
        cells: vec![
            Cell::Text(name(&one.label)),
            Cell::text(side),
            Cell::Number(site.waits as f64, site.waits.to_string()),
            Cell::Number(site.seconds, time(site.seconds)),
            Cell::number((site.max > 0.0).then_some(site.max), time),
        ],
    };
    let rows = blocked.iter().flat_map(|one| {
        let waiters = one.waiters.iter().map(move |site| row(one, site, "waited"));
        waiters.chain(one.holders.iter().map(move |site| row(one, site, "held")))
    });
    Table {
        caption: format!("Call sites that waited for a lock{of}, and that held it"),
        head: ["Call site", "Lock", "Side", "Waits", "Time waited", "Longest wait"]
            .map(|head| html! { (head) })
            .into(),
        rows: rows.collect(),
    }
}
