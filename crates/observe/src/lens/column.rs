//! The columns of a lens: each is described once, for the printed table and for the screen of `unspin top`.

use super::text::cut;
use unspin_report::Layout;
use unspin_report::figures::{count, percent, time};

/// A column before the name, for rows of type `R`.
pub struct LensColumn<R: 'static> {
    printed: Printed,
    /// None: only in print.
    screen: Option<OnScreen>,
    /// The text of a row's cell.
    text: fn(&R, &Units) -> String,
}

/// A column in a printed table.
#[derive(Clone, Copy, Debug)]
pub struct Printed {
    /// The upper line of its title, as wide as the column if it is not at the right.
    above: &'static str,
    title: &'static str,
    width: usize,
    /// What stands before and behind its figures.
    frame: [&'static str; 2],
}

/// A column on the screen.
#[derive(Clone, Copy, Debug)]
pub struct OnScreen {
    /// Its titles: for sums, and for rates.
    titles: [&'static str; 2],
    width: usize,
    /// Priority of removal in a narrow window: the column with the greatest number is removed first.
    removed: u8,
}

impl Printed {
    /// A column behind `gap` spaces.
    pub const fn spaced(gap: &'static str, title: &'static str, width: usize) -> Printed {
        Printed { above: "", title, width, frame: [gap, ""] }
    }

    /// A column in parentheses: it belongs to the column before.
    pub const fn in_parentheses(title: &'static str, width: usize) -> Printed {
        Printed { above: "", title, width, frame: ["(", ")"] }
    }

    /// With a line above its title.
    pub const fn below(self, above: &'static str) -> Printed {
        Printed { above, ..self }
    }

    fn cell(&self, text: &str) -> String {
        let (width, [before, behind]) = (self.width, self.frame);
        format!("{before}{text:>width$}{behind}")
    }

    fn cell_above(&self) -> String {
        let (width, [before, behind]) = (self.width, self.frame);
        format!("{:1$}{2:>width$}{3:4$}", "", before.len(), self.above, "", behind.len())
    }
}

impl<R> LensColumn<R> {
    /// A column in print and on the screen: there with its titles for sums and for rates, its width, and its priority of
    /// removal in a narrow window.
    pub const fn new(
        printed: Printed,
        titles: [&'static str; 2],
        width: usize,
        removed: u8,
        text: fn(&R, &Units) -> String,
    ) -> LensColumn<R> {
        LensColumn { printed, screen: Some(OnScreen { titles, width, removed }), text }
    }

    /// A column of print whose figures the lens does not know.
    pub const fn unknown(printed: Printed) -> LensColumn<R> {
        LensColumn { printed, screen: None, text: |_, _| "-".to_owned() }
    }
}

/// How figures are converted to text: sums, or rates over so many seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Units {
    rate_over: Option<f64>,
}

impl Units {
    /// Sums become rates over so many seconds, if they are more than 0.
    pub fn per_second_of(seconds: f64) -> Units {
        Units { rate_over: (seconds > 0.0).then_some(seconds) }
    }

    /// A sum of seconds, or its rate.
    pub fn sum(&self, seconds: f64) -> String {
        time(seconds / self.rate_over.unwrap_or(1.0))
    }

    /// A number, or its rate.
    pub fn count(&self, n: u64) -> String {
        count(self.rate_over.map_or(n, |seconds| (n as f64 / seconds).round() as u64))
    }
}

/// A part as a percentage.
pub fn share(part: u64, of: u64) -> String {
    percent(part as f64 / of.max(1) as f64)
}

/// Minimum width of a printed name, even if the line becomes longer than the terminal.
const NAME_MIN: usize = 20;

/// The column in which printed names begin.
pub fn name_at<R>(columns: &[LensColumn<R>]) -> usize {
    let width = |column: &LensColumn<R>| column.printed.cell("").len();
    columns.iter().map(width).sum::<usize>() + 2
}

/// The lines of titles in print.
pub fn printed_titles<R>(columns: &[LensColumn<R>], name: &str) -> String {
    let above: String = columns.iter().map(|column| column.printed.cell_above()).collect();
    let titles: String = columns.iter().map(|column| column.printed.cell(column.printed.title)).collect();
    match above.trim_end() {
        "" => format!("{titles}  {name}\n"),
        above => format!("{above}\n{titles}  {name}\n"),
    }
}

/// A printed row, with its name behind so many spaces.
pub fn printed_line<R>(
    columns: &[LensColumn<R>],
    row: &R,
    indent: usize,
    name: &str,
    layout: &Layout,
) -> String {
    let at = name_at(columns);
    let cell = |column: &LensColumn<R>| column.printed.cell(&(column.text)(row, &Units::default()));
    let figures: String = columns.iter().map(cell).collect();
    let room = layout.width.saturating_sub(at + indent).max(NAME_MIN);
    format!("{figures:<at$}{:indent$}{}", "", cut(name, room))
}

/// Minimum width of the name on the screen, before columns are removed.
const SCREEN_NAME_MIN: usize = 26;

/// The columns of a screen.
pub struct ScreenColumns<R: 'static>(Vec<(&'static LensColumn<R>, OnScreen)>);

impl<R> ScreenColumns<R> {
    /// Those that fit beside a name.
    pub fn that_fit(all: &'static [LensColumn<R>], width: usize) -> ScreenColumns<R> {
        let mut columns: Vec<_> =
            all.iter().filter_map(|column| column.screen.map(|screen| (column, screen))).collect();
        let room = width.saturating_sub(SCREEN_NAME_MIN);
        while columns.iter().map(|(_, screen)| screen.width + 1).sum::<usize>() > room {
            let Some(first) = columns.iter().map(|(_, screen)| screen.removed).max() else { break };
            columns.retain(|(_, screen)| screen.removed != first);
        }
        ScreenColumns(columns)
    }

    /// The titles of sums (0) or rates (1).
    pub fn titles(&self, which: usize) -> String {
        let title = |screen: &OnScreen| format!("{:>1$} ", screen.titles[which], screen.width);
        self.0.iter().map(|(_, screen)| title(screen)).chain([" NAME".to_owned()]).collect()
    }

    /// A row with its name.
    pub fn line(&self, row: &R, name: &str, units: &Units) -> String {
        let cell = |(column, screen): &(&LensColumn<R>, OnScreen)| {
            format!("{:>1$} ", (column.text)(row, units), screen.width)
        };
        let figures: String = self.0.iter().map(cell).collect();
        format!("{figures} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [LensColumn<f64>; 3] = [
        LensColumn::new(Printed::spaced("", "SUM", 6), ["SUM", "SUM/s"], 6, 0, |row, units| units.sum(*row)),
        LensColumn::new(Printed::spaced("  ", "MEAN", 5), ["MEAN"; 2], 5, 1, |row, _| time(*row)),
        LensColumn::unknown(Printed::in_parentheses("MAX", 5).below("WAIT ")),
    ];

    #[test]
    fn printed_titles_stand_over_their_figures() {
        assert_eq!(printed_titles(&COLUMNS, "NAME"), "              WAIT\n   SUM   MEAN(  MAX)  NAME\n");
        let layout = Layout { width: 30, ..Layout::default() };
        assert_eq!(printed_line(&COLUMNS, &2.0, 1, "name", &layout), " 2.00s  2.00s(    -)   name");
    }

    #[test]
    fn narrow_screens_have_fewer_columns() {
        let columns = ScreenColumns::that_fit(&COLUMNS, 39);
        assert_eq!(columns.titles(0), "   SUM  MEAN  NAME");
        assert_eq!(columns.line(&3.0, "name", &Units::per_second_of(2.0)), " 1.50s 3.00s  name");
        assert_eq!(ScreenColumns::that_fit(&COLUMNS, 38).titles(1), " SUM/s  NAME");
        assert_eq!(ScreenColumns::that_fit(&COLUMNS, 0).titles(0), " NAME");
    }
}
