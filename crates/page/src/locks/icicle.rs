//! A tree of times as nested rectangles: a flame graph that hangs from its root, without a script.

use crate::name::{name, short, visible};
use crate::number::time;
use crate::phone::{PHONE_WIDTH, PhoneDrawing, with_phone};
use crate::picture::{NumbersShown, Picture};
use crate::svg::{px, rectangle, text};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_figures::Percent;

/// Width of the root.
const WIDTH: f64 = 760.0;
/// Height of a level.
const LEVEL: f64 = 21.0;
/// Levels that are drawn.
const LEVELS: usize = 24;
/// Levels that a tree has at all, its root not counted: times of deeper paths end there.
const DEPTH: usize = 64;
/// A narrower rectangle is not drawn.
const NARROW: f64 = 1.5;
/// Width of a letter: names are set in a font whose letters have one width (`style.css`), of 0.6 em at most.
const LETTER: f64 = 6.7;
/// Space on each side of a name.
const MARGIN: f64 = 3.0;
/// Rows of the table.
const ROWS: usize = 60;

/// A part of the time, and its own parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// What the time was spent for.
    pub name: String,
    /// Seconds, those of its parts included.
    pub seconds: f64,
    /// The parts. Their sum is at most `seconds`.
    pub parts: Vec<Node>,
    /// The number of paths that are longer than a tree is deep, and end here.
    pub cut: usize,
}

/// A picture of a tree.
pub struct Icicle<'n> {
    /// Unique within the page.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How its levels follow one another.
    pub levels: &'static str,
    /// The tree.
    pub root: &'n Node,
    /// The time that has the full width: that of the longest of several trees.
    pub longest: f64,
}

impl Node {
    /// A part without parts.
    pub fn new(name: impl Into<String>, seconds: f64) -> Node {
        Node { name: name.into(), seconds, ..Node::default() }
    }

    /// The sum of parts, of which those without time are left out, longest first.
    pub fn of(name: impl Into<String>, parts: impl IntoIterator<Item = Node>) -> Node {
        let mut parts: Vec<Node> = parts.into_iter().filter(|part| part.seconds > 0.0).collect();
        parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let seconds = parts.iter().map(|part| part.seconds).sum();
        Node { name: name.into(), seconds, parts, cut: 0 }
    }

    /// Adds a time under a path of names, of which the first `DEPTH` count.
    pub fn add<'p>(&mut self, path: impl IntoIterator<Item = &'p str>, seconds: f64) {
        let mut node = self;
        node.seconds += seconds;
        for (level, name) in path.into_iter().enumerate() {
            if level == DEPTH {
                node.cut += 1;
                return;
            }
            let place = node.parts.iter().position(|part| part.name == name).unwrap_or_else(|| {
                node.parts.push(Node::new(name, 0.0));
                node.parts.len() - 1
            });
            node = &mut node.parts[place];
            node.seconds += seconds;
        }
    }

    /// With the longest parts first, everywhere.
    pub fn sort(&mut self) {
        self.parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        self.parts.iter_mut().for_each(Node::sort);
    }

    fn depth(&self) -> usize {
        1 + self.parts.iter().map(Node::depth).max().unwrap_or(0)
    }

    /// The number of paths that are longer than the tree is deep.
    fn cut_paths(&self) -> usize {
        self.cut + self.parts.iter().map(Node::cut_paths).sum::<usize>()
    }
}

impl Icicle<'_> {
    /// The picture, with its table.
    pub fn render(&self) -> Markup {
        let (drawn, phone) = (self.draw(WIDTH), self.draw(PHONE_WIDTH));
        let depth = self.root.depth().min(LEVELS);
        let picture = Picture {
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description(),
            how_to_read: html! {
                "Widths are times; each level divides the one above: " (self.levels) ". A name that does not fit is shortened, and is whole in the table"
                " and under the pointer."
                (left_out(drawn.narrow, "part is too narrow to draw", "parts are too narrow to draw"))
                (left_out(drawn.deep, "part lies below the last level that is drawn", "parts lie below the last level that is drawn"))
                (left_out(self.root.cut_paths(), "stack is deeper than the picture and its table: its innermost functions are left out", "stacks are deeper than the picture and its table: their innermost functions are left out"))
            },
            width: WIDTH,
            height: depth as f64 * LEVEL + 2.0,
            drawing: drawn.markup(),
            numbers: self.table(),
            numbers_shown: NumbersShown::OnRequest,
        };
        // On one scale as on wide screens: of a picture that scrolls the largest part could be out of sight.
        with_phone(&picture, &PhoneDrawing { height: picture.height, drawing: phone.markup() })
    }

    /// The rectangles of a drawing of this width.
    fn draw(&self, width: f64) -> Drawn {
        let longest = if self.longest > 0.0 { self.longest } else { self.root.seconds };
        let mut drawn = Drawn::default();
        drawn.draw(self.root, 0.0, 0, width / longest.max(f64::MIN_POSITIVE), 0);
        drawn
    }

    fn description(&self) -> String {
        let longest: Vec<String> = self
            .root
            .parts
            .iter()
            .take(3)
            .map(|part| format!("{} {}", visible(&part.name), time(part.seconds)))
            .collect();
        format!("{} in all; most of it: {}.", time(self.root.seconds), longest.join(", "))
    }

    fn table(&self) -> Table {
        let (mut rows, mut left_out) = (Vec::new(), 0);
        list(self.root, self.root.seconds, 0, &mut rows, &mut left_out);
        let more =
            if left_out > 0 { format!("; {left_out} smaller ones are left out") } else { String::new() };
        Table {
            caption: format!("{}: all levels{more}", self.title),
            head: ["Part", "Level", "Time", "Share"].map(|head| html! { (head) }).into(),
            rows,
        }
    }
}

/// How many of something are left out, in a sentence.
fn left_out(number: usize, of_one: &str, of_several: &str) -> Markup {
    html! {
        @match number {
            0 => {},
            1 => { " One " (of_one) "." },
            n => { " " (n) " " (of_several) "." },
        }
    }
}

fn list(node: &Node, all: f64, level: usize, rows: &mut Vec<TableRow>, left_out: &mut usize) {
    let share = if all > 0.0 { node.seconds / all } else { 0.0 };
    if rows.len() >= ROWS || (level > 0 && share < 0.002) {
        *left_out += 1;
        return;
    }
    rows.push(TableRow {
        head: html! { @for _ in 0..level { "\u{a0}\u{a0}" } (name(&node.name)) },
        cells: vec![
            Cell::Number(level as f64, level.to_string()),
            Cell::Number(node.seconds, time(node.seconds)),
            Cell::Number(share, Percent::TwoDigits.of(share)),
        ],
    });
    for part in &node.parts {
        list(part, all, level + 1, rows, left_out);
    }
}

#[derive(Default)]
struct Drawn {
    rectangles: Vec<Markup>,
    /// Parts that are too narrow.
    narrow: usize,
    /// Parts that lie too deep.
    deep: usize,
}

impl Drawn {
    fn markup(&self) -> Markup {
        html! { g.icicle { @for one in &self.rectangles { (one) } } }
    }

    fn draw(&mut self, node: &Node, left: f64, level: usize, scale: f64, place: usize) {
        let width = node.seconds * scale;
        if level >= LEVELS || width < NARROW {
            *(if level >= LEVELS { &mut self.deep } else { &mut self.narrow }) += 1;
            return;
        }
        let top = level as f64 * LEVEL + 1.0;
        let letters = ((width - 2.0 * MARGIN) / LETTER).max(0.0) as usize;
        let label = if letters >= 3 { short(&node.name, letters) } else { String::new() };
        // Neighbours differ: two shades of the colour of the level.
        let shade = if place.is_multiple_of(2) { "a" } else { "b" };
        let class = format!("l{} {shade}", level % 4);
        let height = LEVEL - 1.0;
        self.rectangles.push(html! {
            g {
                title { (visible(&node.name)) ": " (time(node.seconds)) }
                @if label.is_empty() {
                    (rectangle(&class, (left, top), (left + width, top + height)))
                } @else {
                    // Letters of other scripts can be wider than those of the font: an inner svg cuts what is outside it.
                    svg x=(px(left)) y=(px(top)) width=(px(width)) height=(px(height)) {
                        (rectangle(&class, (0.0, 0.0), (width, height)))
                        (text("", (MARGIN, height - 6.5), &label))
                    }
                }
            }
        });
        let mut at = left;
        for (place, part) in node.parts.iter().enumerate() {
            self.draw(part, at, level + 1, scale, place);
            at += part.seconds * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_add_up() {
        let mut root = Node::new("all", 0.0);
        root.add(["a", "b"], 1.0);
        root.add(["a", "c"], 2.0);
        root.add(["d"], 4.0);
        root.sort();
        assert_eq!(root.seconds, 7.0);
        let names: Vec<(&str, f64)> =
            root.parts.iter().map(|part| (part.name.as_str(), part.seconds)).collect();
        assert_eq!(names, [("d", 4.0), ("a", 3.0)]);
        assert_eq!(root.parts[1].parts[0].name, "c");
    }

    #[test]
    fn deep_paths_are_cut_and_counted() {
        let names: Vec<String> = (0..200_000).map(|frame| format!("f{frame}")).collect();
        let mut root = Node::new("all", 0.0);
        root.add(names.iter().map(String::as_str), 1.0);
        root.add(names[..DEPTH].iter().map(String::as_str), 2.0);
        root.sort();
        assert_eq!((root.depth(), root.cut_paths(), root.seconds), (1 + DEPTH, 1, 3.0));
        let icicle = Icicle { id: "i".into(), title: "t".into(), levels: "", root: &root, longest: 3.0 };
        let page = icicle.render().into_string();
        assert!(page.contains("One stack is deeper than the picture"), "{page}");
        assert!(page.contains("One part lies below the last level"), "{page}");
    }

    #[test]
    fn narrow_parts_are_counted() {
        let root =
            Node::of("all", [Node::new("wide", 1.0), Node::new("narrow", 1e-6), Node::new("none", 0.0)]);
        let icicle =
            Icicle { id: "i".into(), title: "t".into(), levels: "", root: &root, longest: root.seconds };
        let page = icicle.render().into_string();
        assert!(page.contains("One part is too narrow"), "{page}");
        assert!(!page.contains("none"), "{page}");
    }
}
