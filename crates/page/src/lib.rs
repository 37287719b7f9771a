//! Results of unspin as pages: one HTML file each, complete without a network and without scripts.
//!
//! A page is a function of the JSON document: `page` reads what a command of unspin has written with `--json`, and
//! nothing else. The document is part of its page, so the page is the archive, and a page of a stored result is the
//! one that the measuring command would have written.
//!
//! `frame` has what all pages share: head, style, landmarks, the embedded document. `picture` is one picture with its
//! explanation and its numbers; `table` a table of numbers; `svg` draws; `name`, `number` and `prose` are how names, numbers
//! and sentences are shown. `forest` is the plot of ratios with their intervals. `prove` is the page of `unspin prove`, `compare` that of
//! `unspin compare`, and so on; `locks` has the sections about locks.
//!
//! ```
//! let refused = unspin_page::page("{}").unwrap_err();
//! assert_eq!(refused.to_string(), "is not a result of unspin: write one with --json");
//! ```
#![forbid(unsafe_code)]

mod combine;
mod compare;
mod embedded;
mod facts;
mod forest;
mod frame;
mod heading;
mod lenses;
mod locks;
mod meter;
mod name;
mod number;
mod palette;
mod part;
mod phone;
mod picture;
mod prose;
mod prove;
mod scale;
mod svg;
mod table;

use unspin_results::StoredResult;
pub use unspin_results::{ParseError, document};

/// The page of a stored result: of JSON, or of the JSON in an older page.
pub fn page(json: &str) -> Result<String, ParseError> {
    let json = &*document(json);
    let frame = match StoredResult::parse(json)? {
        StoredResult::Proof(proof) => prove::frame(&proof),
        StoredResult::Meter(meter) => meter::frame(&meter),
        StoredResult::Scale(scale) => scale::frame(&scale),
        StoredResult::Comparison(comparison) => compare::frame(&comparison),
        StoredResult::Combined(results) => combine::frame(&results),
    };
    Ok(frame.page(json))
}
