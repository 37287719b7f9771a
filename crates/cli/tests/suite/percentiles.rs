//! `unspin prove --metric p99` with scripts that print what load generators print.

use crate::common::{finish, schema, unspin};
use serde_json::Value;
use std::path::Path;

/// A text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What wrk prints, with the latency in `$p99` and the number of requests in `$n`.
const WRK: &str = "cat << END
Running 1s test @ http://127.0.0.1:8080/
  2 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   424.13us    1.09ms  12.20ms   95.71%
    Req/Sec    31.86k     5.33k   63.04k    92.68%
  Latency Distribution
     50%  251.00us
     75%  355.00us
     90%  394.00us
     99%  $p99
  $n requests in 2.10s, 120.89MB read
Requests/sec:  61913.88
Transfer/sec:     57.57MB
END
";

/// `prove --metric METRIC --sysv rcu` of a shell script, which makes a semaphore call first: an engine without calls cannot be judged.
fn prove(metric: &str, script: &str, options: &[&str]) -> (String, String, Option<i32>) {
    let call = concat!(env!("CARGO_BIN_EXE_unspin"), " semopbench -g 1 -s 1 -n 1 > /dev/null");
    let script = format!("{call}; {script}");
    let begin = ["prove", "--runs", "7", "--metric", metric, "--sysv", "rcu"];
    finish(&mut unspin(&[&begin[..], options, &["--", "sh", "-c", &script]].concat()))
}

/// Prints wrk's output with these figures.
fn wrk(figures: &str) -> String {
    format!("{figures}; {WRK}")
}

/// The unit changes with the size of the latency.
const TWICE: &str = "case $UNSPIN_SYSV in rcu) p99=950.00us n=905000;; *) p99=1.90ms n=812000;; esac";

fn read_json(file: &Path) -> Value {
    schema::read("prove", file)
}

#[test]
fn percentile_of_wrk_is_judged_and_its_requests_are_stated() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let (out, err, code) = prove("p99", &wrk(TWICE), &["--json", json.to_str().unwrap()]);
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    let text = flat(&out);
    assert!(text.contains("by p99, lower is better: 7 rounds of 4 configurations"), "{out}");
    assert!(text.contains("Proven: rcu is better, 2.00 times as good as kernel by p99"), "{out}");
    assert!(text.contains("p99 of each run rests on 812,000 to 905,000 requests (wrk)."), "{out}");
    assert!(out.contains("mean ± sd [ms]") && !out.contains("chance decides"), "{out}");
    let result = read_json(&json);
    let percentile = &result["percentile"];
    assert_eq!(
        (&percentile["percent"], &percentile["tool"], &percentile["tables"]),
        (&99.0.into(), &"wrk".into(), &1.into())
    );
    assert_eq!((&percentile["samples_min"], &percentile["samples_max"]), (&812_000.into(), &905_000.into()));
    assert_eq!(percentile["samples_above"], 8120.0);
    assert_eq!(
        (&result["analysis"]["metric"]["name"], &result["analysis"]["metric"]["unit"]),
        (&"p99".into(), &"s".into())
    );
    for run in result["runs"].as_array().unwrap() {
        let is_rcu = run["samples"] == 905_000;
        let value = run["value"].as_f64().unwrap();
        assert!((value - if is_rcu { 950e-6 } else { 1.9e-3 }).abs() < 1e-12, "{run}");
    }
}

/// What ab prints, with the latency in whole milliseconds in `$p99`.
const AB: &str = "cat << END
Complete requests:      3000
Failed requests:        0
Percentage of the requests served within a certain time (ms)
  50%      2
  99%     $p99
 100%     20 (longest request)
END
";

/// Issue 30: true values of 2.47 ms and 2.53 ms.
#[test]
fn difference_of_one_step_is_not_proven() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let ab = format!("case $UNSPIN_SYSV in rcu) p99=3;; *) p99=2;; esac; {AB}");
    let (out, err, code) = prove("p99", &ab, &["--json", json.to_str().unwrap()]);
    assert_eq!((err.as_str(), code), ("", Some(3)), "{out}");
    let text = flat(&out);
    assert!(text.contains("Proven: nothing.") && !text.contains(" 0 %"), "{out}");
    assert!(text.contains("How sure: the figures have too few digits to bound the difference."), "{out}");
    let said = "p99 of each run rests on 3,000 requests (ab). The figures have steps of 1 ms: a difference below 67 % cannot be told";
    assert!(text.contains(said), "{out}");
    let result = read_json(&json);
    assert!(
        result["summary"]["evidence"].as_str().unwrap().contains("The figures have steps of 1 ms"),
        "{result}"
    );
    let floor = &result["analysis"]["noise_floor"];
    assert_eq!(floor["rounding"], floor["factor"]);
    assert!((floor["factor"].as_f64().unwrap() - 2.5 / 1.5).abs() < 1e-6, "{floor}");
    assert!(result["runs"].as_array().unwrap().iter().all(|run| run["step"] == 0.001));
    // Far more than a step.
    let ab = ab.replace("p99=3", "p99=12");
    let (out, _, code) = prove("p99", &ab, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(flat(&out).contains("are within the steps of the figures."), "{out}");
}

/// Issue 30.
#[test]
fn percentile_of_zero_fails_with_a_remedy() {
    let (out, _, code) = prove("p99", &format!("p99=0; {AB}"), &[]);
    assert_eq!(code, Some(4), "{out}");
    let said = "in steps of 1 ms, so that rounding decides; use a load generator that prints more digits (oha, wrk2)";
    assert!(flat(&out).contains(said), "{out}");
}

/// Issue 30: a p99 of 3 ms that becomes 1 ms failed, because 1 ms is a single step.
#[test]
fn percentile_of_a_single_step_is_a_result() {
    let ab = format!("case $UNSPIN_SYSV in rcu) p99=1;; *) p99=6;; esac; {AB}");
    let (out, _, code) = prove("p99", &ab, &[]);
    assert_eq!(code, Some(0), "{out}");
    // 5.5 by 1.5 ms at least.
    assert!(flat(&out).contains("factor is 3.7 to 13"), "{out}");
}

/// Issue 30: C++ prints 1.00012e+06, 999871 and 1e+06 for figures of six digits.
#[test]
fn dropped_zeros_hide_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let json = folder.path().join("out.json");
    let print = format!(
        "echo >> {count}; case $UNSPIN_SYSV in rcu) echo tps: 1.2e+06;; *) case $(wc -l < {count}) in \
         *[05]) echo tps: 1e+06;; *[16]) echo tps: 999871;; *) echo tps: 1.00012e+06;; esac;; esac",
        count = count.display()
    );
    let (out, _, code) = prove("tps:", &print, &["--higher-is-better", "--json", json.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{out}");
    assert!(!flat(&out).contains("The figures have steps"), "{out}");
    let result = read_json(&json);
    for run in result["runs"].as_array().unwrap() {
        let expected = if run["value"].as_f64() == Some(999_871.0) { 1.0 } else { 10.0 };
        assert_eq!(run["step"], expected, "{run}");
    }
}

/// Issue 30: a load of a fixed time, in which the faster server answers more requests.
#[test]
fn cpu_time_of_known_requests_is_that_of_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let (out, _, _) = prove("p99", &wrk(TWICE), &["--json", json.to_str().unwrap()]);
    assert!(flat(&out).contains("the control's CPU time per request; above 1 is more"), "{out}");
    let comparisons = read_json(&json)["analysis"]["comparisons"].clone();
    assert!(
        comparisons.as_array().unwrap().iter().all(|one| one["cpu"]["per"] == "request"),
        "{comparisons}"
    );
    let unknown = wrk(TWICE).replace("$n requests in", "requests:");
    let (out, _, _) = prove("p99", &unknown, &[]);
    let said = "CPU time is compared run for run: that is right only if every run serves as many requests.";
    assert!(flat(&out).contains(said), "{out}");
}

/// Issue 30: the JSON of such figures had nulls.
#[test]
fn figures_that_overflow_are_refused() {
    let (out, _, code) = prove("v: ", "echo v: 1e300", &["--lower-is-better"]);
    assert_eq!(code, Some(4), "{out}");
    assert!(
        flat(&out).contains("the metric is 1e300; only figures from 1e-50 to 1e50 are compared"),
        "{out}"
    );
}

#[test]
fn percentile_that_rests_on_few_requests_is_warned_of() {
    let (out, _, code) = prove("p99", &wrk("p99=1.90ms n=450"), &[]);
    assert_eq!(code, Some(3), "{out}");
    let said = "p99 of each run rests on 450 requests (wrk). p99 rests on the 4 slowest requests of a run, so that chance decides it: \
                use a longer load, or a lower percentile.";
    assert!(flat(&out).contains(said), "{out}");
    assert!(
        flat(&out).contains("Every run gave the same figure, 0.0019 s: wrk may print too few digits"),
        "{out}"
    );
}

#[test]
fn percentile_that_the_tool_does_not_print_is_refused_in_one_line() {
    let (out, _, code) = prove("p95", &wrk("p99=1.90ms n=450"), &[]);
    assert_eq!(code, Some(4), "{out}");
    let said = "no p95: wrk prints p50, p75, p90 and p99 here: name one of these (wrk2 with --latency prints a whole histogram)";
    assert!(flat(&out).contains(said), "{out}");
    let (out, _, code) = prove("p99", &wrk("p99=1.90ms n=450"), &["--higher-is-better"]);
    assert_eq!(code, Some(4), "{out}");
    assert!(flat(&out).contains("that of wrk is a latency; leave out --higher-is-better"), "{out}");
}

#[test]
fn word_of_a_percentile_is_found_in_an_output_without_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let script = "echo p99: 3.2 ms; echo p99.9: 9 ms";
    let (out, _, code) = prove("p99", script, &["--json", json.to_str().unwrap()]);
    assert_eq!(code, Some(3), "{out}");
    assert!(flat(&out).contains("p99 of each run is the number behind this word in its output"), "{out}");
    let result = read_json(&json);
    assert_eq!(
        (&result["percentile"]["tool"], &result["percentile"]["samples_min"]),
        (&Value::Null, &Value::Null)
    );
    let runs = result["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["value"] == 0.0032 && run["samples"].is_null()), "{runs:?}");
}

/// A percentile is no rate, and lower is better: no direction needs to be named for a load either.
#[test]
fn scale_reads_a_percentile() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json");
    let script = wrk("p99=1.90ms n=450");
    let options = [
        "scale",
        "--runs",
        "2",
        "--metric",
        "p99",
        "--json",
        json.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ];
    let (out, err, code) = finish(&mut unspin(&options));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        flat(&out).contains("p99 of each run rests on 450 requests (wrk). p99 rests on the 4 slowest"),
        "{out}"
    );
    assert!(out.contains("throughput, 1/p99 in s"), "{out}");
    let result: Value = schema::read("scale", &json);
    assert_eq!(
        (&result["percentile"]["samples_max"], &result["runs"][0]["samples"]),
        (&450.into(), &450.into())
    );
}
