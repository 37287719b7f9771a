//! Which property of the hosts explains why the effect differs.

use super::combined::{squares, tau_squared, weighted_mean, weights};
use super::{Combined, Stratum};
use crate::interval::Ratio;
use crate::random::Random;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// A property of hosts, and the effect in each group of hosts that have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moderator {
    /// The share of the variance between hosts that lies between the groups.
    pub explained: f64,
    /// The p value of "the groups do not differ": how often groups of these sizes, drawn at random, explain as much.
    pub p: f64,
    /// The smallest p that groups of these sizes could give, about.
    pub smallest_attainable: f64,
    /// The groups, in the order of their numbers.
    pub groups: Vec<ModeratorGroup>,
}

/// The hosts that have a property in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeratorGroup {
    /// The indices of its hosts.
    pub hosts: Vec<usize>,
    /// Their ratio: combined, or that of the only host.
    pub ratio: Ratio,
}

impl Moderator {
    /// The groups that `labels` tell, one for each host, counted from 0. `None` if there is one group only, or if each host is a
    /// group of its own: such groups explain nothing, or everything.
    ///
    /// # Panics
    /// If a number below the highest label is no host's.
    pub fn of(
        strata: &[Stratum],
        labels: &[usize],
        (confidence, power): (f64, f64),
        draws: u32,
        random: &mut Random,
    ) -> Option<Moderator> {
        let count = labels.iter().max()? + 1;
        if count < 2 || count >= strata.len() {
            return None;
        }
        let between = tau_squared(&[strata]);
        let grouped = |labels: &[usize]| -> Vec<Vec<Stratum>> {
            let mut groups = vec![Vec::new(); count];
            labels.iter().zip(strata).for_each(|(&label, &stratum)| groups[label].push(stratum));
            groups
        };
        let within = |labels: &[usize]| -> f64 {
            let of = |group: &Vec<Stratum>| {
                let weights: Vec<f64> = weights(group, between).collect();
                squares(group, between, weighted_mean(group, &weights))
            };
            grouped(labels).iter().map(of).sum()
        };
        let threshold = within(labels) * (1.0 + crate::p_value::TIE) + f64::MIN_POSITIVE;
        let mut drawn = labels.to_vec();
        let hits = (0..draws).filter(|_| {
            drawn.shuffle(random);
            within(&drawn) <= threshold
        });
        let p = (hits.count() as f64 + 1.0) / (f64::from(draws) + 1.0);
        let groups = grouped(labels);
        let rest = tau_squared(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let described = groups.iter().enumerate().map(|(number, group)| ModeratorGroup {
            hosts: (0..strata.len()).filter(|&host| labels[host] == number).collect(),
            ratio: Combined::of(group, confidence, power)
                .map_or_else(|| group[0].ratio(confidence), |combined| combined.ratio),
        });
        Some(Moderator {
            explained: if between > 0.0 { (1.0 - rest / between).max(0.0) } else { 0.0 },
            p,
            smallest_attainable: (1.0 / partitions(&groups)).max(1.0 / (f64::from(draws) + 1.0)),
            groups: described.collect(),
        })
    }
}

/// In how many ways hosts can be divided into groups of these sizes; groups of equal size are told apart.
fn partitions(groups: &[Vec<Stratum>]) -> f64 {
    let mut hosts = 0;
    let ways = groups.iter().flat_map(|group| 1..=group.len()).map(|nth| {
        hosts += 1;
        f64::from(hosts) / nth as f64
    });
    ways.product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn hosts(means: &[f64]) -> Vec<Stratum> {
        means.iter().map(|&mean| Stratum { rounds: 12, mean, variance: 0.0001 }).collect()
    }

    fn moderator(means: &[f64], labels: &[usize]) -> Option<Moderator> {
        Moderator::of(&hosts(means), labels, (0.95, 0.8), 1_999, &mut stream(1, Purpose::SignFlip))
    }

    #[test]
    fn property_that_explains_the_difference_is_found() {
        let means = [0.5, 0.51, 0.49, 0.5, 0.505, -0.1, -0.11, -0.1];
        let found = moderator(&means, &[0, 0, 0, 0, 0, 1, 1, 1]).unwrap();
        assert!(found.explained > 0.99 && found.p < 0.04, "{found:?}");
        assert!((found.smallest_attainable - 1.0 / 56.0).abs() < 1e-12);
        assert_eq!(found.groups[1].hosts, [5, 6, 7]);
        assert!(found.groups[0].ratio.lower > 1.0 && found.groups[1].ratio.upper < 1.0);
        let other = moderator(&means, &[0, 1, 0, 1, 0, 1, 0, 1]).unwrap();
        assert!(other.explained < 0.3 && other.p > 0.3, "{other:?}");
    }

    #[test]
    fn groups_that_cannot_explain_are_none() {
        assert_eq!(moderator(&[0.1, 0.2, 0.3], &[0, 0, 0]), None);
        assert_eq!(moderator(&[0.1, 0.2, 0.3], &[0, 1, 2]), None);
        assert_eq!(moderator(&[], &[]), None);
    }
}
