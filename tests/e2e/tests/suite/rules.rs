//! The rules of a compiled plan decide which mutex is replaced by which kind; errors in a plan are reported.

use std::path::Path;
use std::process::Command;
use unspin_e2e::{Outcome, Program, Run, World, build, build_library, find_tool, scratch, skip};
use unspin_locks::LockKind;

/// The place of a symbol as a plan has it: `START-END@MODULE`.
fn place(program: &Program, symbol: &str) -> Option<String> {
    let Some(nm) = find_tool("nm") else {
        skip(symbol, "there is no nm; install binutils");
        return None;
    };
    let table = Command::new(nm).arg("-S").arg(program.path()).output().expect("it was found, so it starts");
    let text = String::from_utf8(table.stdout).expect("symbols of C are ASCII");
    let line = text.lines().find(|line| line.split(' ').next_back() == Some(symbol));
    let words: Vec<&str> = line.unwrap_or_else(|| panic!("no {symbol} in\n{text}")).split(' ').collect();
    let number = |at: usize| u64::from_str_radix(words[at], 16).expect("nm prints hexadecimal");
    let path = program.path().canonicalize().expect("it was just built");
    Some(format!("{:x}-{:x}@{}", number(0), number(0) + number(1), path.display()))
}

/// The second of two elements.
fn second(place: &str) -> String {
    let (range, module) = place.split_once('@').unwrap();
    let (start, end) = range.split_once('-').map(|(a, b)| (hex(a), hex(b))).unwrap();
    format!("{:x}-{end:x}@{module}", start.midpoint(end))
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).unwrap()
}

/// What was decided, by the rows of the program.
fn decisions(outcome: &Outcome) -> Vec<(&str, LockKind)> {
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome}");
    let row = |line: &'_ str| {
        let (name, kind) =
            line.split_once(": ").map(|(name, kind)| (name.len(), kind.parse::<usize>())).unwrap();
        (name, LockKind::ALL[kind.unwrap()])
    };
    outcome.stdout.lines().map(|line| (&line[..row(line).0], row(line).1)).collect()
}

fn assert_decided(outcome: &Outcome, expected: &[(&str, LockKind)]) {
    assert_eq!(decisions(outcome), expected, "{outcome}");
}

/// Lines of a plan for `rules.c`, with the library if it is given.
fn plan(program: &Program, library: Option<&Program>) -> Option<String> {
    let of = |symbol| place(program, symbol);
    let mut plan = format!(
        "fair\tvariable\t{}\nsteal\tinit\t{create}\t{}\nttas\tinit\t{create}\t{}\n\
         ticket\tinit\t{create}\t{}\t{}\nmcs\tuse\t{}\nadaptive\tall\n",
        second(&of("by_address")?),
        of("open_cache")?,
        of("open_log")?,
        of("create_through")?,
        of("open_deep")?,
        of("use_first")?,
        create = of("create")?,
    );
    if let Some(library) = library {
        let (mutex, create) = (place(library, "in_library")?, place(library, "library_create")?);
        plan = format!("rt-fair\tvariable\t{mutex}\nrt-steal\tinit\t{create}\n{plan}");
    }
    Some(plan)
}

const WITHOUT_LIBRARY: [(&str, LockKind); 13] = [
    ("variable", LockKind::Fair),
    ("its neighbour", LockKind::Adaptive),
    ("cache", LockKind::Steal),
    ("log", LockKind::Ttas),
    ("deep", LockKind::Ticket),
    ("by itself", LockKind::Adaptive),
    ("used", LockKind::Mcs),
    ("used elsewhere first", LockKind::Adaptive),
    ("initialised before its use", LockKind::Adaptive),
    ("made anew", LockKind::Adaptive),
    ("robust", LockKind::System),
    ("inheriting", LockKind::System),
    ("destroyed", LockKind::System),
];

#[test]
fn each_mutex_gets_what_the_first_rule_says() {
    let Some(program) = build("pthread/rules") else { return };
    let Some(plan) = plan(&program, None) else { return };
    let outcome = Run::new(program.path(), World::Kernel).mutexes(&plan).output();
    assert_decided(&outcome, &WITHOUT_LIBRARY);
}

/// The library is loaded long after the plan was read, and again at a place that may differ.
#[test]
fn libraries_come_and_go() {
    let (Some(program), Some(library)) = (build("pthread/rules"), build_library("pthread/ruled")) else {
        return;
    };
    let Some(plan) = plan(&program, Some(&library)) else { return };
    let run = Run::new(program.path(), World::Kernel).mutexes(&plan);
    let outcome = run.args([library.path().canonicalize().unwrap()]).output();
    let late = [("a library's", LockKind::RtFair), ("created by a library", LockKind::RtSteal)];
    assert_decided(&outcome, &[&WITHOUT_LIBRARY[..], &late, &late].concat());
}

/// A mutex that no rule matches stays libc's. An inheriting mutex is replaced only by a kind that inherits.
#[test]
fn what_no_rule_is_about_is_left_alone() {
    let Some(program) = build("pthread/rules") else { return };
    let Some(use_first) = place(&program, "use_first") else { return };
    let outcome =
        Run::new(program.path(), World::Kernel).mutexes(&format!("fair\tuse\t{use_first}")).output();
    for (name, kind) in decisions(&outcome) {
        assert_eq!(kind, if name == "used" { LockKind::Fair } else { LockKind::System }, "{name}: {outcome}");
    }
    let outcome = Run::new(program.path(), World::Kernel).mutexes("rt-steal\tall").output();
    for (name, kind) in decisions(&outcome) {
        let is_replaced = !matches!(name, "robust" | "destroyed");
        assert_eq!(kind, if is_replaced { LockKind::RtSteal } else { LockKind::System }, "{name}: {outcome}");
    }
}

/// Check of the gate: it must fail for the ranges of another function.
#[test]
#[should_panic(expected = "(\"cache\", Ttas)")]
fn a_wrong_decision_is_noticed() {
    let Some(program) = build("pthread/rules") else { panic!("not tried: (\"cache\", Ttas)") };
    let Some(plan) = plan(&program, None) else { panic!("not tried: (\"cache\", Ttas)") };
    let plan =
        plan.replace("steal\tinit", "?").replace("ttas\tinit", "steal\tinit").replace('?', "ttas\tinit");
    assert_decided(&Run::new(program.path(), World::Kernel).mutexes(&plan).output(), &WITHOUT_LIBRARY);
}

/// Runs the program with a plan of that name and contents, and demands that nothing is replaced and one line says why.
fn assert_refused(path: &Path, contents: Option<&str>, parts: &[&str]) {
    let Some(program) = build("pthread/rules") else { return };
    if let Some(contents) = contents {
        std::fs::write(path, contents).unwrap();
    }
    let outcome = Run::new(program.path(), World::Kernel).env("UNSPIN_PLAN", path).output();
    let bare = Run::new(program.path(), World::Bare).output();
    assert!(outcome.stdout == bare.stdout && outcome.status.success(), "{outcome}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let [line] = lines[..] else { panic!("one line, not {}: {outcome}", lines.len()) };
    for part in ["unspin: no lock is replaced: ", path.to_str().unwrap()].iter().chain(parts) {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
}

#[test]
fn a_plan_that_will_not_do_is_named() {
    let directory = scratch();
    let path = directory.path().join("plan");
    assert_refused(&path, None, &["cannot be read"]);
    assert_refused(&path, Some(""), &["unspin run"]);
    assert_refused(&path, Some("unspin plan 3\nfair\tall\n"), &["this version"]);
    assert_refused(&path, Some("unspin plan 2\nfair\tall\nfare\tall\n"), &["line 3"]);
    assert_refused(&path, Some("unspin plan 2\nfair\tvariable\t5-1@/x\n"), &["line 2"]);
    let long = "fair\tvariable\t1-2@/x\n".repeat(10_000);
    assert_refused(&path, Some(&format!("unspin plan 2\n{long}")), &["fewer locks"]);
}

/// The plan's file was removed because its user has ended. A program that still runs must not complain.
#[test]
fn a_plan_that_was_dropped_is_not_missed() {
    let Some(program) = build("pthread/rules") else { return };
    let run = Run::new(program.path(), World::Kernel).env("UNSPIN_PLAN", "/nonexistent/unspin/mutexes");
    let outcome = run.output();
    assert!(outcome.stderr.is_empty() && outcome.status.success(), "{outcome}");
}
