//! What the later side costs in CPU time.

use super::{compare, simulated, slower};
use crate::testing::build;
use crate::{CompareOptions, Markdown, Session, Text};
use unspin_results::{ComparisonConclusion as Conclusion, StoredProof};
use unspin_stats::{CpuCostUnit, Run};

/// Every run of these sessions uses this CPU time; of a candidate `times` as much. Runs differ by a part in a thousand.
fn with_cpu(mut session: Session, seconds: f64, times: f64) -> Session {
    let set = |runs: &mut Vec<Run>, seconds: f64| {
        let each = runs.iter_mut().zip(0u8..);
        each.for_each(|(run, n)| run.cpu_s = Some(seconds * (1.0 + 0.001 * f64::from(n % 3))));
    };
    let StoredProof { analysis, no_preload, .. } = &mut session.proof;
    set(&mut analysis.control_runs, seconds);
    let all = analysis.comparisons.iter_mut().chain(no_preload);
    all.for_each(|c| set(&mut c.runs, if c.name == "poll" { times * seconds } else { seconds }));
    session
}

/// Issue 30: `prove` and `combine` state the price of what they prove.
#[test]
fn verdict_states_the_price_in_cpu_time() {
    let options = CompareOptions { configurations: vec!["system".into()], ..CompareOptions::default() };
    let before = || with_cpu(slower(1.3, 1), 1.0, 1.0);
    let price = |after: Session| {
        let result = compare(&before(), &after, &options);
        assert_eq!(result.conclusion, Conclusion::Better);
        let price = result.sentence.split_once(" before").unwrap().1.to_owned();
        (price, result.figures[0].judged.cpu, result)
    };
    let (said, cpu, result) = price(with_cpu(slower(1.0, 2), 1.31, 1.0));
    assert_eq!(said, ", with 1.31 times the CPU time.");
    let sentence = &result.figures[0].judged.sentence;
    assert!(
        sentence.contains("proven. CPU time: 1.31 (") && sentence.ends_with(") times that before."),
        "{sentence}"
    );
    let cpu = cpu.unwrap();
    assert!(
        cpu.differs && cpu.per == CpuCostUnit::Run && (cpu.after / cpu.before - cpu.times.value).abs() < 1e-9
    );
    for shown in [Text(&result).to_string(), Markdown(&result).to_string()] {
        assert!(
            shown
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(", with 1.31 times the CPU time.")
        );
    }
    let same = price(with_cpu(slower(1.0, 2), 1.0, 1.0));
    assert!(same.0 == "." && !same.1.unwrap().differs, "{same:?}");
    let unknown = price(slower(1.0, 2));
    assert_eq!((unknown.0.as_str(), unknown.1), (".", None));
}

/// Sessions of other machines compare what the candidate costs relative to the control.
#[test]
fn price_of_a_gain_is_relative_to_the_control() {
    let session = |host: &str, gain, seconds, times, seed| {
        let mut session = simulated(|s| s.gain = gain, seed);
        session.proof.machine.host = host.into();
        with_cpu(session, seconds, times)
    };
    let sides = [session("a", 1.2, 1.0, 1.1, 1), session("b", 2.0, 5.0, 1.43, 2)];
    let result = compare(&sides[0], &sides[1], &CompareOptions::default());
    assert!(
        result.sentence.ends_with(" times that before, with 1.30 times the CPU time relative to system."),
        "{}",
        result.sentence
    );
    let cpu = result.gains[0].judged.cpu.unwrap();
    assert!((cpu.before - 1.1).abs() < 1e-9 && (cpu.after - 1.43).abs() < 1e-9, "{cpu:?}");
    let several = |host: &str, gain, times| -> Vec<Session> {
        (0..3).map(|n| session(host, gain, 1.0, times, 10 + n + if host == "b" { 10 } else { 0 })).collect()
    };
    let result = crate::compare(
        &several("a", 1.2, 1.1),
        &several("b", 2.0, 1.43),
        &CompareOptions::default(),
        build(),
    );
    assert!(
        result.as_ref().unwrap().sentence.contains("with 1.30 times the CPU time relative to system"),
        "{result:?}"
    );
}

/// As in `prove`: a load of a fixed time serves more requests with the same CPU time.
#[test]
fn price_is_that_of_a_request_where_requests_are_known() {
    let with_requests = |mut session: Session, requests| {
        session.proof.analysis.control_runs.iter_mut().for_each(|run| run.samples = Some(requests));
        with_cpu(session, 1.0, 1.0)
    };
    let options = CompareOptions { configurations: vec!["system".into()], ..CompareOptions::default() };
    let sides = [with_requests(slower(1.3, 1), 1000), with_requests(slower(1.0, 2), 2000)];
    let result = compare(&sides[0], &sides[1], &options);
    assert!(
        result.sentence.ends_with("before, with 0.50 times the CPU time per request."),
        "{}",
        result.sentence
    );
    assert_eq!(result.figures[0].judged.cpu.unwrap().per, CpuCostUnit::Request);
}
