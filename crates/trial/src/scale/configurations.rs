//! The control and the candidates.

use crate::configuration::Configuration;
use crate::requested::{NamedCandidates, Requested};
use crate::settings::ScaleSettings;
use unspin_launch::error::Error;
use unspin_launch::program::Program;

/// The configurations that the command line names, or else the default candidates of a workload, or else the control
/// alone.
pub fn choose(options: &ScaleSettings, program: &Program) -> Result<Requested, Error> {
    let named = NamedCandidates {
        mutex: &options.mutex,
        rwlock: &options.rwlock,
        spin: &options.spin,
        use_plan: &options.use_plan,
        sysv: &options.sysv,
        ..NamedCandidates::default()
    };
    let requested = Requested::of(&named, program)?
        .unwrap_or_else(|| Requested { control: Configuration::as_it_is(), judged: Vec::new() });
    for warning in requested.warnings() {
        unspin_launch::output::stderr::say(format_args!("{warning}"));
    }
    Ok(requested)
}
