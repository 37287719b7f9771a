//! The property of the hosts on which the effect depends.

use crate::format::clean;
use crate::host::HostResult;
use unspin_results::Grouping;
use unspin_stats::Settings;
use unspin_stats::fleet::{FleetCandidate, Moderator, Stratum};
use unspin_stats::random::{Purpose, stream};

/// A property of hosts.
type Property = (&'static str, fn(&HostResult) -> String);

const PROPERTIES: [Property; 4] = [
    ("processor", |host| clean(&host.proof.machine.processor)),
    ("kernel", |host| clean(&host.proof.machine.kernel)),
    ("CPUs", |host| format!("{} CPUs", host.proof.machine.cpus)),
    ("unspin", |host| {
        let build = &host.proof.unspin;
        clean(&format!("unspin {} ({})", build.version, build.commit))
    }),
];

/// The hosts that measured a candidate by each property that can explain a difference: the best explanation first. The sentences
/// are written later.
pub fn groupings(
    hosts: &[HostResult],
    candidate: &FleetCandidate,
    settings: &Settings,
    seed: u64,
) -> Vec<Grouping> {
    let measured = candidate.hosts.iter().filter_map(|rounds| Some((rounds.host, rounds.stratum()?)));
    let (numbers, strata): (Vec<usize>, Vec<Stratum>) = measured.unzip();
    let levels = (settings.confidence, settings.power);
    let mut found: Vec<(Vec<usize>, Grouping)> = Vec::new();
    for (property, value) in PROPERTIES {
        let mut values: Vec<String> = Vec::new();
        let labels: Vec<usize> = numbers
            .iter()
            .map(|&number| {
                let value = value(&hosts[number]);
                values.iter().position(|known| *known == value).unwrap_or_else(|| {
                    values.push(value);
                    values.len() - 1
                })
            })
            .collect();
        if let Some((_, same)) = found.iter_mut().find(|(known, _)| *known == labels) {
            same.properties.push(property.into());
            same.values.iter_mut().zip(values).for_each(|(all, value)| *all = format!("{all}, {value}"));
            continue;
        }
        let random = &mut stream(seed, Purpose::SignFlip);
        let Some(mut moderator) = Moderator::of(&strata, &labels, levels, settings.draws, random) else {
            continue;
        };
        for group in &mut moderator.groups {
            group.hosts.iter_mut().for_each(|host| *host = numbers[*host]);
        }
        let properties = vec![property.to_owned()];
        found.push((labels, Grouping { properties, values, moderator, sentence: String::new() }));
    }
    let mut all: Vec<Grouping> = found.into_iter().map(|(_, grouping)| grouping).collect();
    all.sort_by(|a, b| b.moderator.explained.total_cmp(&a.moderator.explained));
    all
}
