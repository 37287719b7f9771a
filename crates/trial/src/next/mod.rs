//! What to do next about a comparison, where `prove` and `scale` advise it in a paragraph of its own. What they pass on of the
//! meter's findings is in `next` of the crate `report`; a verdict that asks for another measurement says so itself, in the crate
//! `stats`.
//!
//! | module | advises on |
//! |---|---|
//! | [`why`] | a program for which nothing is proven better: why there is nothing to gain, and where its time goes |
//! | [`not_searched`] | a program whose gain is too small to be found or to be proven |
//! | [`baseline`] | a control that differs from itself |
//! | [`run_queues`] | a comparison of run queues |
//! | [`scale`] | a prediction, and how far it is to be trusted |

pub mod baseline;
pub mod not_searched;
pub mod run_queues;
pub mod scale;
pub mod why;

use crate::format::paragraph;
use std::fmt::{Formatter, Result};
use unspin_report::next::Next;

/// Prints a sentence about what to do next.
pub fn write(f: &mut Formatter<'_>, next: &Next) -> Result {
    write!(f, "{}", paragraph(&next.sentence(), 0))
}
