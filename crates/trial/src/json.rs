//! The report as JSON, with a versioned schema.

use super::budget::Shortfall;
use super::kernels::BootedKernel;
use super::locks::Locks;
use super::percentile::PercentileEvidence;
use super::report::Report;
use super::run_queues::{self, JudgedRunQueue};
use super::schedulers::{JudgedScheduler, SchedulerPair};
use super::search::Search;
use super::service::Service;
use super::session::SessionRun;
use super::staircase::Staircase;
use super::summary::ReportSummary;
use super::waits::JudgedSite;
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::output::document::{write_json, write_page};
use unspin_launch::replace::run_queue::RunQueue;
use unspin_observe::disturbance::Disturbance;
use unspin_results::StoredCpuShares;
use unspin_stats::{Analysis, Comparison, Conclusion};

/// The number after the slash is increased when a field changes its meaning or is removed. New fields may be added
/// without that.
const SCHEMA: &str = "unspin.prove/3";

/// The document.
#[derive(Serialize)]
pub struct ProveDocument<'a> {
    schema: &'static str,
    unspin: Build,
    machine: &'a Machine,
    command: Vec<Cow<'a, str>>,
    service: Option<&'a Service>,
    conclusion: Conclusion,
    summary: ReportSummary,
    interrupted: bool,
    aborted: Option<String>,
    rounds: u32,
    elapsed_s: f64,
    shortfall: Option<Shortfall>,
    candidates: Vec<ConfigurationEntry<'a>>,
    disturbance: &'a Disturbance,
    analysis: &'a Analysis,
    no_preload: Option<&'a Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<&'a PercentileEvidence>,
    rcu_against_global: Option<&'a Comparison>,
    between_schedulers: &'a [SchedulerPair],
    staircase: Option<&'a Staircase>,
    search: Option<&'a Search>,
    plan: Option<String>,
    waits: &'a [JudgedSite],
    run_queues: Vec<JudgedRunQueue<'a>>,
    locks: &'a Locks,
    runs: &'a [SessionRun],
}

#[derive(Serialize)]
struct ConfigurationEntry<'a> {
    name: &'a str,
    engine: Option<&'static str>,
    plan: Option<String>,
    run_queue: Option<&'static str>,
    scheduler: Option<&'a JudgedScheduler>,
    kernel: Option<&'a BootedKernel>,
    summary: Option<String>,
    cpu: StoredCpuShares,
}

/// Writes all results, including every run, to the files that the settings name: as JSON, and as a page that shows this JSON.
pub fn write(report: &Report, json: Option<&Path>, html: Option<&Path>) -> Result<(), Error> {
    let document = document(report);
    let written = json.map_or(Ok(()), |file| write_json(&document, file));
    let page = html.map_or(Ok(()), |file| write_page(&document, file, unspin_page::page));
    written.and(page)
}

/// All results, including every run.
pub fn document(report: &Report) -> ProveDocument<'_> {
    let all = report.configurations.iter().zip(&report.cpu).zip(&report.schedulers).zip(&report.kernels);
    let candidates = all.map(|(((configuration, &cpu), scheduler), kernel)| ConfigurationEntry {
        name: configuration.name(),
        engine: configuration.setup.as_ref().map(|setup| setup.engine.name()),
        plan: configuration
            .setup
            .as_ref()
            .and_then(|setup| setup.plan.as_ref())
            .map(|prepared| prepared.compiled.to_string()),
        run_queue: report.run_queue_of(configuration).map(RunQueue::name),
        scheduler: scheduler.as_ref(),
        kernel: kernel.as_ref(),
        summary: configuration.summary(),
        cpu,
    });
    ProveDocument {
        schema: SCHEMA,
        unspin: report.build,
        machine: &report.machine,
        command: report.command.iter().map(|word| word.to_string_lossy()).collect(),
        service: report.service.as_ref(),
        conclusion: report.conclusion(),
        summary: ReportSummary::of(report),
        interrupted: report.interrupted,
        aborted: report.session.aborted.as_ref().map(ToString::to_string),
        rounds: report.session.rounds,
        elapsed_s: report.session.elapsed.as_secs_f64(),
        shortfall: report.session.shortfall,
        candidates: candidates.collect(),
        disturbance: &report.session.disturbance,
        analysis: &report.session.analysis,
        no_preload: report.session.no_preload.as_ref(),
        percentile: report.percentile.as_ref(),
        between_schedulers: &report.between_schedulers,
        rcu_against_global: report.reports_figure.as_ref(),
        staircase: report.staircase.as_ref(),
        search: report.search.as_ref(),
        plan: report.recommended.as_ref().map(|recommended| recommended.file.text()),
        waits: &report.waits,
        run_queues: run_queues::judged_run_queues(report),
        locks: &report.locks,
        runs: &report.session.runs,
    }
}
