//! All looks together, as text and as JSON.

use super::check::{Check, State};
use crate::options::Use;
use clap::ValueEnum;
use serde::Serialize;
use unspin_launch::machine::{Build, Machine};
use unspin_report::paragraph;
use unspin_sys::glibc;

/// Columns of the text.
const WIDTH: usize = 100;
/// Columns of the state and of the name.
const STATE: usize = 9;
const NAME: usize = 18;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    schema: &'static str,
    version: u32,
    unspin: Build,
    machine: Machine,
    glibc: &'static str,
    checks: Vec<Check>,
    /// What cannot work here, of what was asked about.
    pub cannot: Vec<Use>,
}

impl Diagnosis {
    /// Of looks that concern these uses; all uses if there are none.
    pub fn new(mut checks: Vec<Check>, uses: &[Use]) -> Diagnosis {
        // The other program is installed apart. Not to have it is a limit, unless its commands were asked about.
        let is_apart = |check: &&mut Check| uses.is_empty() && check.needed_by == [Use::Lab];
        for check in checks.iter_mut().filter(is_apart) {
            check.state = check.state.min(State::Limited);
        }
        let asked = |of: &Use| uses.is_empty() || uses.contains(of);
        let fails =
            |of: &Use| checks.iter().any(|check| check.state == State::Fails && check.needed_by.contains(of));
        let cannot = Use::value_variants().iter().copied().filter(|of| asked(of) && fails(of)).collect();
        Diagnosis {
            schema: "unspin-doctor",
            version: 1,
            unspin: Build::THIS,
            machine: Machine::this(),
            glibc: glibc::version(),
            checks,
            cannot,
        }
    }

    /// One JSON document.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts and numbers are valid JSON");
        text.push('\n');
        text
    }

    /// A line for each look, and what cannot work.
    pub fn text(&self) -> String {
        let Diagnosis { machine, glibc, checks, cannot, .. } = self;
        let head = format!("unspin {}: Linux {}, glibc {glibc}\n\n", Build::VERSION, machine.kernel);
        let lines: String = checks.iter().map(block).collect();
        let last = match (&cannot[..], checks.iter().filter(|check| check.state == State::Limited).count()) {
            ([], 0) => "Everything works.".to_owned(),
            ([], 1) => "Everything works, with one limit.".to_owned(),
            ([], limits) => format!("Everything works, with {limits} limits."),
            (uses, _) => {
                let names: Vec<&str> = uses.iter().map(|of| of.commands()).collect();
                format!("These cannot work here: {}.", names.join(", "))
            }
        };
        format!("{head}{lines}\n{}", paragraph(&last, WIDTH, 0))
    }
}

/// The lines of one look.
fn block(check: &Check) -> String {
    let margin = STATE + NAME;
    let head = format!("{:STATE$}{:NAME$}", check.state.word(), check.name);
    let costs = check.costs.as_ref().map(|costs| format!("costs: {costs}"));
    // The text of an error has its remedy in it.
    let remedy = check.remedy.as_ref().filter(|_| check.state != State::Fails);
    let remedy = remedy.map(|remedy| format!("remedy: {remedy}"));
    let parts = [Some(check.found.clone()), costs, remedy].into_iter().flatten();
    let text: String = parts.map(|part| paragraph(&part, WIDTH, margin)).collect();
    head + text.trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<Check> {
        vec![
            Check::ok("preload library", "is loaded").needed_by(&[Use::Run, Use::Prove]),
            Check::limited("frequency", "the governor is powersave", "times vary", Some("cpupower x")),
            Check::fails("tracepoints", "hidden: `mount x`", "the lenses").needed_by(&[Use::Lenses]),
        ]
    }

    #[test]
    fn last_line_says_what_cannot_work_of_what_was_asked() {
        let all = Diagnosis::new(checks(), &[]);
        assert_eq!(all.cannot, [Use::Lenses]);
        let end = "These cannot work here: `unspin meter --lens`, `-p` and `-a`.\n";
        assert!(all.text().ends_with(end), "{}", all.text());
        let run = Diagnosis::new(checks(), &[Use::Run]);
        assert!(run.cannot.is_empty());
        assert!(run.text().ends_with("Everything works, with one limit.\n"), "{}", run.text());
    }

    #[test]
    fn program_that_is_installed_apart_is_a_limit_unless_it_is_asked_for() {
        let missing = || vec![Check::fails("unspin-lab", "is missing", "dbt1").needed_by(&[Use::Lab])];
        let all = Diagnosis::new(missing(), &[]);
        assert_eq!((all.cannot, all.checks[0].state), (vec![], State::Limited));
        assert_eq!(Diagnosis::new(missing(), &[Use::Lab]).cannot, [Use::Lab]);
    }

    #[test]
    fn line_has_costs_and_a_remedy_once() {
        let text = Diagnosis::new(checks(), &[]).text();
        let frequency = "limited  frequency         the governor is powersave\n                           costs: times vary\n                           \
                         remedy: cpupower x\n";
        assert!(text.contains(frequency), "{text}");
        assert_eq!(text.matches("mount x").count(), 1, "{text}");
        assert!(text.contains("FAILS    tracepoints       hidden: `mount x`\n"), "{text}");
    }

    #[test]
    fn json_has_every_look_and_what_cannot_work() {
        let json: serde_json::Value = serde_json::from_str(&Diagnosis::new(checks(), &[]).json()).unwrap();
        assert_eq!((json["schema"].as_str(), json["version"].as_u64()), (Some("unspin-doctor"), Some(1)));
        assert_eq!(json["cannot"], serde_json::json!(["lenses"]));
        assert_eq!(json["checks"][2]["remedy"], "mount x");
        assert_eq!(json["checks"][0]["needed_by"], serde_json::json!(["run", "prove"]));
    }
}
