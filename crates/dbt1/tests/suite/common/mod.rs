//! A small shop for the tests.

use std::time::Duration;
use unspin_dbt1::{Mix, Options};

/// The smallest population, and short runs.
pub fn small() -> Options {
    Options {
        items: Some(1000),
        scale: Some(1),
        mix: Mix::Ordering,
        browsers: 6,
        connections: Some(4),
        warm_up: Duration::from_millis(100),
        duration: Duration::from_millis(400),
        runs: 2,
        ..Options::default()
    }
}
