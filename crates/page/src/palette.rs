//! Colours and shapes by which a picture tells its series apart.
//!
//! The colours are those of Okabe and Ito, which people who do not see all colours tell apart, made darker or brighter until they
//! have a contrast of 3 to 1 against the page in each theme (`style.css`). A shape says the same as a colour.

/// Number of colours.
const COLOURS: usize = 7;

/// A series of a picture: the control is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series(pub usize);

/// The shape of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    Down,
    /// ✚
    Plus,
    /// ★
    Star,
    /// ⬢
    Hexagon,
}

impl Series {
    /// The class that has the colour: `s0` to `s6`.
    pub fn class(self) -> &'static str {
        ["s0", "s1", "s2", "s3", "s4", "s5", "s6"][self.0 % COLOURS]
    }

    /// The shape. Colours and shapes have different periods, so that 56 series differ.
    pub fn shape(self) -> Shape {
        const SHAPES: [Shape; 8] = [
            Shape::Circle,
            Shape::Square,
            Shape::Triangle,
            Shape::Diamond,
            Shape::Down,
            Shape::Plus,
            Shape::Star,
            Shape::Hexagon,
        ];
        SHAPES[self.0 % SHAPES.len()]
    }
}
