//! A second drawing of a picture, for screens on which the first has no room.

use crate::name::visible;
use crate::picture::Picture;
use crate::svg::px;
use maud::{Markup, html};

/// The width of such a drawing. It is shown as wide as the screen, so its texts are at least as large as elsewhere.
pub const PHONE_WIDTH: f64 = 330.0;

/// The drawing.
pub struct PhoneDrawing {
    /// Its height.
    pub height: f64,
    /// SVG elements, [`PHONE_WIDTH`] wide.
    pub drawing: Markup,
}

/// The picture with the drawing that a narrow screen shows in its place. Its numbers are shown on every screen.
pub fn with_phone(picture: &Picture, phone: &PhoneDrawing) -> Markup {
    let (title, description) = (format!("{}-phone-title", picture.id), format!("{}-phone-desc", picture.id));
    let view_box = format!("0 0 {} {}", px(PHONE_WIDTH), px(phone.height));
    html! {
        div.drawn-twice {
            svg.phone viewBox=(view_box) role="img" aria-labelledby={ (title) " " (description) } {
                title id=(title) { (visible(&picture.title)) }
                desc id=(description) { (visible(&picture.description)) }
                (phone.drawing)
            }
            (picture.render())
        }
    }
}
