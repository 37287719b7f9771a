//! Colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// Which means there are to set something off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Palette {
    /// A few colours.
    Coloured,
    /// Bold and reversed only.
    Plain,
}

impl Palette {
    /// What the environment wants: no-color.org, and terminals that have none.
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

    /// What counts.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is there to be read once.
    pub fn quiet(self) -> Style {
        self.colour(Color::DarkGray)
    }

    /// All is well.
    pub fn good(self) -> Style {
        self.colour(Color::Green)
    }

    /// Something is amiss, or missing.
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

    /// The title of the column that the table is sorted by.
    pub fn sorted(self) -> Style {
        self.chosen().add_modifier(Modifier::BOLD)
    }

    /// The chosen row.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
