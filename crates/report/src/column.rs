//! A column of a table: described once, for print, for the screen of `unspin top`, and for JSON by its field.

use crate::medium::Medium;
use crate::units::{Figures, Units};

/// A column before the name, for rows of type `R`.
pub struct Column<R: 'static> {
    /// Identifies the column. In the tables of locks and of waits it is the row's field in JSON.
    pub field: &'static str,
    frame: Frame,
    /// Maximum width of its printed figures.
    width: usize,
    /// The two lines of its title in print, from the column's left edge on. Empty above if the title has one line.
    pub(crate) printed: [&'static str; 2],
    /// Priority of removal in a narrow printed table: the columns with the greatest number are removed first.
    dropped: u8,
    /// None: only in print.
    screen: Option<OnScreen>,
    /// Whether it says how long a lock was held in all. Rows that add up other rows leave it blank.
    pub(crate) is_of_use: bool,
    /// The text for a row.
    pub(crate) text: fn(&R, &Units) -> String,
}

/// A column on the screen.
#[derive(Clone, Copy, Debug)]
struct OnScreen {
    /// Its titles: for sums, and for rates.
    titles: [&'static str; 2],
    /// Width of its titles and figures.
    width: usize,
    /// Priority of removal in a narrow window.
    dropped: u8,
}

/// What is printed around figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Spaces before them; none in the first column.
    Gap(usize),
    /// Parentheses: they belong to the column before.
    Parentheses,
}

impl<R> Column<R> {
    /// A column of print: its field, what is around its figures, their maximum width, its title, and the text for a row.
    pub const fn new(
        field: &'static str,
        frame: Frame,
        width: usize,
        printed: [&'static str; 2],
        text: fn(&R, &Units) -> String,
    ) -> Column<R> {
        Column { field, frame, width, printed, dropped: 0, screen: None, is_of_use: false, text }
    }

    /// A column of print whose figures are not known.
    pub const fn unknown(
        field: &'static str,
        frame: Frame,
        width: usize,
        printed: [&'static str; 2],
    ) -> Column<R> {
        Column::new(field, frame, width, printed, |_, _| String::from("-"))
    }

    /// With this priority of removal in a narrow printed table.
    #[must_use]
    pub const fn dropped(self, dropped: u8) -> Column<R> {
        Column { dropped, ..self }
    }

    /// Also on the screen: with titles for sums and for rates, a width, and a priority of removal in a narrow window.
    #[must_use]
    pub const fn on_screen(self, titles: [&'static str; 2], width: usize, dropped: u8) -> Column<R> {
        Column { screen: Some(OnScreen { titles, width, dropped }), ..self }
    }

    /// Says how long a lock was held in all.
    #[must_use]
    pub(crate) const fn of_use(self) -> Column<R> {
        Column { is_of_use: true, ..self }
    }

    /// Its title on the screen, as wide as the column.
    pub fn screen_title(&self, figures: Figures) -> String {
        self.screen
            .map_or(String::new(), |screen| format!("{:>1$}", screen.titles[figures as usize], screen.width))
    }

    /// Whether it is shown there at all.
    pub(crate) fn is_on(&self, medium: Medium) -> bool {
        medium == Medium::Print || self.screen.is_some()
    }

    /// Characters that it takes in a line, with what separates it from its neighbours.
    pub(crate) fn taken(&self, medium: Medium) -> usize {
        self.cell(medium, "").len()
    }

    /// Its priority of removal.
    pub(crate) fn priority(&self, medium: Medium) -> u8 {
        match (medium, self.screen) {
            (Medium::Screen, Some(screen)) => screen.dropped,
            _ => self.dropped,
        }
    }

    /// A text in the column.
    pub(crate) fn cell(&self, medium: Medium, text: &str) -> String {
        let width = self.width;
        match (medium, self.screen, self.frame) {
            (Medium::Screen, Some(screen), _) => format!("{text:>0$} ", screen.width),
            (_, _, Frame::Gap(gap)) => format!("{:gap$}{text:>width$}", ""),
            (_, _, Frame::Parentheses) => format!("({text:>width$})"),
        }
    }
}
