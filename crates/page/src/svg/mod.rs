//! Drawing: axes, marks and text as SVG elements. Colours are classes of `style.css`. Control characters in texts are made
//! visible.

mod axis;
mod mark;

pub use axis::Axis;
pub use mark::{cross, mark};

use crate::name::visible;
use maud::{Markup, html};

/// A coordinate with one decimal.
pub fn px(coordinate: f64) -> String {
    let rounded = (coordinate * 10.0).round() / 10.0;
    format!("{}", if rounded.is_finite() { rounded + 0.0 } else { 0.0 })
}

/// A line.
pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) {} }
}

/// A rectangle between two corners.
pub fn rectangle(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    let (x, y) = (from.0.min(to.0), from.1.min(to.1));
    let (width, height) = ((from.0 - to.0).abs(), (from.1 - to.1).abs());
    html! { rect class=(class) x=(px(x)) y=(px(y)) width=(px(width)) height=(px(height)) {} }
}

/// Text that begins at the point.
pub fn text(class: &str, at: (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) { (visible(text)) } }
}

/// Text that ends at the point.
pub fn text_before(class: &str, at: (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) text-anchor="end" { (visible(text)) } }
}

/// Text centred on the point.
pub fn text_around(class: &str, at: (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) text-anchor="middle" { (visible(text)) } }
}

/// A path.
pub fn path(class: &str, d: &str) -> Markup {
    html! { path class=(class) d=(d) {} }
}
