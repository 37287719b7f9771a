//! A forest plot: ratios with their intervals, one below the other, on a logarithmic axis.

use crate::name::{PICTURE_MAX, short};
use crate::number::tick;
use crate::palette::Series;
use crate::phone::{PHONE_WIDTH, PhoneDrawing};
use crate::svg::{Axis, line, mark, px, rectangle, text, text_around, text_before};
use maud::{Markup, html};
use unspin_stats::Ratio;

/// The width of the drawing.
pub const WIDTH: f64 = 740.0;
/// Most rows of a picture; the table beside it has all.
pub const ROWS_MAX: usize = 40;
/// Where the first row begins.
const TOP: f64 = 30.0;
/// Ratios beyond these are drawn at the end of the axis.
const EXTREMES: (f64, f64) = (1e-4, 1e4);
/// The usual radius of a mark.
pub const RADIUS: f64 = 5.0;

/// Where the parts of a row lie.
struct Layout {
    /// Where the axis begins and ends.
    plot: (f64, f64),
    /// The height of a row, and the part of it that is above the middle of its mark.
    row: f64,
    middle: f64,
    /// Where the name and the note stand beside the mark.
    name: Place,
    note: Place,
    /// Most labels of the axis.
    ticks: usize,
}

/// Where a text stands: its end of this coordinate, at this distance below the middle of the mark.
struct Place {
    x: f64,
    below: f64,
    is_end: bool,
}

/// Name, mark and note beside each other.
const WIDE: Layout = Layout {
    plot: (200.0, 566.0),
    row: 32.0,
    middle: 16.0,
    name: Place { x: 186.0, below: 4.5, is_end: true },
    note: Place { x: 580.0, below: 4.5, is_end: false },
    ticks: 9,
};

/// Name and note above the mark.
const PHONE: Layout = Layout {
    plot: (8.0, PHONE_WIDTH - 8.0),
    row: 46.0,
    middle: 34.0,
    name: Place { x: 0.0, below: -14.0, is_end: false },
    note: Place { x: PHONE_WIDTH, below: -14.0, is_end: true },
    ticks: 5,
};

impl Layout {
    /// The letters of a name for which there is room: on a line with the note, the note has the rest.
    fn letters(&self, note: &str) -> usize {
        /// The width of a letter, of names that are code or capitals; and the space between name and note.
        const LETTER: f64 = 7.6;
        const SPACE: f64 = 10.0;
        if self.name.below != self.note.below || self.name.is_end {
            return PICTURE_MAX;
        }
        let room = self.note.x - self.name.x - SPACE;
        let letters = (room / LETTER) as usize;
        letters.saturating_sub(note.chars().count()).clamp(LETTERS_MIN, PICTURE_MAX)
    }
}

/// A name with fewer letters says nothing.
const LETTERS_MIN: usize = 8;

impl Place {
    fn text(&self, class: &str, middle: f64, shown: &str) -> Markup {
        let at = (self.x, middle + self.below);
        if self.is_end { text_before(class, at, shown) } else { text(class, at, shown) }
    }
}

/// A forest plot.
pub struct Forest {
    /// The rows, from the top.
    pub rows: Vec<ForestRow>,
    /// Differences within this factor are noise, if it is known.
    pub floor: Option<f64>,
    /// What ratios below and above 1 are: "slower", "faster".
    pub sides: [&'static str; 2],
}

/// A row.
pub struct ForestRow {
    /// The name, which is shortened if it is long.
    pub name: String,
    /// The name's class: `aside` for what is shown beside the others.
    pub class: &'static str,
    /// The colour and the mark.
    pub series: Series,
    /// What is drawn.
    pub drawn: Drawn,
    /// What stands at the right.
    pub note: String,
}

/// What a row shows.
#[derive(Clone, Copy)]
pub enum Drawn {
    /// A mark of this radius, with the interval as a line.
    Interval(Ratio, f64),
    /// A hollow mark: no interval is known.
    Value(f64),
    /// That with which the others are compared: a mark at 1.
    Reference,
    /// A mean of the rows above: a diamond as wide as its interval.
    Mean(Ratio),
    /// A range without a value.
    Range(Ratio),
    /// Nothing.
    Nothing,
}

impl Drawn {
    /// A ratio with its interval.
    pub fn interval(ratio: Ratio) -> Drawn {
        Drawn::Interval(ratio, RADIUS)
    }

    /// The values that the axis has to reach.
    fn reach(self) -> [f64; 2] {
        match self {
            Drawn::Interval(ratio, _) | Drawn::Mean(ratio) | Drawn::Range(ratio) => {
                [ratio.lower, ratio.upper]
            }
            Drawn::Value(value) => [value; 2],
            Drawn::Reference | Drawn::Nothing => [1.0; 2],
        }
    }
}

/// "1.50  (1.40 – 1.60)".
pub fn noted(ratio: Ratio) -> String {
    let (value, [lower, upper]) = ratio.shown();
    format!("{value}  ({lower} – {upper})")
}

impl Forest {
    /// The height of the drawing.
    pub fn height(&self) -> f64 {
        self.height_in(&WIDE)
    }

    /// The drawing.
    pub fn draw(&self) -> Markup {
        self.draw_in(&WIDE)
    }

    /// The drawing for a narrow screen.
    pub fn phone(&self) -> PhoneDrawing {
        PhoneDrawing { height: self.height_in(&PHONE), drawing: self.draw_in(&PHONE) }
    }

    fn height_in(&self, layout: &Layout) -> f64 {
        self.bottom(layout) + 44.0
    }

    fn bottom(&self, layout: &Layout) -> f64 {
        TOP + layout.row * self.rows.len() as f64
    }

    fn draw_in(&self, layout: &Layout) -> Markup {
        let (spans, axis) = (self.spans(layout), Axis::log(self.range(), layout.plot));
        let middle = |place: usize| TOP + layout.row * place as f64 + layout.middle;
        html! {
            (self.band(&axis, &spans))
            (self.scale(&axis, layout, &spans))
            @for (place, row) in self.rows.iter().enumerate() { (row.draw(&axis, layout, middle(place))) }
        }
    }

    /// The ends of the axis: all intervals, the band, and 1.
    fn range(&self) -> (f64, f64) {
        let floor = self.floor.unwrap_or(1.0);
        let ends = self.rows.iter().flat_map(|row| row.drawn.reach());
        let known = ends
            .chain([0.9, 1.1, floor, 1.0 / floor])
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(|value| value.clamp(EXTREMES.0, EXTREMES.1));
        let (low, high) =
            known.fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let margin = (high / low).powf(0.06);
        (low / margin, high * margin)
    }

    /// Where the band and the lines across the rows are drawn: not behind texts.
    fn spans(&self, layout: &Layout) -> Vec<(f64, f64)> {
        let begin = |place: usize| TOP + layout.row * place as f64;
        match layout.name.below < 0.0 {
            false => vec![(TOP - 4.0, self.bottom(layout))],
            true => (0..self.rows.len())
                .map(|place| (begin(place) + layout.middle - 10.0, begin(place + 1)))
                .collect(),
        }
    }

    /// The noise band.
    fn band(&self, axis: &Axis, spans: &[(f64, f64)]) -> Markup {
        let Some(floor) = self.floor else { return html! {} };
        let (from, to) = (axis.at(1.0 / floor), axis.at(floor));
        html! {
            @for (top, bottom) in spans { (rectangle("band", (from, *top), (to, *bottom))) }
            (text_around("small", ((from + to) / 2.0, TOP - 12.0), "noise"))
        }
    }

    fn scale(&self, axis: &Axis, layout: &Layout, spans: &[(f64, f64)]) -> Markup {
        let [below, above] = self.sides;
        let ((begin, end), bottom) = (layout.plot, self.bottom(layout));
        let across = |class: &str, value: f64| {
            let x = axis.at(value);
            html! { @for (top, bottom) in spans { (line(class, (x, *top), (x, *bottom))) } }
        };
        html! {
            @for value in axis.ticks(layout.ticks) {
                (across("grid", value))
                (text_around("small", (axis.at(value), bottom + 16.0), &tick(value)))
            }
            (line("axis", (begin, bottom), (end, bottom)))
            (across("one", 1.0))
            (text("small", (begin, bottom + 35.0), &format!("← {below}")))
            (text_before("small", (end, bottom + 35.0), &format!("{above} →")))
        }
    }
}

impl ForestRow {
    fn draw(&self, axis: &Axis, layout: &Layout, y: f64) -> Markup {
        let class = format!("stroke {}", self.series.class());
        let note = match self.drawn {
            Drawn::Reference | Drawn::Nothing => "small",
            _ => "",
        };
        let ended = |ratio: Ratio| {
            html! {
                (line(&class, (axis.at(ratio.lower), y), (axis.at(ratio.upper), y)))
                @for end in [ratio.lower, ratio.upper] {
                    (line(&class, (axis.at(end), y - 5.0), (axis.at(end), y + 5.0)))
                }
            }
        };
        let dot = |class, value, radius| mark(self.series, class, (axis.at(value), y), radius);
        html! {
            (layout.name.text(self.class, y, &short(&self.name, layout.letters(&self.note))))
            @match self.drawn {
                Drawn::Interval(ratio, radius) => { (ended(ratio)) (dot("", ratio.value, radius)) },
                Drawn::Value(value) => (dot("hollow", value, RADIUS)),
                Drawn::Reference => (dot("", 1.0, RADIUS)),
                Drawn::Mean(ratio) => (diamond(self.series, ratio, axis, y)),
                Drawn::Range(ratio) => (ended(ratio)),
                Drawn::Nothing => {},
            }
            (layout.note.text(note, y, &self.note))
        }
    }
}

fn diamond(series: Series, ratio: Ratio, axis: &Axis, y: f64) -> Markup {
    const HALF: f64 = 8.0;
    let [left, middle, right] = [ratio.lower, ratio.value, ratio.upper].map(|value| axis.at(value));
    let corners = [(left, y), (middle, y - HALF), (right, y), (middle, y + HALF)];
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
    html! { polygon class={ "mark " (series.class()) } points=(points.join(" ")) {} }
}
