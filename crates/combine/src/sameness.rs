//! Do the results belong together?

use crate::compiled;
use crate::format::clean;
use crate::host::HostResult;
use std::fmt;
use unspin_report::shell_line;
use unspin_results::{StoredConfiguration, StoredProof};

/// Why results cannot be combined: what differs, and what to do. The text is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    pub(crate) fn new(text: impl Into<String>) -> Mismatch {
        Mismatch(text.into())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// Refuses results of different comparisons, and one session that is named twice. The message names the file and the difference.
pub fn check(results: &[HostResult]) -> Result<(), Mismatch> {
    for (index, result) in results.iter().enumerate() {
        if let Some(same) = results[..index].iter().find(|other| is_same_session(&other.proof, &result.proof))
        {
            return Err(Mismatch(format!(
                "{}: is the same session as {} (seed {} on {}): name each session once",
                result.file,
                same.file,
                result.proof.analysis.seed,
                clean(&result.proof.machine.host)
            )));
        }
        if let Some(difference) = difference(&results[0], result) {
            return Err(Mismatch(format!("{}: {}", result.file, clean(&difference))));
        }
        for other in &results[..index] {
            if let Some(difference) = other_configuration(other, result) {
                return Err(Mismatch(format!("{}: {}", result.file, clean(&difference))));
            }
        }
    }
    Ok(())
}

/// A copy. Times are measured in nanoseconds: two sessions never agree in all of them.
fn is_same_session(one: &StoredProof, other: &StoredProof) -> bool {
    let key =
        |proof: &StoredProof| (proof.analysis.seed, proof.elapsed_s.to_bits(), proof.machine.host.clone());
    let same_runs = one.runs == other.runs && one.analysis.seed == other.analysis.seed;
    same_runs && (!one.runs.is_empty() || key(one) == key(other))
}

/// How a result differs from the first in what was compared.
fn difference(first: &HostResult, result: &HostResult) -> Option<String> {
    let (file, one, other) = (&first.file, &first.proof, &result.proof);
    if one.command != other.command {
        let (one, other) = (shell_line(&one.command), shell_line(&other.command));
        return Some(format!(
            "measured `{other}`, and {file} measured `{one}`: combine results of one command"
        ));
    }
    if one.service != other.service {
        return Some(format!(
            "its --ready, --load or --stop is not that of {file}: combine results of one load"
        ));
    }
    let metric = |proof: &StoredProof| {
        let metric = &proof.analysis.metric;
        (format!("{} [{}]", metric.name, metric.unit), metric.direction)
    };
    let (metric_one, metric_other) = (metric(one), metric(other));
    if metric_one.0 != metric_other.0 {
        let (one, other) = (metric_one.0, metric_other.0);
        return Some(format!("its metric is {other}, and that of {file} is {one}: measure one metric"));
    }
    if metric_one.1 != metric_other.1 {
        return Some(format!(
            "more of its metric is better, and in {file} less, or the reverse: measure one direction"
        ));
    }
    let (control_one, control_other) = (&one.analysis.control, &other.analysis.control);
    (control_one != control_other).then(|| {
        format!(
            "its control is {control_other}, and that of {file} is {control_one}: compare with one control"
        )
    })
}

/// A configuration of the same name that is another one.
fn other_configuration(one: &HostResult, other: &HostResult) -> Option<String> {
    let parts = |c: &StoredConfiguration| {
        let scheduler = c.scheduler.as_ref().map(|scheduler| scheduler.command.clone());
        (c.engine.clone(), c.run_queue.clone(), scheduler, c.kernel.clone(), c.plan.is_some())
    };
    let (before, file) = (&one.proof.candidates, &one.file);
    let of = |c: &StoredConfiguration| {
        before.iter().find(|other| other.name == c.name).is_some_and(|other| parts(other) != parts(c))
    };
    if let Some(named) = other.proof.candidates.iter().find(|c| of(c)) {
        return Some(format!(
            "its candidate {} has another engine, run queue, scheduler, kernel or plan than that of {file}: combine results of the same candidates",
            named.name
        ));
    }
    other_scheduler(one, other).or_else(|| other_plan(one, other))
}

/// A scheduler that is loaded by the same command, and is another one.
fn other_scheduler(one: &HostResult, other: &HostResult) -> Option<String> {
    other.proof.candidates.iter().find_map(|configuration| {
        let same = one.proof.candidates.iter().find(|before| before.name == configuration.name)?;
        let (there, here) = (same.scheduler.as_ref()?, configuration.scheduler.as_ref()?);
        // One that was never enabled has no name.
        let (before, now) = (there.ops.as_ref()?, here.ops.as_ref()?);
        (before != now || there.reach != here.reach).then(|| {
            format!(
                "its candidate {} is the scheduler {now}, and that of {} is {before}: combine results of one version of a scheduler",
                configuration.name, one.file
            )
        })
    })
}

fn other_plan(one: &HostResult, other: &HostResult) -> Option<String> {
    let (before, file) = (&one.proof.candidates, &one.file);
    other.proof.candidates.iter().find_map(|configuration| {
        let same = before.iter().find(|before| before.name == configuration.name)?;
        let (there, here) =
            compiled::different_actions(same.plan.as_deref()?, configuration.plan.as_deref()?)?;
        Some(format!(
            "its candidate {} is {here}, and that of {file} is {there}: combine results of one plan",
            configuration.name
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HostModel;

    fn refusal(first: HostModel, second: HostModel) -> String {
        check(&[first.result("a.json"), second.result("b.json")]).unwrap_err().to_string()
    }

    #[test]
    fn different_comparisons_are_refused_with_file_and_difference() {
        let one = || HostModel::new("n1", &[("poll", 1.5)]);
        let two = || HostModel::new("n2", &[("poll", 1.4)]);
        assert!(check(&[one().result("a.json"), two().result("b.json")]).is_ok());
        let command = refusal(one(), HostModel { command: vec!["./y".into()], ..two() });
        assert_eq!(
            command,
            "b.json: measured `./y`, and a.json measured `./x 1`: combine results of one command"
        );
        let metric = refusal(one(), HostModel { metric: unspin_stats::Metric::cpu_time(), ..two() });
        assert_eq!(
            metric,
            "b.json: its metric is CPU time [s], and that of a.json is wall time [s]: measure one metric"
        );
        let control = refusal(one(), HostModel { control: "pi".into(), ..two() });
        assert!(control.starts_with("b.json: its control is pi, and that of a.json is system"), "{control}");
        let engine = refusal(one(), HostModel { engine: "rcu".into(), ..two() });
        assert!(engine.starts_with("b.json: its candidate system has another engine"), "{engine}");
        let lavd = |version: &str| Some(format!("lavd_{version}"));
        let scheduled = HostModel { scheduler: lavd("1.0"), ..one() };
        assert!(
            check(&[
                scheduled.result("a.json"),
                HostModel { scheduler: lavd("1.0"), ..two() }.result("b.json")
            ])
            .is_ok()
        );
        assert_eq!(
            refusal(scheduled.clone(), HostModel { scheduler: lavd("1.1"), ..two() }),
            "b.json: its candidate poll is the scheduler lavd_1.1, and that of a.json is lavd_1.0: combine results of one version of a \
             scheduler"
        );
        let another = refusal(scheduled, two());
        assert!(
            another
                .starts_with("b.json: its candidate poll has another engine, run queue, scheduler, kernel"),
            "{another}"
        );
        let plan = |text: &str| Some(format!("unspin plan 2\n{text}\n"));
        let one = HostModel { compiled: plan("waits\tpoll"), ..one() };
        assert_eq!(
            refusal(one, HostModel { compiled: plan("adaptive\tall"), ..two() }),
            "b.json: its candidate poll is adaptive for all mutexes, and that of a.json is poll for all waits: combine results of one \
             plan"
        );
    }

    #[test]
    fn same_session_is_refused_and_the_same_seed_is_not() {
        let one = || HostModel::new("n1", &[("poll", 1.5)]);
        assert_eq!(
            refusal(one(), one()),
            "b.json: is the same session as a.json (seed 7 on n1): name each session once"
        );
        let mut copy = one().result("b.json");
        copy.proof.machine.host = "n2".into();
        let refused = check(&[one().result("a.json"), copy]).unwrap_err().to_string();
        assert!(refused.contains("is the same session as a.json"), "{refused}");
        assert!(
            check(&[one().result("a.json"), HostModel::new("n1", &[("poll", 1.6)]).result("b.json")]).is_ok()
        );
    }
}
