//! What `unspin prove` promises, measured: the time budget, and the rate of false proofs on a busy machine. Both take
//! minutes: `cargo test --release -p unspin-cli --test prove_long -- --ignored --nocapture --test-threads 1`.

use crate::common::{compiled, finish, schema, unspin};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;
use tempfile::TempDir;

fn narrow(folder: &TempDir) -> Option<PathBuf> {
    compiled("narrow.c", folder.path())
}

/// Turns of each thread with which the program takes about so long.
fn turns(program: &Path, threads: u64, seconds: f64) -> u64 {
    let mut turns = 20_000 / threads;
    loop {
        let began = Instant::now();
        let status = Command::new(program).args([threads.to_string(), turns.to_string()]).status().unwrap();
        assert!(status.success());
        let took = began.elapsed().as_secs_f64();
        if took >= 0.5 * seconds {
            return (turns as f64 * seconds / took) as u64;
        }
        turns *= 2;
    }
}

/// Duration of the longest run of any phase.
fn longest_run(result: &Value) -> f64 {
    let all = |list: &Value| -> Vec<f64> {
        list.as_array().into_iter().flatten().filter_map(|run| run["elapsed_s"].as_f64()).collect()
    };
    let mut runs = [all(&result["runs"]), all(&result["locks"]["metered"])].concat();
    for samples in result["search"]["screening"]["samples"].as_array().into_iter().flatten() {
        runs.extend(all(&samples["runs"]));
    }
    runs.into_iter().fold(0.0, f64::max)
}

#[test]
#[ignore = "long: five minutes"]
fn time_budget_is_exceeded_by_one_run_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = narrow(&folder) else { return };
    let file = folder.path().join("result.json");
    let mut late = Vec::new();
    for threads in [1, 8, 16] {
        let turns = turns(&program, threads, 1.0);
        for budget in [5, 20, 60] {
            let budget_text = format!("{budget}s");
            let (threads_text, turns_text) = (threads.to_string(), turns.to_string());
            let command = ["prove", "--time-budget", &budget_text, "--json", file.to_str().unwrap(), "--"];
            let program = [program.to_str().unwrap(), &threads_text, &turns_text];
            let began = Instant::now();
            let (out, err, code) = finish(&mut unspin(&[&command[..], &program].concat()));
            let took = began.elapsed().as_secs_f64();
            assert!(matches!(code, Some(0 | 1 | 3)), "{out}{err}");
            let longest = longest_run(&schema::read("prove", &file));
            println!(
                "{threads} threads, budget {budget} s: {took:.2} s, longest run {longest:.2} s, exit code {code:?}"
            );
            if took > budget as f64 + longest {
                late.push(format!("{threads} threads, {budget} s: {took:.2} s, {longest:.2} s\n{out}"));
            }
        }
    }
    assert!(late.is_empty(), "{}", late.join("\n"));
}

/// Busy loops beside the measurement.
struct Load(Vec<Child>);

impl Load {
    fn new(loops: usize) -> Load {
        let start = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Load((0..loops).map(start).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
#[ignore = "long: five minutes"]
fn equal_candidate_is_rarely_proven_different_on_a_busy_machine() {
    const SESSIONS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = narrow(&folder) else { return };
    // The same kind for the candidate as for the control.
    let plan = folder.path().join("plan.toml");
    let text = format!("program = \"{}\"\n\n[[mutex]]\nlock = \"*\"\nkind = \"system\"\n", program.display());
    fs::write(&plan, text).unwrap();
    let turns = turns(&program, 2, 0.05).to_string();
    let _load = Load::new(2);
    let mut codes = Vec::new();
    for session in 0..SESSIONS {
        let command = ["prove", "--runs", "7", "--use-plan", plan.to_str().unwrap(), "--"];
        let program = [program.to_str().unwrap(), "2", &turns];
        let (out, err, code) = finish(&mut unspin(&[&command[..], &program].concat()));
        assert!(matches!(code, Some(0 | 1 | 3)), "{out}{err}");
        if code != Some(3) {
            println!("session {session}:\n{out}");
        }
        codes.push(code);
    }
    let proven = codes.iter().filter(|code| **code != Some(3)).count();
    println!("{proven} of {SESSIONS} sessions prove a difference");
    assert!(proven <= 2, "{codes:?}");
}
