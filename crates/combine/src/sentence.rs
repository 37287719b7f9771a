//! The sentences of the report.

use crate::fleet::{Fleet, JudgedCandidate};
use crate::format::{clean, first_of, hosts, list_first, results, shown};
use crate::host::{HostResult, distinct};
use crate::price::price;
use crate::{compiled, cpu_limit};
use unspin_report::figures::{list, p_value};
use unspin_results::{Grouping, StoredProof};
use unspin_stats::fleet::{FleetDoubt, FleetVerdict, HostSide};
use unspin_stats::{Direction, Quantity, Ratio, UNBOUNDED, effect, three_digits};

/// What was combined: "poll with system, by wall time, lower is better: 7 hosts, 84 rounds".
pub fn compared(fleet: &Fleet) -> String {
    let names: Vec<String> = fleet.candidates.iter().map(|c| clean(&c.comparison.name)).collect();
    let first = &fleet.hosts[0].proof.analysis;
    let better = match first.metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let names = if names.is_empty() { "no candidate".into() } else { list(&names, "and") };
    let rounds: u32 = fleet.usable().map(|result| result.proof.rounds).sum();
    let measured = hosts(distinct(fleet.usable()) as usize);
    let measured = match fleet.has_sessions() {
        true => format!("{} of {measured}", results(fleet.usable().count())),
        false => measured,
    };
    format!(
        "{} with {}, by {}, {better}: {measured} with {rounds} rounds; each host is compared with itself only.",
        names,
        clean(&first.control),
        clean(&first.metric.name),
    )
}

/// The hosts that failed or wrote nothing, those that ended early, hosts with several results, disturbed hosts, and hosts that had other
/// limits or places: one sentence each.
pub fn hosts_to_mention(fleet: &Fleet) -> Vec<String> {
    let mut sentences = lost(fleet);
    let early =
        fleet.hosts.iter().enumerate().filter(|(host, _)| fleet.failed.iter().all(|(lost, _)| lost != host));
    let early: Vec<String> =
        early.filter_map(|(_, host)| Some(format!("{} {}", host.name, host.ended_early()?))).collect();
    if !early.is_empty() {
        sentences.push(format!(
            "Not all sessions ran to their end, and their complete rounds count: {}.",
            first_of(early).join("; ")
        ));
    }
    if let Some(host) = fleet.single_host() {
        sentences.push(format!(
            "All results are of one host, {}: this is a verdict about its sessions, and none about other hosts.",
            clean(host)
        ));
    } else if fleet.has_sessions() {
        sentences.push(format!(
            "{} are of {}: each result is a stratum, and several of one host are sessions of it, which make the verdict surer than the \
             number of hosts permits.",
            results(fleet.hosts.len()),
            hosts(distinct(&fleet.hosts) as usize)
        ));
    }
    sentences.extend(disturbed(fleet));
    sentences.extend(throttled(fleet));
    sentences.extend(without_steps(fleet));
    sentences.extend(cpu_limit::difference(&fleet.hosts));
    sentences.extend(compiled::different_places(&fleet.hosts));
    sentences
}

/// The hosts that failed or wrote nothing; and failed results of hosts that have others.
fn lost(fleet: &Fleet) -> Vec<String> {
    let mut sentences = Vec::new();
    let has_other = |index: &usize| {
        let machine = &fleet.hosts[*index].proof.machine;
        fleet.usable().any(|other| other.proof.machine.identity() == machine.identity())
    };
    let named = |(index, why): &(usize, String)| {
        format!("{} in {} ({why})", fleet.hosts[*index].name, fleet.hosts[*index].file)
    };
    let (sessions, failed): (Vec<_>, Vec<_>) = fleet.failed.iter().partition(|(index, _)| has_other(index));
    let (lost, missing) = (fleet.expected - distinct(fleet.usable()), fleet.missing());
    if lost > 0 {
        let wrote = (missing > 0).then(|| format!("{} wrote no result", hosts(missing as usize)));
        let failed = first_of(failed.into_iter().map(named).collect());
        let all: Vec<String> = failed.into_iter().chain(wrote).collect();
        sentences.push(format!(
            "{lost} of {} failed: {}. The verdict says nothing about them.",
            hosts(fleet.expected as usize),
            all.join("; ")
        ));
    }
    if !sessions.is_empty() {
        let all: Vec<String> = sessions.into_iter().map(named).collect();
        sentences.push(format!(
            "Of hosts with several results {} failed: {}.",
            results(all.len()),
            first_of(all).join("; ")
        ));
    }
    sentences
}

/// The hosts on which other programs or the hypervisor took much of the CPUs.
fn disturbed(fleet: &Fleet) -> Option<String> {
    let taken = |host: &HostResult| {
        let taken = host.proof.disturbance.taken()?;
        Some(format!("{:.0} % of the CPUs on {}", 100.0 * taken, host.name))
    };
    let all: Vec<String> = fleet.hosts.iter().filter_map(taken).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Other programs and the hypervisor took {}. A ratio on a busy host need not be that on an idle one: measure there again \
             (--wait-for-quiet), or trust the verdict for such hosts only.",
            list_first(all)
        )
    })
}

/// The hosts on which a CPU quota stopped the program.
fn throttled(fleet: &Fleet) -> Option<String> {
    let stopped = |host: &HostResult| {
        let throttling = host.proof.disturbance.throttling.filter(|throttling| throttling.throttled > 0)?;
        Some(format!("{} of {} periods on {}", throttling.throttled, throttling.periods, host.name))
    };
    let all: Vec<String> = fleet.hosts.iter().filter_map(stopped).collect();
    (!all.is_empty()).then(|| {
        format!(
            "The CPU quota stopped the program in {}. A proof under a quota that is used up says little about locks: raise it \
             (cpu.max), or measure --metric cpu-time.",
            list_first(all)
        )
    })
}

/// "1.48 times as fast as system", in the words of `unspin prove`.
fn claim(fleet: &Fleet, ratio: Ratio) -> String {
    let analysis = &fleet.hosts[0].proof.analysis;
    let (metric, control) = (&analysis.metric, clean(&analysis.control));
    let times = |ratio: Ratio| three_digits(ratio.value, ratio.decimals().max(2));
    match metric.quantity {
        Quantity::WallTime if ratio.value >= 1.0 => format!("{} times as fast as {control}", times(ratio)),
        Quantity::WallTime => {
            let longer =
                Ratio { value: 1.0 / ratio.value, lower: 1.0 / ratio.upper, upper: 1.0 / ratio.lower };
            format!("{} times as long as {control}", times(longer))
        }
        _ => format!("{} times as good as {control} by {}", times(ratio), clean(&metric.name)),
    }
}

/// The verdict on a candidate.
pub fn verdict(fleet: &Fleet, candidate: &JudgedCandidate) -> String {
    let comparison = &candidate.comparison;
    let name = clean(&comparison.name);
    let better = fleet.hosts[0].proof.analysis.metric.quantity == Quantity::WallTime;
    let [up, down] = if better { ["faster", "slower"] } else { ["better", "worse"] };
    let count = comparison.hosts.len();
    match comparison.verdict {
        FleetVerdict::ProvenFaster { ratio } if candidate.is_recommended() => {
            format!("{name} is {up} {} {}{}.", place(fleet), claim(fleet, ratio), price(fleet, candidate))
        }
        FleetVerdict::ProvenFaster { ratio } => format!(
            "{name} is {up} on the {} that ranked it, on average {}{}, and is not recommended: {}.",
            strata(fleet, count),
            claim(fleet, ratio),
            price(fleet, candidate),
            obstacles(fleet, candidate)
        ),
        FleetVerdict::ProvenSlower { ratio } => {
            format!("{name} is {down} {} {}{}.", place(fleet), claim(fleet, ratio), price(fleet, candidate))
        }
        FleetVerdict::DependsOnHost { faster, slower } => {
            let side = if slower <= faster { HostSide::Slower } else { HostSide::Faster };
            let which = match names_of(fleet, candidate, side) {
                names if names.is_empty() => String::new(),
                names => format!(": {}", list_first(names)),
            };
            format!(
                "{name} depends on the host: {up} on {}, {down} on {}{which}. It is not recommended for all.",
                on(fleet, faster),
                on(fleet, slower)
            )
        }
        FleetVerdict::NothingProven { could_hide, doubt } => nothing(fleet, candidate, could_hide, doubt),
    }
}

/// Where the verdict holds.
fn place(fleet: &Fleet) -> String {
    match fleet.single_host() {
        Some(host) => format!("in the sessions on {}: on average", clean(host)),
        None => "in the fleet: on the average host".into(),
    }
}

fn on(fleet: &Fleet, count: u32) -> String {
    if count == 0 { "none by itself".into() } else { strata(fleet, count as usize) }
}

/// "3 hosts", or "3 results" where a host has several.
fn strata(fleet: &Fleet, count: usize) -> String {
    if fleet.has_sessions() { results(count) } else { hosts(count) }
}

/// The names of the hosts that prove this by themselves.
fn names_of(fleet: &Fleet, candidate: &JudgedCandidate, side: HostSide) -> Vec<String> {
    let on = candidate.comparison.hosts.iter().filter(|host| host.side == side);
    on.map(|host| fleet.hosts[host.host].name.clone()).collect()
}

fn nothing(fleet: &Fleet, candidate: &JudgedCandidate, could_hide: Option<f64>, doubt: FleetDoubt) -> String {
    let comparison = &candidate.comparison;
    let name = clean(&comparison.name);
    let obstacles = obstacles(fleet, candidate);
    let also = if obstacles.is_empty() {
        String::new()
    } else {
        format!(" {name} is not recommended: {obstacles}.")
    };
    match doubt {
        FleetDoubt::TooFewHosts if comparison.hosts.is_empty() => format!("nothing about {name}.{also}"),
        FleetDoubt::TooFewHosts => format!("nothing about {name}, because one host alone ranked it.{also}"),
        FleetDoubt::NotSignificant => {
            let control = clean(&fleet.hosts[0].proof.analysis.control);
            let hidden = match could_hide.filter(|&factor| factor < UNBOUNDED) {
                Some(factor) => {
                    format!("a mean difference of up to {} either way could still hide", effect(factor))
                }
                None => {
                    format!(
                        "with {} the mean difference may have any size",
                        strata(fleet, comparison.hosts.len())
                    )
                }
            };
            format!(
                "nothing about {name}: the hosts do not tell whether it is better or worse than {control}; {hidden}.{also}"
            )
        }
        FleetDoubt::BelowFloor { floor } if is_of_digits(fleet, candidate, floor) => {
            format!(
                "nothing about {name}: the figures have so few digits that rounding may explain {}.{also}",
                effect(floor)
            )
        }
        FleetDoubt::BelowFloor { floor } => {
            format!("nothing about {name}: its difference is below the noise of {}.{also}", effect(floor))
        }
    }
}

/// Whether the digits of the candidate's or the control's figures make a floor.
fn is_of_digits(fleet: &Fleet, candidate: &JudgedCandidate, floor: f64) -> bool {
    let of_control = fleet.analysis.noise_floor.filter(|noise| noise.is_of_digits() && noise.factor >= floor);
    of_control.is_some() || candidate.comparison.rounding.is_some_and(|rounding| rounding >= floor)
}

/// Why a candidate is not recommended, whatever its mean is.
fn obstacles(fleet: &Fleet, candidate: &JudgedCandidate) -> String {
    let name = |host: &usize| fleet.hosts[*host].name.clone();
    let mut reasons = Vec::new();
    if !candidate.unsound.is_empty() {
        let which: Vec<String> = candidate
            .unsound
            .iter()
            .map(|(host, why)| format!("{}: {}", name(host), clean(why).trim_end_matches('.')))
            .collect();
        reasons.push(format!(
            "it is not ranked on {} ({})",
            strata(fleet, which.len()),
            first_of(which).join("; ")
        ));
    }
    if !candidate.lacking.is_empty() {
        let which: Vec<String> = candidate.lacking.iter().map(name).collect();
        reasons.push(format!(
            "{} did not measure it in enough rounds ({})",
            strata(fleet, which.len()),
            list_first(which)
        ));
    }
    if candidate.unmeasured > 0 {
        reasons.push(format!("{} measured nothing", hosts(candidate.unmeasured as usize)));
    }
    if !candidate.over_cpu_limit.is_empty() {
        let which: Vec<String> = candidate.over_cpu_limit.iter().map(name).collect();
        reasons.push(format!("it may use more CPU time than --cpu-limit permits on {}", list_first(which)));
    }
    reasons.join("; ")
}

/// The figures of a candidate's mean: "with 95 % confidence the average host's ratio is 1.40 – 1.57, p 0.0004; …".
pub fn certainty(fleet: &Fleet, candidate: &JudgedCandidate) -> Option<String> {
    let comparison = &candidate.comparison;
    let combined = comparison.combined.as_ref()?;
    let (_, interval) = shown(combined.ratio);
    let p = comparison.p_corrected.map(p_value).unwrap_or_default();
    let further = match combined.prediction {
        Some(prediction) => format!("a further host would show {}", shown(prediction).1),
        None => "two hosts do not tell what a further one would show".into(),
    };
    let anywhere = comparison.anywhere_p_corrected.map_or(String::new(), |p| {
        format!(
            "; that no host at all differs from its control has p {} (sign flips within the hosts)",
            p_value(p)
        )
    });
    let corrected = match fleet.candidates.len() {
        0 | 1 => String::new(),
        several => format!(" corrected for {several} candidates"),
    };
    Some(format!(
        "with 95 % confidence the average host's ratio is {interval}, p {p}{corrected}, {}; {further}{anywhere}.",
        strata(fleet, comparison.hosts.len())
    ))
}

/// The floor of the fleet: its noise, or what the digits of its figures hide.
pub fn noise(fleet: &Fleet) -> String {
    match fleet.analysis.noise_floor {
        Some(floor) if floor.is_of_digits() => format!(
            "Mean differences below {} may be due to rounding, because the figures of {} have so few digits: more hosts do not lower that.",
            effect(floor.factor),
            clean(&fleet.hosts[0].proof.analysis.control)
        ),
        Some(floor) => format!(
            "Mean differences below {} are within the noise, measured by running {} twice on each host.",
            effect(floor.factor),
            clean(&fleet.hosts[0].proof.analysis.control)
        ),
        None => "No two hosts ran the control twice, so the noise is that of the candidates.".into(),
    }
}

/// The results that do not say how their figures were printed.
fn without_steps(fleet: &Fleet) -> Option<String> {
    let files = fleet.hosts.iter().filter(|host| host.proof.lacks_steps()).map(|host| host.file.clone());
    let files: Vec<String> = files.collect();
    (!files.is_empty()).then(|| StoredProof::lack_of_steps(&list_first(files)))
}

/// Whether the effect differs between hosts.
pub fn heterogeneity(candidate: &JudgedCandidate, alpha: f64) -> Option<String> {
    let comparison = &candidate.comparison;
    let found = comparison.heterogeneity?;
    let tau = comparison.combined.as_ref()?.tau;
    let claim = match found.p <= alpha {
        true => "The effect differs between hosts",
        false => "No difference of the effect between hosts is shown",
    };
    Some(format!(
        "{claim}: Q {:.1} with {} degrees of freedom, p {} (Welch), I² {:.0} %, tau {}.",
        found.q,
        found.freedom,
        p_value(found.p),
        100.0 * found.i_squared,
        effect(tau.exp())
    ))
}

/// What a grouping of the hosts explains.
pub fn grouping(grouping: &Grouping, alpha: f64) -> String {
    let moderator = &grouping.moderator;
    let by = list(&grouping.properties, "and");
    let share = 100.0 * moderator.explained;
    let apart = match grouping.properties.len() {
        1 => "",
        _ => ", which divide the hosts alike and cannot be told apart",
    };
    let claim = match moderator.p <= alpha {
        true => format!("explains {share:.0} % of the differences (p {})", p_value(moderator.p)),
        false if moderator.smallest_attainable > alpha => {
            format!("would explain {share:.0} % of the differences, and so few hosts cannot prove it")
        }
        false => {
            format!("is not shown to explain the differences ({share:.0} %, p {})", p_value(moderator.p))
        }
    };
    format!("Grouped by {by}{apart}: this {claim}.")
}
