//! Colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// The available means of emphasis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Palette {
    /// Colours.
    Coloured,
    /// Bold and reversed text only.
    Plain,
}

impl Palette {
    /// What the environment allows: no-color.org, and terminals without colours.
    pub fn from_environment() -> Palette {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let poor = std::env::var_os("TERM")
            .is_some_and(|term| term == "dumb" || term.as_encoded_bytes().starts_with(b"vt"));
        if unwanted || poor { Palette::Plain } else { Palette::Coloured }
    }

    fn colour(self, colour: Color) -> Style {
        match self {
            Palette::Coloured => Style::new().fg(colour),
            Palette::Plain => Style::new(),
        }
    }

    /// An important value.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Secondary text.
    pub fn quiet(self) -> Style {
        self.colour(Color::DarkGray)
    }

    /// A good state.
    pub fn good(self) -> Style {
        self.colour(Color::Green)
    }

    /// An alarming state, or missing data.
    pub fn alarm(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A bar of a histogram.
    pub fn bar(self) -> Style {
        self.colour(Color::Cyan)
    }

    /// The line of titles.
    pub fn titles(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// The title of the sort column.
    pub fn sort_column(self) -> Style {
        self.cursor_row().add_modifier(Modifier::BOLD)
    }

    /// The row under the cursor.
    pub fn cursor_row(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
