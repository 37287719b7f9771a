//! A picture with its explanation and its numbers.

use crate::name::visible;
use crate::svg::px;
use crate::table::Table;
use maud::{Markup, html};

/// A picture: what a reader sees, what a screen reader says, and the numbers that it shows.
pub struct Picture {
    /// Unique within the page, without spaces.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What can be seen in it, for readers who cannot: the finding, not the lines.
    pub description: String,
    /// One line below it that says how to read it; empty if the text before it does.
    pub how_to_read: Markup,
    /// Width of the drawing. One that is wider than the page scrolls.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// What is drawn: SVG elements.
    pub drawing: Markup,
    /// The numbers.
    pub numbers: Table,
    /// Whether the numbers are shown at once, or on request.
    pub numbers_shown: NumbersShown,
}

/// Whether the numbers of a picture are shown at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumbersShown {
    /// At once.
    AtOnce,
    /// On request.
    OnRequest,
}

impl Picture {
    /// The picture as a figure. Control characters in its texts are made visible here, so that no picture can forget it.
    pub fn render(&self) -> Markup {
        let shown_title = visible(&self.title);
        let (title, description) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        let view_box = format!("0 0 {} {}", px(self.width), px(self.height));
        html! {
            figure id=(self.id) {
                div.scroll tabindex="0" role="group" aria-label={ (shown_title) ", picture" } {
                    svg viewBox=(view_box) width=(px(self.width)) height=(px(self.height)) role="img"
                        aria-labelledby={ (title) " " (description) } {
                        title id=(title) { (shown_title) }
                        desc id=(description) { (visible(&self.description)) }
                        (self.drawing)
                    }
                }
                @if !self.how_to_read.0.is_empty() { figcaption { (self.how_to_read) } }
                @match self.numbers_shown {
                    NumbersShown::AtOnce => (self.numbers.render()),
                    NumbersShown::OnRequest => details { summary { "The numbers of this picture" } (self.numbers.render()) },
                }
            }
        }
    }
}
