//! From files to reports.

use crate::fleet::Fleet;
use crate::testing::{HostModel, fleet};
use crate::{CombineSettings, next, run, sentence, text};
use std::fs;
use std::path::PathBuf;
use unspin_stats::Conclusion;

/// Hosts n1, n2, … with these ratios of the candidate `poll`.
fn hosts(ratios: &[f64]) -> Vec<HostModel> {
    ratios.iter().zip(1..).map(|(&ratio, n)| HostModel::new(&format!("n{n}"), &[("poll", ratio)])).collect()
}

/// The report on one line.
fn report(fleet: &Fleet) -> String {
    text::report(fleet).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn fleet_that_agrees_is_one_verdict() {
    let plan = "program = \"/x\"\n\n[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n";
    let hosts: Vec<HostModel> = hosts(&[1.5, 1.52, 1.48, 1.5, 1.51])
        .into_iter()
        .map(|host| HostModel { plan: Some(format!("# proven on {}\n\n{plan}", host.name)), ..host })
        .collect();
    let fleet = fleet(&hosts);
    assert_eq!(fleet.conclusion(), Conclusion::Faster);
    let report = report(&fleet);
    assert!(
        report.contains(
            "Proven: poll is faster in the fleet: on the average host 1.50 times as fast as system."
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
}

#[test]
fn effect_that_depends_on_the_processor_is_told_by_processor() {
    let mut hosts = hosts(&[1.5, 1.6, 1.4, 1.5, 1.55, 0.7, 0.72, 0.69]);
    hosts.iter_mut().skip(5).for_each(|host| host.processor = "Slow CPU".into());
    let fleet = fleet(&hosts);
    assert_eq!(fleet.conclusion(), Conclusion::NothingProven);
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
    let results = models.iter().map(|host| host.result(&format!("{}.json", host.name))).collect();
    let fleet = Fleet::of(results, 6);
    let report = report(&fleet);
    assert!(report.contains("4 of 6 hosts failed: n2 in n2.json (system failed in 8 of 8 runs"), "{report}");
    assert!(
        report.contains(
            "n3 in n3.json (3 rounds, interrupted; at least 5 are needed); 2 hosts wrote no result."
        ),
        "{report}"
    );
    assert!(report.contains("Measure again on n2 and n3."), "{report}");
    assert_eq!(fleet.conclusion(), Conclusion::Faster);
}

#[test]
fn candidate_that_failed_on_a_host_is_not_recommended() {
    let mut models = hosts(&[1.5, 1.5, 1.5, 1.5]);
    models.push(HostModel::new("n5", &[("poll", 0.0)]));
    let fleet = fleet(&models);
    assert_eq!(fleet.conclusion(), Conclusion::NothingProven);
    let said = sentence::verdict(&fleet, &fleet.candidates[0]);
    assert!(
        said.contains("and is not recommended: it is not ranked on 1 host (n5: poll failed in 8 of 8 runs"),
        "{said}"
    );
}

#[test]
fn candidate_that_a_host_did_not_measure_is_named_with_the_host() {
    let mut models = hosts(&[1.5, 1.5, 1.5]);
    models.push(HostModel::new("n4", &[("adaptive", 1.2)]));
    let fleet = fleet(&models);
    assert_eq!(fleet.conclusion(), Conclusion::NothingProven);
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
    assert_eq!(fleet(&hosts(&[0.7, 0.72, 0.71])).conclusion(), Conclusion::Slower);
    assert_eq!(fleet(&hosts(&[0.0, 0.0])).conclusion(), Conclusion::Failed);
    let open = fleet(&hosts(&[1.0, 1.001, 0.999]));
    assert_eq!(open.conclusion(), Conclusion::NothingProven);
    assert!(next::steps(&open)[0].starts_with("Measure more"), "{:?}", next::steps(&open));
}

/// Hosts whose speeds differ sixtyfold, and their numbers of rounds sixfold, count by their ratios. That pooled means can show the
/// opposite of every host (Simpson's paradox) is shown in `unspin_stats`.
#[test]
fn hosts_of_different_speed_and_rounds_count_by_their_ratios() {
    let slower = |name, speed, rounds| HostModel { speed, rounds, ..HostModel::new(name, &[("poll", 0.9)]) };
    let fleet = fleet(&[slower("fast", 1.0, 40), slower("middle", 8.0, 6), slower("slow", 60.0, 7)]);
    assert_eq!(fleet.conclusion(), Conclusion::Slower);
    let report = report(&fleet);
    assert!(
        report.contains("poll is slower in the fleet: on the average host 1.11 times as long as system."),
        "{report}"
    );
}

#[test]
fn results_of_one_host_are_said_to_be_so() {
    let mut models = hosts(&[1.5, 1.5, 1.5]);
    models.iter_mut().zip([1.5, 1.51, 1.52]).for_each(|(host, ratio)| {
        host.name = "vm".into();
        host.candidates[0].1 = ratio;
    });
    assert!(
        report(&fleet(&models))
            .contains("All results are of one host, vm: this is a verdict about its sessions")
    );
    models[2].name = "vm2".into();
    assert!(
        report(&fleet(&models)).contains("3 results are of 2 hosts: each result counts as a host of its own")
    );
}

#[test]
fn files_are_read_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let files: Vec<PathBuf> =
        hosts(&[1.5, 1.5, 1.5]).iter().map(|host| write(&host.name, &host.document())).collect();
    let json = folder.path().join("out.json");
    let of = |files: Vec<PathBuf>| CombineSettings {
        files,
        json: Some(json.clone()),
        ..CombineSettings::default()
    };
    let refused = |files: Vec<PathBuf>| run(&of(files)).unwrap_err().to_string();
    assert!(refused(files[..1].to_vec()).starts_with("one result is no fleet"));
    let with = |file: PathBuf| vec![files[0].clone(), files[1].clone(), file];
    assert!(refused(with(folder.path().join("none"))).contains("none: cannot be read: "));
    assert!(
        refused(with(write("cut.json", "{\"schema\": \"unspin.prove/3\", ")))
            .contains("cut.json: is not whole: ")
    );
    assert!(refused(with(write("other.json", "{}"))).contains("other.json: is not a result of unspin"));
    assert!(!json.exists(), "nothing was written");
    run(&CombineSettings { markdown: Some(folder.path().join("out.md")), ..of(files.clone()) }).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(document["schema"], "unspin.combine/1");
    assert_eq!(
        (document["conclusion"].as_str(), document["hosts"][2]["name"].as_str()),
        (Some("faster"), Some("n3"))
    );
    assert!(document["candidates"][0]["combined"]["ratio"]["lower"].as_f64().unwrap() > 1.4);
    assert!(
        fs::read_to_string(folder.path().join("out.md")).unwrap().contains("**poll is faster in the fleet")
    );
    let few = run(&CombineSettings { hosts: Some(2), ..of(files) }).unwrap_err().to_string();
    assert_eq!(few, "--hosts 2: 3 results are named: give the number of hosts that were to measure");
}
