//! What a configuration is measured for.

/// What a configuration is measured for, in the order in which pages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All others are compared with it.
    Control,
    /// May be better.
    Candidate,
    /// The control once more.
    Again,
    /// The program without the preload library.
    NoPreload,
}

impl Part {
    /// What it is, for readers who do not know unspin. Of a candidate the document says it.
    pub fn explanation(self) -> &'static str {
        match self {
            Part::Control => "the program as it is: all others are compared with it",
            Part::Candidate => "",
            Part::Again => "the program as it is, once more: what it seems to differ by is noise",
            Part::NoPreload => {
                "the program without unspin's library: what the replacement of locks costs by itself"
            }
        }
    }

    /// The class of its name in pictures: what is shown beside the others stands back.
    pub fn class(self) -> &'static str {
        match self {
            Part::Control | Part::Candidate => "",
            Part::Again | Part::NoPreload => "aside",
        }
    }
}
