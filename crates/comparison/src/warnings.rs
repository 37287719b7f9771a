//! What limits a comparison, and what to do about it.

use crate::comparability::{describe_command, differing_machine, differs_in_command};
use crate::session::Session;
use unspin_report::figures::list;
use unspin_results::{Basis, CompiledPlan, StoredConfiguration, StoredProof};
use unspin_stats::independent::Drift;
use unspin_stats::{Settings, effect};

/// The drift of each session, in the order of the sessions.
pub fn drifts(all: &[&Session], settings: &Settings) -> Vec<Option<Drift>> {
    let drift = |session: &&Session| {
        let direction = session.proof.analysis.metric.direction;
        Drift::of(&session.relative_rounds(), direction, settings, 1)
    };
    all.iter().map(drift).collect()
}

/// All warnings, one sentence or two each.
pub fn warnings(
    all: &[&Session],
    basis: Basis,
    drifts: &[Option<Drift>],
    settings: &Settings,
) -> Vec<String> {
    let mut warnings = differences(all, basis);
    warnings.extend(other_tool(all));
    let without_steps: Vec<&str> = all
        .iter()
        .filter(|session| session.proof.lacks_steps())
        .map(|session| session.file.as_str())
        .collect();
    if !without_steps.is_empty() {
        warnings.push(StoredProof::lack_of_steps(&list(&without_steps, "and")));
    }
    warnings.extend(other_plans(all));
    warnings.extend(other_schedulers(all));
    warnings.extend(other_kernels(all));
    warnings.extend(names_in_some(all));
    for (session, drift) in all.iter().zip(drifts) {
        of_session(session, &mut warnings);
        let drift = drift.filter(|_| basis == Basis::Figures);
        if let Some(factor) = drift.and_then(|drift| drift.factor(settings.alpha)) {
            warnings.push(format!(
                "{}: the second half of the session differs from the first by {}, in all configurations. A difference below that \
                 is not ranked: measure again on a quiet machine (--wait-for-quiet).",
                session.file,
                effect(factor)
            ));
        }
    }
    warnings
}

/// What differs between the sessions, beside the program.
fn differences(all: &[&Session], basis: Basis) -> Vec<String> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(machines) = differing_machine(all) {
        found.push(match basis {
            Basis::Figures => format!(
                "The machines differ ({machines}), and the figures are compared because of --across-machines: a difference may be \
                 that of the machines."
            ),
            Basis::Gains => format!(
                "The machines differ ({machines}), so the figures are not compared, only the gains. If it is one machine, as with \
                 containers that have host names of their own, add --across-machines."
            ),
        });
    }
    if let Some(other) = others.iter().find(|other| other.proof.machine.kernel != first.proof.machine.kernel)
    {
        found.push(format!(
            "The kernels differ: {} in {}, {} in {}. A difference may be the kernel's: to judge the program alone, measure both under one.",
            first.proof.machine.kernel, first.file, other.proof.machine.kernel, other.file
        ));
    }
    let build =
        |session: &Session| format!("{} ({})", session.proof.unspin.version, session.proof.unspin.commit);
    if let Some(other) = others.iter().find(|other| other.proof.unspin != first.proof.unspin) {
        found.push(format!(
            "The builds of unspin differ: {} in {}, {} in {}. A difference may be that of the preload library, except of `no preload`: \
             to judge the program alone, measure both with one build.",
            build(first),
            first.file,
            build(other),
            other.file
        ));
    }
    if let Some(other) = others.iter().find(|other| differs_in_command(first, other)) {
        found.push(format!(
            "The commands differ: {} in {}, {} in {}; compared because of --different-commands.",
            describe_command(first),
            first.file,
            describe_command(other),
            other.file
        ));
    }
    found
}

/// Percentiles that were read from the tables of different tools, which count and round requests in ways of their own.
fn other_tool(all: &[&Session]) -> Option<String> {
    let tool =
        |session: &Session| session.proof.percentile.as_ref().map(|percentile| percentile.tool.clone());
    let named =
        |session: &Session| tool(session).flatten().unwrap_or_else(|| "no table of a known tool".into());
    let (first, others) = all.split_first()?;
    let other = others.iter().find(|other| tool(other) != tool(first))?;
    Some(format!(
        "{} is read from different tables: {} in {}, {} in {}. Tools count requests and round times in ways of their own: load both \
         with one tool.",
        first.proof.analysis.metric.name,
        named(first),
        first.file,
        named(other),
        other.file
    ))
}

/// Configurations that have one name and different plans.
fn other_plans(all: &[&Session]) -> Option<String> {
    let (first, others) = all.split_first()?;
    let actions = |c: &StoredConfiguration| c.plan.as_deref().map(|plan| CompiledPlan::of(plan).actions());
    let mut different: Vec<String> = Vec::new();
    for configuration in &first.proof.candidates {
        let is_other = |other: &StoredConfiguration| {
            other.name == configuration.name && actions(other) != actions(configuration)
        };
        let other = others.iter().find(|other| other.proof.candidates.iter().any(is_other));
        different
            .extend(other.map(|other| format!("{} ({}, {})", configuration.name, first.file, other.file)));
    }
    (!different.is_empty()).then(|| {
        format!(
            "Different plans were measured under one name: {}. A difference may be that of the plans: measure one plan in all \
             (--use-plan FILE).",
            different.join(", ")
        )
    })
}

/// Schedulers of one command that were other schedulers, by the names that the kernel showed.
fn other_schedulers(all: &[&Session]) -> Option<String> {
    let different = other_facts(all, |configuration| {
        let scheduler = configuration.scheduler.as_ref()?;
        Some((scheduler.ops.clone()?, scheduler.reach.clone()))
    })?;
    Some(format!(
        "One command loaded different schedulers: {different}. A difference may be that of the schedulers."
    ))
}

/// Kernels of one name that were other kernels, or ran otherwise.
fn other_kernels(all: &[&Session]) -> Option<String> {
    let different = other_facts(all, |configuration| Some((configuration.kernel.as_ref()?.booted()?, None)))?;
    Some(format!(
        "One name was different kernels or virtual machines: {different}. A difference may be theirs: name the version (--kernel VERSION)."
    ))
}

/// What is known of a configuration beside its name: what is shown, and what else distinguishes it.
type Facts = (String, Option<String>);

/// Configurations of one name of which other things are known: "mq (mq_1 in a.json, mq_2 in b.json)".
fn other_facts(all: &[&Session], known: impl Fn(&StoredConfiguration) -> Option<Facts>) -> Option<String> {
    let (first, others) = all.split_first()?;
    let mut different: Vec<String> = Vec::new();
    for configuration in &first.proof.candidates {
        let Some(own) = known(configuration) else { continue };
        let found = others.iter().find_map(|other| {
            let same = other.proof.candidates.iter().find(|c| c.name == configuration.name)?;
            known(same).filter(|facts| *facts != own).map(|(shown, _)| (shown, &other.file))
        });
        different.extend(found.map(|(shown, file)| {
            format!("{} ({} in {}, {shown} in {file})", configuration.name, own.0, first.file)
        }));
    }
    (!different.is_empty()).then(|| different.join(", "))
}

/// Configurations that not all sessions have.
fn names_in_some(all: &[&Session]) -> Option<String> {
    let mut partial: Vec<String> = Vec::new();
    for session in all {
        for name in session.names() {
            let is_common = all.iter().all(|other| other.names().any(|known| known == name));
            let described = format!("{name} ({})", session.file);
            if !is_common && !partial.contains(&described) {
                partial.push(described);
            }
        }
    }
    (!partial.is_empty()).then(|| {
        format!(
            "Not compared, because not all results have it: {}. To compare it, judge it in all (--mutex, --waits, --use-plan).",
            partial.join(", ")
        )
    })
}

/// By which factor the figures of a session could be better without what disturbed it: other programs and the hypervisor took that
/// share of the CPUs. 1 for the background of an idle machine.
pub fn disturbance_factor(session: &Session) -> f64 {
    /// From this share on the figures say nothing.
    const MOST: f64 = 0.99;
    let is_cpu_time = session.proof.analysis.metric.is_cpu_time();
    let taken = session.proof.disturbance.taken().filter(|_| !is_cpu_time);
    taken.map_or(1.0, |taken| 1.0 / (1.0 - taken.min(MOST)))
}

fn of_session(session: &Session, warnings: &mut Vec<String>) {
    let Session { file, proof } = session;
    let StoredProof { interrupted, aborted, disturbance, rounds, analysis, .. } = proof;
    if *interrupted {
        warnings.push(format!(
            "{file}: the session was interrupted after {rounds} rounds: repeat it if they are too few."
        ));
    }
    if let Some(reason) = aborted {
        warnings.push(format!(
            "{file}: the session ended early: {reason}. Repeat it if its {rounds} rounds are too few."
        ));
    }
    if disturbance.taken().is_some() {
        let (steal, others) = disturbance.shares();
        warnings.push(format!(
            "{file}: other programs used {:.1} % of the CPUs, the hypervisor took {:.1} %: measure again on a quiet machine \
             (--wait-for-quiet).",
            100.0 * others,
            100.0 * steal
        ));
    }
    if let Some(throttling) = disturbance.throttling.filter(|throttling| throttling.throttled > 0) {
        warnings.push(format!(
            "{file}: the CPU quota stopped the program in {} of {} periods: raise it (cpu.max), or compare --metric cpu-time.",
            throttling.throttled, throttling.periods
        ));
    }
    if let Some(floor) = analysis.noise_floor.filter(|floor| floor.differs) {
        warnings.push(format!(
            "{file}: {} seems to differ from itself. A difference below {} is not ranked: measure again on a quiet machine \
             (--wait-for-quiet).",
            analysis.control,
            effect(floor.factor)
        ));
    }
}
