//! Where a table is shown.

/// Where a table is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    /// In a printed report.
    Print,
    /// On the screen of `unspin top`.
    Screen,
}

impl Medium {
    /// Minimum width of the name, with the gap before it. Columns are dropped until the name has this width.
    pub(crate) const fn name_min(self) -> usize {
        match self {
            Medium::Print => GAP + 20,
            Medium::Screen => 26,
        }
    }
}

/// Characters between the columns and the name of a printed table.
pub(crate) const GAP: usize = 2;
