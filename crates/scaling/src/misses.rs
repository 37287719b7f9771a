//! What the runs of a program show that the model does not have.

use unspin_figures::Percent;

/// If a program sleeps more than this many times as often as on one CPU, its behaviour has changed.
const MORE_SLEEPS: f64 = 1.5;
/// A program that keeps less than this of one CPU busy waits for something that the model does not have.
const BUSY: f64 = 0.9;
/// The share of each of several CPUs that counts as busy. Other programs take some of them.
const BUSY_OF_SEVERAL: f64 = 0.75;

/// A sentence for each thing that the model lacks. `sleeps` are the voluntary context switches for each unit of work, `busy` the CPUs
/// kept busy, both by number of CPUs; `has_lock` says whether the model has a contended lock.
///
/// ```
/// let said = unspin_scaling::misses::sentences(&[(1, 4.0), (2, 5.0)], &[(1, 0.34), (2, 0.5)], true);
/// assert!(said[0].starts_with("On one CPU the program used 34 % of it."));
/// assert_eq!(said.len(), 1);
/// ```
pub fn sentences(sleeps: &[(u32, f64)], busy: &[(u32, f64)], has_lock: bool) -> Vec<String> {
    let mut texts = Vec::new();
    let (one, most) = (sleeps.first(), sleeps.last());
    if let (Some((_, one)), Some((cpus, most))) = (one, most)
        && *most > MORE_SLEEPS * one
        && *most > 1.0
    {
        texts.push(format!(
            "On {cpus} CPUs threads sleep {:.1} times as often for the same work as on one. Runs on one CPU cannot show \
             these waits, and the model takes them for a cost of the lock.",
            most / one.max(f64::MIN_POSITIVE)
        ));
    }
    if let Some((_, busy)) = busy.first().filter(|(_, busy)| *busy < BUSY) {
        texts.push(format!(
            "On one CPU the program used {} of it. The model has no other waits than those for locks and CPUs, so it \
             expects too much of more CPUs.",
            Percent::TwoDigits.of(*busy)
        ));
    } else if let Some((cpus, busy)) = busy.last().filter(|(cpus, _)| *cpus > 1)
        && !has_lock
        && *busy < BUSY_OF_SEVERAL * f64::from(*cpus)
    {
        texts.push(format!(
            "On {cpus} CPUs the program kept {busy:.1} of them busy, and no lock explains that: its threads wait for each other, \
             for devices or for other programs, which the model does not have."
        ));
    }
    texts
}
