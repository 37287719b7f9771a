//! A small shop for the tests.

use std::time::Duration;
use unspin_dbt1::{Figures, Mix, Options};

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

/// The figures of runs that are long enough for `is_enough`. A busy machine may let no browser do anything in a short run,
/// so each try lasts four times as long as the one before.
pub fn until_long_enough(
    options: &Options,
    mut perform: impl FnMut(&Options) -> Option<Figures>,
    is_enough: impl Fn(&Figures) -> bool,
) -> Option<Figures> {
    let mut options = options.clone();
    loop {
        let figures = perform(&options)?;
        if is_enough(&figures) {
            return Some(figures);
        }
        assert!(options.duration < Duration::from_secs(300), "{figures}");
        options.duration *= 4;
    }
}

pub fn all_runs_did_something(figures: &Figures) -> bool {
    figures.rates().iter().all(|&rate| rate > 0.0)
}
