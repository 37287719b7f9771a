//! `unspin scale`: runs are bound to the CPUs, predictions are marked, bad input is one line.

use crate::common::{Background, compiled, finish, schema, skip, unspin, wait_until};
use serde_json::Value;
use std::fs;
use unspin_sys::child::{self, Signal};

/// A load whose queues are guarded by a mutex, and which takes some tens of milliseconds: its figure has whole ones.
const QUEUES: [&str; 8] = ["hackbench", "2", "-f", "4", "-l", "300", "--transport", "queue"];

fn cpus_here() -> u32 {
    unspin_sys::sched::affinity_count() as u32
}

fn json_of(options: &[&str], command: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scale.json");
    let mut scale = unspin(&["scale", "--quiet", "--json"]);
    let (out, err, code) = finish(scale.arg(&file).args(options).args(command));
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    (schema::read("scale", &file), out)
}

#[test]
fn one_cpu_gives_predictions_that_nothing_checks() {
    let options = ["--cpus", "1", "--predict", "2,8", "--runs", "2", "--mutex", "adaptive"];
    let (json, out) = json_of(&options, &QUEUES);
    let names: Vec<&str> =
        json["configurations"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["system", "adaptive"]);
    for configuration in json["configurations"].as_array().unwrap() {
        let fit = &configuration["fit"];
        assert_eq!(fit["validations"].as_array().unwrap().len(), 0);
        let predictions = fit["predictions"].as_array().unwrap();
        let sources: Vec<&str> = predictions.iter().map(|p| p["source"].as_str().unwrap()).collect();
        assert_eq!(sources, ["measured", "predicted", "far_beyond"]);
        assert!(predictions[1]["interval"].is_null() && predictions[1]["throughput"].as_f64().unwrap() > 0.0);
        assert!(configuration["lock"]["acquisitions"].as_f64().unwrap() > 100.0, "{configuration}");
    }
    assert!(out.contains("nothing checks these predictions"), "{out}");
    let rows = |what: &str| out.lines().filter(|line| line.ends_with(what)).count();
    assert_eq!([rows(" measured"), rows(" predicted"), rows(" predicted, far beyond")], [2, 2, 2], "{out}");
    assert!(out.contains("adaptive against system: "), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn read_write_locks_and_spin_locks_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("read_and_write.c", folder.path()) else { return };
    let options =
        ["--cpus", "1", "--predict", "2", "--runs", "2", "--rwlock", "rw-fair,rw-biased@table_lock"];
    let (json, out) =
        json_of(&[&options[..], &["--spin", "adaptive"]].concat(), &[program.to_str().unwrap()]);
    let configurations = json["configurations"].as_array().unwrap();
    let names: Vec<&str> = configurations.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["system", "rw-fair", "rw-biased@table_lock", "spin adaptive"]);
    for configuration in configurations {
        let lock = &configuration["lock"];
        // A quarter of the acquisitions are for writing; the others exclude no reader.
        assert_eq!((&lock["name"], &lock["for_writing"]), (&Value::from("table_lock"), &Value::from(true)));
        let style =
            if configuration["name"].as_str().unwrap().starts_with("rw-") { "spin" } else { "barging" };
        assert_eq!(lock["style"], style, "{configuration}");
    }
    assert!(out.contains("table_lock, held for writing for "), "{out}");
}

#[test]
fn several_cpus_are_predicted_from_fewer() {
    if cpus_here() < 2 {
        return skip("several_cpus_are_predicted_from_fewer", "it needs two CPUs");
    }
    let (json, out) = json_of(&["--cpus", "1,2", "--runs", "2", "--predict", "4"], &QUEUES);
    let control = &json["configurations"][0];
    let validation = &control["fit"]["validations"][0];
    assert_eq!((&validation["cpus"], &validation["from"]), (&Value::from(2), &Value::from(1)));
    let prediction = &control["fit"]["predictions"][2];
    assert_eq!(prediction["cpus"], Value::from(4));
    // The machine decides whether the runs bear a prediction.
    assert!(["predicted", "unborne"].contains(&prediction["source"].as_str().unwrap()), "{prediction}");
    let at = |n: usize| prediction["interval"][n].as_f64().unwrap();
    let value = prediction["throughput"].as_f64().unwrap();
    assert!(at(0) <= value && value <= at(1), "{prediction}");
    // Four kinds by default, beside the control; two rounds on two numbers of CPUs.
    assert_eq!(json["runs"].as_array().unwrap().len(), 2 * 2 * 5, "{out}");
    assert!(out.contains("Checked: the fit on 1 CPU predicts "), "{out}");
    assert!(json["machine_cost"]["transfer_s"].as_f64().unwrap() > 0.0);
}

/// The model expects twice as much of two CPUs, and gets as much as of one.
#[test]
fn refuted_model_predicts_nothing() {
    if cpus_here() < 2 {
        return skip("refuted_model_predicts_nothing", "it needs two CPUs");
    }
    let options =
        ["--cpus", "1,2", "--predict", "4,8", "--runs", "2", "--metric", "tps: ", "--higher-is-better"];
    let (json, out) = json_of(&options, &["sh", "-c", "echo tps: 12.5"]);
    let predictions = json["configurations"][0]["fit"]["predictions"].as_array().unwrap();
    let sources: Vec<&str> = predictions.iter().map(|p| p["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["measured", "measured", "unborne", "unborne"]);
    assert_eq!(out.lines().filter(|line| line.ends_with(" no prediction")).count(), 2, "{out}");
    let flowing = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flowing.contains("Next: the model misses what was measured by up to 100 %. So it predicts nothing: measure on a machine"),
        "{out}"
    );
}

/// The thread that only waits for the end of the others cannot run beside them.
#[test]
fn joining_thread_is_no_thread_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("joined.c", folder.path()) else { return };
    let options = ["--cpus", "1", "--runs", "2", "--mutex", "adaptive"];
    let (json, out) = json_of(&options, &[program.to_str().unwrap()]);
    assert_eq!(json["configurations"][0]["lock"]["threads"], Value::from(2), "{out}");
}

#[test]
fn each_run_has_the_cpus_of_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpus");
    let script = format!("nproc >> {}", file.display());
    let list = if cpus_here() < 2 { "1" } else { "1,2" };
    json_of(&["--cpus", list, "--runs", "3"], &["sh", "-c", &script]);
    let lines = fs::read_to_string(&file).unwrap();
    let with = |cpus: &str| lines.lines().filter(|line| *line == cpus).count();
    // The metered run is on one CPU, too.
    let expected = if cpus_here() < 2 { (4, 0) } else { (4, 3) };
    assert_eq!((with("1"), with("2")), expected, "{lines}");
}

/// The third run, in the second round, does not end by itself.
#[test]
fn interrupt_before_the_second_round_keeps_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let [count, json, out] = ["count", "scale.json", "out"].map(|name| folder.path().join(name));
    let script = format!(
        "echo run >> {0}; if [ $(wc -l < {0}) -ge 3 ]; then exec sleep 600; fi; echo tps: 12.5",
        count.display()
    );
    let mut scale = unspin(&["scale", "--cpus", "1", "--metric", "tps: ", "--higher-is-better", "--json"]);
    scale.arg(&json).args(["sh", "-c", &script]);
    let mut run = Background::start_with_output(scale, &out);
    wait_until("the third run has begun", || {
        fs::read_to_string(&count).unwrap_or_default().lines().count() == 3
    });
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(130), "{}", run.rest());
    let out = fs::read_to_string(&out).unwrap();
    assert!(
        out.contains("Nothing is predicted: a fit needs 2 complete rounds. Measured, in tps:\n"),
        "{out}"
    );
    assert!(out.contains(", 1 CPU: 12.50\n") && out.contains("\nNext: "), "{out}");
    let json: Value = schema::read("scale", &json);
    assert_eq!((&json["rounds"], &json["interrupted"]), (&Value::from(1), &Value::from(true)));
    assert_eq!(json["runs"][0]["throughput"], Value::from(12.5));
    assert_eq!(json["configurations"].as_array().unwrap().len(), 0);
}

#[test]
fn rate_of_the_output_is_the_throughput() {
    let options = ["--cpus", "1", "--runs", "2", "--metric", "tps: ", "--higher-is-better"];
    let (json, out) = json_of(&options, &["sh", "-c", "echo tps: 12.5"]);
    assert_eq!(json["runs"][0]["throughput"], Value::from(12.5));
    assert!(out.contains("(the control): throughput, tps"), "{out}");
    assert!(out.contains("No lock is contended"), "{out}");
}

#[test]
fn bad_input_is_one_line_with_its_exit_code() {
    let refused = |arguments: &[&str], code: i32, text: &str| {
        let (out, err, got) = finish(unspin(&["scale", "--quiet"]).args(arguments));
        assert_eq!((out.as_str(), got), ("", Some(code)), "{arguments:?}: {err}");
        assert!(err.starts_with("unspin: ") && err.contains(text), "{arguments:?}: {err}");
    };
    refused(&["--cpus", "1,4000", "true"], 2, "give 4000 to --predict");
    refused(&["--cpus", "0", "true"], 2, "0 is not in 1..=4096");
    refused(&["--runs", "1", "true"], 2, "1 is not in 2..=1000");
    refused(&["--cpus", "1", "no-such-program"], 127, "there is no such program");
    refused(&["--cpus", "1", "--runs", "2", "false"], 4, "the control failed");
    refused(&["--cpus", "1", "--runs", "2", "--metric", "tps", "true"], 4, "no number for --metric 'tps'");
    refused(&["--cpus", "1", "--json", "/no/folder/f", "true"], 2, "/no/folder/f");
    if cpus_here() >= 2 {
        refused(&["--cpus", "2", "true"], 2, "such as --cpus 1,2");
    }
}
