//! The marks of series.

use super::px;
use crate::palette::{Series, Shape};
use maud::{Markup, html};

/// The mark of a series around a point. `class` is added to the class of its colour: `hollow` shows its outline only.
pub fn mark(series: Series, class: &str, (x, y): (f64, f64), radius: f64) -> Markup {
    let class = format!("mark {} {class}", series.class());
    let class = class.trim_end();
    if series.shape() == Shape::Circle {
        return html! { circle class=(class) cx=(px(x)) cy=(px(y)) r=(px(radius)) {} };
    }
    let corners: Vec<String> = corners(series.shape())
        .map(|(dx, dy)| format!("{},{}", px(x + dx * radius), px(y + dy * radius)))
        .collect();
    html! { polygon class=(class) points=(corners.join(" ")) {} }
}

/// The corners of a shape around the origin, for a radius of 1. All shapes seem about equally large.
fn corners(shape: Shape) -> Box<dyn Iterator<Item = (f64, f64)>> {
    let regular = |n: usize, radius: f64, begin: f64| {
        (0..n).map(move |i| {
            let angle = (begin + i as f64 * 360.0 / n as f64).to_radians();
            (radius * angle.sin(), -radius * angle.cos())
        })
    };
    match shape {
        Shape::Circle | Shape::Hexagon => Box::new(regular(6, 1.1, 0.0)),
        Shape::Square => Box::new(regular(4, 1.25, 45.0)),
        Shape::Diamond => Box::new(regular(4, 1.35, 0.0)),
        Shape::Triangle => Box::new(regular(3, 1.35, 0.0)),
        Shape::Down => Box::new(regular(3, 1.35, 180.0)),
        Shape::Star => {
            let inner: Vec<_> = regular(5, 0.6, 36.0).collect();
            Box::new(regular(5, 1.4, 0.0).zip(inner).flat_map(|(outer, inner)| [outer, inner]))
        }
        Shape::Plus => {
            const WIDE: f64 = 1.25;
            const THIN: f64 = 0.42;
            let corner = [(-THIN, -WIDE), (THIN, -WIDE), (THIN, -THIN)];
            Box::new((0..4).flat_map(move |turn| {
                corner.map(|(x, y)| match turn {
                    0 => (x, y),
                    1 => (-y, x),
                    2 => (-x, -y),
                    _ => (y, -x),
                })
            }))
        }
    }
}

/// A cross around a point: a run without a value.
pub fn cross(series: Series, (x, y): (f64, f64), radius: f64) -> Markup {
    let [left, right, top, bottom] = [x - radius, x + radius, y - radius, y + radius].map(px);
    super::path(
        &format!("stroke {}", series.class()),
        &format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}"),
    )
}
