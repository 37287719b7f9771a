//! `unspin plan`: a plan is deployed, so that a service runs under it without `unspin` in front.

mod compile;
mod looks;
mod process;
mod show;
mod snippet;
mod status;

use crate::options::{PlanAction, PlanSource};
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::plan::PlanFile;
use unspin_launch::plan::deployed::Deployment;

/// Runs the action that the command line names.
pub fn run(action: &PlanAction) -> Result<ExitCode, Error> {
    match action {
        PlanAction::Show(options) => show::show(&options.source),
        PlanAction::Check(options) => show::check(&options.source),
        PlanAction::Compile(options) => compile::compile(options),
        PlanAction::Env(options) => snippet::env(&options.place),
        PlanAction::Systemd(options) => snippet::systemd(options),
        PlanAction::Dockerfile(options) => snippet::dockerfile(&options.place),
        PlanAction::Kubernetes(options) => snippet::kubernetes(options),
        PlanAction::Looks(options) => looks::looks(options),
        PlanAction::Status(options) => status::status(options.pid),
    }
}

/// The plan of a plan file, for the installed builds of its programs. A plan that does not fit is no wrong command line: scripts ask
/// for that.
fn deployment(source: &PlanSource) -> Result<Deployment, Error> {
    let file = PlanFile::read_argument(&source.plan)?;
    Deployment::of(&file, &source.program).map_err(|error| match error {
        Error::Usage(why) | Error::NotFound(why) => Error::Input(why),
        other => other,
    })
}
