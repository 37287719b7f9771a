//! From results to reports.

use crate::testing::{HostModel, build, combined, results};
use crate::{HostResult, Markdown, Text, combine};
use unspin_results::CombinedResults;
use unspin_stats::{Conclusion, Direction, Metric};

/// Hosts n1, n2, … with these ratios of the candidate `poll`.
fn hosts(ratios: &[f64]) -> Vec<HostModel> {
    ratios.iter().zip(1..).map(|(&ratio, n)| HostModel::new(&format!("n{n}"), &[("poll", ratio)])).collect()
}

/// The report on one line.
fn report(fleet: &CombinedResults) -> String {
    Text(fleet).to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn fleet_that_agrees_is_one_verdict() {
    let plan = "program = \"/x\"\n\n[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n";
    let hosts: Vec<HostModel> = hosts(&[1.5, 1.52, 1.48, 1.5, 1.51])
        .into_iter()
        .map(|host| HostModel { plan: Some(format!("# proven on {}\n\n{plan}", host.name)), ..host })
        .collect();
    let fleet = combined(&hosts);
    assert_eq!(fleet.conclusion, Conclusion::Faster);
    let report = report(&fleet);
    assert!(
        report.contains(
            "Proven: poll is faster in the fleet: on the average host 1.50 times as fast as system, with 1.30 times the CPU time."
        ),
        "{report}"
    );
    assert!(
        report.contains("poll with system, by wall time, lower is better: 5 hosts with 40 rounds"),
        "{report}"
    );
    assert!(
        report.contains("The plans that 5 hosts proved are the same")
            && report.contains("policy = \"poll\"")
            && !report.contains("# proven on"),
        "{report}"
    );
    assert!(report.contains("a further host"), "{report}");
    let markdown = Markdown(&fleet).to_string();
    assert!(markdown.contains("are the same (below): `unspin run --use-plan FILE -- "), "{markdown}");
}

/// Issue 30: searches that found nothing were combined without a word about what is proven, and what to do.
#[test]
fn searches_that_found_nothing_say_how_to_give_a_candidate() {
    for rounds in [8, 0] {
        let hosts = ["n1", "n2"].map(|name| HostModel { rounds, ..HostModel::new(name, &[]) });
        let fleet = combined(&hosts);
        assert_eq!((fleet.conclusion, fleet.candidates.len()), (Conclusion::Failed, 0));
        let text = report(&fleet);
        for part in [
            "Compared: no candidate with system, by wall time",
            "Proven: nothing, because no host judged a candidate.",
            "What to do Judge the same candidate on each host: give one to `unspin prove` (--mutex, --waits, --use-plan FILE).",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("Measure again") && !text.contains("are needed"), "{text}");
        let markdown = Markdown(&fleet).to_string();
        assert!(
            markdown.contains("\n- **Proven: nothing, because no host judged a candidate.**\n"),
            "{markdown}"
        );
    }
}

/// Issue 30: p99s that are printed as 3 ms and as 2 ms on each of eight hosts may be 2.51 and 2.49 ms.
#[test]
fn digits_that_all_hosts_have_in_common_prove_nothing() {
    let of = |speed: f64, ratio: f64| {
        let coarse = |host: HostModel| HostModel {
            speed,
            step: Some(1e-3),
            metric: Metric::custom("p99", "s", Direction::LowerIsBetter),
            ..host
        };
        let hosts: Vec<HostModel> = hosts(&[ratio; 8]).into_iter().map(coarse).collect();
        combined(&hosts)
    };
    for (speed, ratio) in [(3e-3, 1.5), (2e-3, 2.0 / 3.0)] {
        let fleet = of(speed, ratio);
        assert_eq!(fleet.conclusion, Conclusion::NothingProven);
        let report = report(&fleet);
        assert!(
            report.contains("nothing about poll: the figures have so few digits that rounding may explain")
                && report
                    .contains("may be due to rounding, because the figures of system have so few digits")
                && report.contains("What to do Let the program print more digits")
                && !report.contains("measured by running"),
            "{report}"
        );
    }
    let fleet = of(12e-3, 3.0);
    assert_eq!(fleet.conclusion, Conclusion::Faster);
    let report = report(&fleet);
    assert!(
        report.contains("Mean differences below 8.7 % may be due to rounding, because the figures of system"),
        "{report}"
    );
    let comparison = &fleet.candidates[0].comparison;
    assert!((comparison.rounding.unwrap() - 13.5 / 11.5).abs() < 1e-6, "{comparison:?}");
    let ratio = comparison.combined.as_ref().unwrap().ratio;
    // 11.5 by 4.5 ms, and 12.5 by 3.5.
    assert!(ratio.lower < 11.5 / 4.5 && ratio.upper > 12.5 / 3.5, "{ratio:?}");
}

#[test]
fn effect_that_depends_on_the_processor_is_told_by_processor() {
    let mut hosts = hosts(&[1.5, 1.6, 1.4, 1.5, 1.55, 0.7, 0.72, 0.69]);
    hosts.iter_mut().skip(5).for_each(|host| host.processor = "Slow CPU".into());
    let fleet = combined(&hosts);
    assert_eq!(fleet.conclusion, Conclusion::NothingProven);
    let report = report(&fleet);
    assert!(
        report.contains("poll depends on the host: faster on 5 hosts, slower on 3 hosts: n6, n7 and n8. It is not recommended"),
        "{report}"
    );
    assert!(report.contains("Grouped by processor: this explains"), "{report}");
    assert!(report.contains("Slow CPU: 0.70 (") && report.contains(") on n6, n7, n8"), "{report}");
    assert!(report.contains("Decide on poll for each group of hosts, by processor"), "{report}");
}

#[test]
fn failed_hosts_are_counted_and_named() {
    let mut models = hosts(&[1.5, 1.5, 1.5, 1.5]);
    models[1].speed = -1.0;
    models[2] = HostModel { rounds: 3, interrupted: true, ..models[2].clone() };
    let fleet = combine(results(&models), Some(6), build()).unwrap();
    let report = report(&fleet);
    assert!(report.contains("4 of 6 hosts failed: n2 in n2.json (system failed in 8 of 8 runs"), "{report}");
    assert!(
        report.contains(
            "n3 in n3.json (3 rounds, interrupted; at least 5 are needed); 2 hosts wrote no result."
        ),
        "{report}"
    );
    assert!(report.contains("Measure again on n2 and n3."), "{report}");
    assert_eq!(fleet.conclusion, Conclusion::NothingProven);
}

#[test]
fn candidate_that_failed_on_a_host_is_not_recommended() {
    let mut models = hosts(&[1.5, 1.5, 1.5, 1.5]);
    models.push(HostModel::new("n5", &[("poll", 0.0)]));
    let fleet = combined(&models);
    assert_eq!(fleet.conclusion, Conclusion::NothingProven);
    let said = &fleet.candidates[0].sentence;
    assert!(
        said.contains("and is not recommended: it is not ranked on 1 host (n5: poll failed in 8 of 8 runs"),
        "{said}"
    );
}

#[test]
fn candidate_that_a_host_did_not_measure_is_named_with_the_host() {
    let mut models = hosts(&[1.5, 1.5, 1.5]);
    models.push(HostModel::new("n4", &[("adaptive", 1.2)]));
    let fleet = combined(&models);
    assert_eq!(fleet.conclusion, Conclusion::NothingProven);
    let report = report(&fleet);
    assert!(report.contains("1 host did not measure it in enough rounds (n4)"), "{report}");
    assert!(
        report.contains("Measure poll on n4")
            && report.contains("nothing about adaptive, because one host alone"),
        "{report}"
    );
}

#[test]
fn slower_everywhere_failed_everywhere_and_nothing_have_their_codes() {
    assert_eq!(combined(&hosts(&[0.7, 0.72, 0.71])).conclusion, Conclusion::Slower);
    assert_eq!(combined(&hosts(&[0.0, 0.0])).conclusion, Conclusion::Failed);
    let open = combined(&hosts(&[1.0, 1.001, 0.999]));
    assert_eq!(open.conclusion, Conclusion::NothingProven);
    assert!(open.next[0].starts_with("Measure more"), "{:?}", open.next);
}

/// Hosts whose speeds differ sixtyfold, and their numbers of rounds sixfold, count by their ratios. That pooled means can show the
/// opposite of every host (Simpson's paradox) is shown in `unspin_stats`.
#[test]
fn hosts_of_different_speed_and_rounds_count_by_their_ratios() {
    let slower = |name, speed, rounds| HostModel { speed, rounds, ..HostModel::new(name, &[("poll", 0.9)]) };
    let fleet = combined(&[slower("fast", 1.0, 40), slower("middle", 8.0, 6), slower("slow", 60.0, 7)]);
    assert_eq!(fleet.conclusion, Conclusion::Slower);
    let report = report(&fleet);
    assert!(
        report.contains("poll is slower in the fleet: on the average host 1.11 times as long as system, with 1.30 times the CPU time."),
        "{report}"
    );
}

#[test]
fn names_of_hosts_are_not_taken_twice() {
    let mut models = hosts(&[1.5, 1.51, 1.52, 1.53]);
    for (host, name) in models.iter_mut().zip(["h", "h", "h (2)", "n"]) {
        host.name = name.into();
    }
    models[1].candidates[0].1 = 1.6;
    let names: Vec<String> = combined(&models).hosts.into_iter().map(|host| host.name).collect();
    assert_eq!(names, ["h", "h (3)", "h (2)", "n"]);
}

#[test]
fn disturbed_hosts_are_named_with_what_they_lost() {
    let mut models = hosts(&[1.5, 1.51, 1.52]);
    assert!(!report(&combined(&models)).contains("Other programs"));
    (models[1].others, models[2].others) = (0.8, 0.06);
    let report = report(&combined(&models));
    let said = "Other programs and the hypervisor took 80 % of the CPUs on n2 and 6 % of the CPUs on n3. ";
    assert!(report.contains(said), "{report}");
}

#[test]
fn results_of_one_host_are_said_to_be_so() {
    let mut models = hosts(&[1.5, 1.5, 1.5]);
    models.iter_mut().zip([1.5, 1.51, 1.52]).for_each(|(host, ratio)| {
        host.name = "vm".into();
        host.candidates[0].1 = ratio;
    });
    assert!(
        report(&combined(&models))
            .contains("All results are of one host, vm: this is a verdict about its sessions")
    );
    models[2].name = "vm2".into();
    assert!(report(&combined(&models)).contains(
        "3 results are of 2 hosts: each result is a stratum, and several of one host are sessions of it"
    ));
}

/// Two sessions of one host are no measurement on a third one.
#[test]
fn host_without_a_result_is_missed_where_another_has_two() {
    let mut models = hosts(&[1.5, 1.51, 1.52]);
    models[2].name = "n2".into();
    let of = |expected| combine(results(&models), expected, build()).unwrap();
    assert_eq!((of(None).conclusion, of(None).hosts_expected), (Conclusion::Faster, 2));
    assert_eq!(of(Some(2)).conclusion, Conclusion::Faster);
    let fleet = of(Some(3));
    assert_eq!(fleet.conclusion, Conclusion::NothingProven);
    let report = report(&fleet);
    assert!(report.contains("3 results of 2 hosts with 24 rounds"), "{report}");
    assert!(report.contains("1 of 3 hosts failed: 1 host wrote no result."), "{report}");
    assert!(
        report.contains("on the 3 results that ranked it") && report.contains("1 host measured nothing"),
        "{report}"
    );
}

/// Copies of an image have one name; another processor is another machine.
#[test]
fn machines_of_one_name_are_several_hosts() {
    let mut models = hosts(&[1.5, 1.51, 1.52]);
    models.iter_mut().for_each(|model| model.name = "localhost".into());
    models[1].processor = "Slow CPU".into();
    models[2].processor = "Other CPU".into();
    let fleet = combine(results(&models), Some(3), build()).unwrap();
    assert_eq!(fleet.conclusion, Conclusion::Faster);
    let report = report(&fleet);
    assert!(report.contains("3 hosts with") && !report.contains("of one host"), "{report}");
    models[2].rounds = 3;
    let report = self::report(&combine(results(&models), Some(3), build()).unwrap());
    assert!(report.contains("1 of 3 hosts failed: localhost (3) in "), "{report}");
}

/// What a session of a host did not measure, another one has.
#[test]
fn failed_session_is_no_failed_host_where_another_session_measured() {
    let mut models = hosts(&[1.5, 1.51, 1.52]);
    (models[2].name, models[2].rounds, models[2].interrupted) = ("n2".into(), 3, true);
    let mut results = results(&models);
    results[2].file = "second.json".into();
    let fleet = combine(results, Some(2), build()).unwrap();
    let report = report(&fleet);
    assert!(
        report.contains("Of hosts with several results 1 result failed: n2 (2) in second.json (3 rounds"),
        "{report}"
    );
    assert!(!report.contains("of 2 hosts failed"), "{report}");
    assert_eq!(fleet.conclusion, Conclusion::Faster);
}

#[test]
fn too_few_results_and_too_many_for_the_fleet_are_refused() {
    let refused =
        |results: Vec<HostResult>, expected| combine(results, expected, build()).unwrap_err().to_string();
    let three = results(&hosts(&[1.5, 1.5, 1.5]));
    assert!(refused(three[..1].to_vec(), None).starts_with("one result is no fleet"));
    let few = refused(three, Some(2));
    assert_eq!(few, "--hosts 2: results of 3 hosts are named: give the number of hosts that were to measure");
}

#[test]
fn document_is_read_back_as_it_was_written() {
    let mut models = hosts(&[1.5, 1.6, 1.4, 1.5, 1.55, 0.7, 0.72, 0.69]);
    models.iter_mut().skip(5).for_each(|host| host.processor = "Slow CPU".into());
    for models in [&models[..], &models[..2], &hosts(&[0.0, 0.0]), &hosts(&[1.0, 1.001, 0.999])] {
        let written = combined(models);
        let read: CombinedResults = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        assert_eq!(read, written);
    }
}

/// Issue 30: of a thousand hosts the verdict named 334, and so did the heading of the page.
#[test]
fn verdict_about_many_hosts_names_the_first() {
    let of_other_speed = |(host, n): (HostModel, u32)| HostModel { speed: 1.0 + 0.01 * f64::from(n), ..host };
    let hosts: Vec<HostModel> =
        hosts(&[1.5, 0.7].repeat(20)).into_iter().zip(0..).map(of_other_speed).collect();
    let fleet = combined(&hosts);
    let verdict = &fleet.candidates[0].sentence;
    let names = ": n2, n4, n6, n8, n10, n12, n14, n16, n18, n20, and 10 more. It is not recommended for all.";
    assert!(verdict.ends_with(names), "{verdict}");
    let lost: Vec<HostModel> = hosts.into_iter().map(|host| HostModel { rounds: 1, ..host }).collect();
    let report = report(&combined(&lost));
    assert!(
        report.contains("n10 in n10.json (1 rounds; at least 5 are needed); and 30 more. The verdict"),
        "{report}"
    );
    assert!(
        report.contains("Measure again on n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, and 30 more."),
        "{report}"
    );
}
