//! `unspin prove` with kinds of mutex: with a program whose figures depend on its plan, and with programs that use real
//! locks.

use crate::common::{
    Background, children_of, compiled, finish, has_computed, is_quiet, schema, unspin, wait_until,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use unspin_sys::child::{self, Signal};
use unspin_sysv::Kind;

/// The programs, compiled once in a test, and removed when its thread ends; none without a compiler.
fn program(source: &str) -> Option<PathBuf> {
    thread_local! {
        static FOLDER: Option<TempDir> = {
            let folder = tempfile::tempdir().unwrap();
            ["planned.c", "narrow.c", "elsewhere.c", "nothing.c", "sets.c"]
                .iter()
                .all(|source| compiled(source, folder.path()).is_some())
                .then_some(folder)
        };
    }
    FOLDER.with(|folder| Some(folder.as_ref()?.path().join(source)))
}

/// `prove --metric tps --higher-is-better` of the planned program.
fn prove(options: &[&str], speeds: &[&str]) -> Option<(String, String, Option<i32>)> {
    prove_time(&[&["--metric", "tps", "--higher-is-better"], options].concat(), "planned", speeds)
}

/// `prove` of another program, by its time.
///
/// The waits of `planned` last for milliseconds. If a busy machine starts it a second late, they are no longer worth a
/// search; then it is asked again.
fn prove_time(options: &[&str], source: &str, arguments: &[&str]) -> Option<(String, String, Option<i32>)> {
    let program = program(source)?;
    let command = [&["prove"], options, &["--", program.to_str().unwrap()], arguments].concat();
    let mut result = finish(&mut unspin(&command));
    for _ in 0..4 {
        if source != "planned" || !result.0.contains("is not worth a search") {
            break;
        }
        result = finish(&mut unspin(&command));
    }
    Some(result)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(file: &Path) -> Value {
    schema::read("prove", file)
}

#[test]
fn kinds_are_compared_with_the_systems_mutex() {
    let options = ["--runs", "8", "--mutex", "adaptive,steal"];
    let Some((out, err, code)) = prove(&options, &["system=100", "adaptive=200", "steal=50"]) else { return };
    assert_eq!(code, Some(0), "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("adaptive's tps is 2.00 times system's (95 % interval 1.99–2.02"), "{out}");
    assert!(text.contains("steal's tps is 0.500 times system's"), "{out}");
    assert!(text.contains("the control, system; above 1 is better"), "{out}");
    assert!(text.contains("The plan that won, adaptive"), "{out}");
    assert!(out.contains("kind = \"adaptive\""), "{out}");
    assert!(!out.contains("kernel measured") && !out.contains("engine"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn plan_that_won_is_accepted_by_use_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let plan = plan.to_str().unwrap();
    let speeds = ["system=100", "adaptive=200"];
    let Some((out, err, code)) = prove(&["--runs", "7", "--mutex", "adaptive", "--plan", plan], &speeds)
    else {
        return;
    };
    assert_eq!(code, Some(0), "{out}{err}");
    let Some((out, err, code)) = prove(&["--runs", "7", "--use-plan", plan], &speeds) else { return };
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(flat(&out).contains("plan.toml's tps is 2.00 times system's"), "{out}");
}

#[test]
fn losing_plan_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let options = ["--runs", "6", "--mutex", "adaptive", "--plan", plan.to_str().unwrap()];
    let Some((out, err, code)) = prove(&options, &["system=100"]) else { return };
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(err.contains("no plan is written, because none won"), "{err}");
    assert!(!plan.exists());
}

#[test]
fn kinds_of_a_staircase_are_printed_as_staircase() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let options =
        ["--runs", "8", "--mutex", "pi,rt-fair,rt-steal,rt-adaptive", "--json", file.to_str().unwrap()];
    let speeds = ["system=100", "pi=10", "rt-fair=20", "rt-steal=40", "rt-adaptive=80"];
    let Some((out, err, code)) = prove(&options, &speeds) else { return };
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(flat(&out).contains("From rt-fair to rt-adaptive in all: 4.0 times"), "{out}");
    let result = json(&file);
    let stairs = &result["staircase"];
    let names = |list: &Value| {
        list.as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&stairs["beside"]), ["system", "pi"]);
    assert_eq!(names(&stairs["steps"]), ["rt-fair", "rt-steal", "rt-adaptive"]);
    assert_eq!(stairs["steps"][1]["to_before"]["value"], 2.0);
    assert_eq!(stairs["steps"][2]["to_control"]["value"], 0.8);
    assert_eq!(result["candidates"][4]["plan"], "unspin plan 2\nrt-fair\tall\n");
}

#[test]
fn experimental_kind_prints_a_warning_and_is_stopped_when_it_hangs() {
    let Some((out, err, code)) = prove(&["--runs", "6", "--mutex", "ticket"], &["system=100", "ticket=hang"])
    else {
        return;
    };
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("ticket is experimental"), "{err}");
    assert!(flat(&out).contains("ticket hangs: 2 of its 2 runs were stopped after"), "{out}");
}

/// The figures are the program's own; its exit code says whether its threads excluded each other.
#[test]
fn kinds_are_judged_on_real_locks() {
    let options = ["--runs", "8", "--mutex", "adaptive,steal,fair,rt-adaptive,mcs,adaptive@narrow"];
    let Some((out, err, code)) = prove_time(&options, "narrow", &["4", "2000"]) else { return };
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    assert!(!out.contains("exit code"), "{out}");
    for name in ["adaptive", "steal", "fair", "rt-adaptive", "adaptive@narrow"] {
        assert!(
            out.lines().any(|line| line.starts_with(name) && line.contains(" 8      0")),
            "{name}: {out}"
        );
    }
    assert!(flat(&out).contains("mean wait operations waited narrow"), "{out}");
}

#[test]
fn program_without_mutexes_is_refused() {
    let Some((out, err, code)) = prove_time(&["--runs", "6", "--mutex", "adaptive"], "elsewhere", &["sleep"])
    else {
        return;
    };
    // Chance proves a thousandth now and then.
    assert!(matches!(code, Some(0 | 1 | 3)), "it has one: {code:?} {out}{err}");
    let Some(_) = program("nothing") else { return };
    let script = format!("{}; true", program("nothing").unwrap().display());
    let (out, err, code) = finish(&mut unspin(&["prove", "--mutex", "adaptive", "--", "sh", "-c", &script]));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(err.contains("there is no mutex to judge kinds by"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn search_finds_the_best_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, file) = (folder.path().join("plan.toml"), folder.path().join("result.json"));
    let options =
        ["--time-budget", "10m", "--plan", plan.to_str().unwrap(), "--json", file.to_str().unwrap()];
    let speeds = ["system=100", "adaptive=200", "steal=hang"];
    let Some((out, err, code)) = prove(&options, &speeds) else { return };
    assert_eq!(code, Some(0), "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("narrow, static, planned.c:"), "{out}");
    // Where a later run of the control took more than a tenth of the limit, no hang is claimed.
    let fates = if is_quiet() { &["hung"][..] } else { &["hung", "collapsed"] };
    assert!(
        text.contains("steal: hangs, stopped after ")
            || !is_quiet() && text.contains("steal: too slow, stopped after "),
        "{out}"
    );
    assert!(text.contains("'s tps is 2.00 times system's"), "{out}");
    assert!(out.contains("kind = \"adaptive\""), "{out}");
    assert!(fs::read_to_string(plan).unwrap().contains("kind = \"adaptive\""));
    let result = json(&file);
    assert_eq!(result["conclusion"], "faster");
    assert_eq!(result["search"]["picks"][0]["name"], "narrow");
    let standings = result["search"]["screening"]["standings"].as_array().unwrap();
    let is_named = |fate: &Value| fates.iter().any(|name| fate == name);
    assert!(standings.iter().any(|s| s["name"] == "steal" && is_named(&s["fate"]["fate"])), "{result}");
    assert!(result["plan"].as_str().unwrap().contains("adaptive"));
}

/// Issue 14: ^C threw away what had been metered.
#[test]
fn interrupt_while_metering_reports_what_was_metered() {
    let Some(narrow) = program("narrow") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let (narrow, file_name) = (narrow.to_str().unwrap(), file.to_str().unwrap());
    let mut run = Background::start(unspin(&["prove", "--json", file_name, "--", narrow, "4", "2000000000"]));
    run.wait_for_line("one metered run of the program");
    wait_until("the program has taken its lock for a while", || {
        children_of(run.pid()).into_iter().any(has_computed)
    });
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(130));
    let result = json(&file);
    assert_eq!(result["interrupted"], true);
    assert!(result["search"]["findings"]["attempts"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(result["locks"]["metered"][0]["candidate"], "system");
}

#[test]
fn search_without_winner_explains_why() {
    let Some((out, err, code)) = prove(&["--time-budget", "10m"], &["system=100"]) else { return };
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(flat(&out).contains("No plan: no candidate is proven better"), "{out}");
    let text = flat(&out);
    let (_, why) = text.split_once("No plan: ").unwrap();
    assert!(why.contains("narrow"), "{out}");
}

/// Every kind and policy makes the program slower; the report says so, with the ratio.
#[test]
fn slower_candidate_is_reported_as_slower() {
    let options = ["--metric", "tps", "--higher-is-better", "--time-budget", "10m"];
    let speeds = ["system=200", "adaptive=100", "steal=100", "fair=100", "poll=100", "both=100"];
    let Some((out, err, code)) = prove_time(&options, "planned", &speeds) else { return };
    assert_eq!(code, Some(1), "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("No plan: no candidate is proven better than system; "), "{out}");
    assert!(text.contains(" is proven worse (0.50 times as good)"), "{out}");
}

#[test]
fn search_stops_for_program_without_contention() {
    for (how, said) in [
        ("sleep", "without waiting for a lock of libc"),
        ("condition", "for conditions, barriers or semaphores"),
        ("compute", "Its locks cost no time"),
    ] {
        let Some((out, err, code)) = prove_time(&[], "elsewhere", &[how]) else { return };
        assert_eq!(code, Some(3), "{out}{err}");
        assert!(flat(&out).contains(said), "{how}: {out}");
        assert!(!out.contains("Verdict"), "{out}");
    }
}

/// Engines are tried only if the program makes System V calls.
#[test]
fn search_tries_engines_only_if_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let options = ["--time-budget", "30s", "--json", file.to_str().unwrap()];
    let Some((out, err, code)) = prove_time(&options, "sets", &[]) else { return };
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    let result = json(&file);
    let standings = result["search"]["screening"]["standings"].as_array().unwrap();
    let mut names: Vec<&str> = standings.iter().map(|s| s["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let mut engines = Kind::IN_ARENAS.map(Kind::name);
    engines.sort_unstable();
    assert_eq!(names, engines, "{out}");
}

#[test]
fn search_reports_a_program_without_locks() {
    let script = format!(
        "{}; true",
        match program("nothing") {
            Some(path) => path.display().to_string(),
            None => return,
        }
    );
    let (out, err, code) = finish(&mut unspin(&["prove", "--", "sh", "-c", &script]));
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(flat(&out).contains("No lock was recorded"), "{out}");
}

#[test]
fn search_reports_a_failing_program() {
    let (out, err, code) = finish(&mut unspin(&["prove", "--", "sh", "-c", "echo no luck >&2; exit 7"]));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(flat(&out).contains("First failure of system: it ended with exit code 7."), "{out}");
    assert!(out.contains("  | no luck\n"), "{out}");
}
