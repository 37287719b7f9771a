//! The results as JUnit XML: a test suite for the session, a test case for each candidate.

use super::exit_code;
use super::job_result::{JobResult, Row};
use super::outcome::Outcome;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The document; `text` is the printed report.
pub fn document(result: &JobResult, text: &str) -> String {
    let mut suite = TestSuite::new(format!("unspin prove {}", result.command));
    suite.set_time(Duration::from_secs_f64(result.elapsed_s)).set_system_out(text);
    let disturbance = result.warnings.iter().chain(&result.disturbance).map(String::as_str);
    let properties = [
        ("command", result.repeat.as_str()),
        ("machine", &result.place),
        ("exit_code", &result.code.to_string()),
        ("compared", result.compared.as_deref().unwrap_or_default()),
        ("disturbance", &disturbance.collect::<Vec<_>>().join(" ")),
    ];
    // What is not known is left out.
    let properties = properties.into_iter().filter(|(_, value)| !value.is_empty());
    let properties = properties.map(|(name, value)| Property::new(name, value));
    suite.add_properties(properties);
    suite.add_test_cases(result.judged().map(|(row, outcome)| candidate(result, row, outcome)));
    // A suite without test cases counts as broken. What ended a session early is no property of a candidate.
    if suite.test_cases.is_empty() || result.code >= FAILED_ITSELF {
        suite.add_test_case(session(result));
    }
    let mut report = Report::new("unspin");
    report.set_time(Duration::from_secs_f64(result.elapsed_s)).add_test_suite(suite);
    report.to_string().expect("a text can be written to memory")
}

/// Exit codes from this on say that the session did not come to its end.
const FAILED_ITSELF: u8 = 125;

fn candidate(result: &JobResult, row: &Row, outcome: Outcome) -> TestCase {
    let mut case = TestCase::new(row.name.as_str(), status(outcome, &row.sentence));
    case.set_classname(class(result))
        .set_time(Duration::from_secs_f64(row.elapsed_s))
        .set_system_out(row.sentence.as_str());
    let cells = &row.cells;
    let figures = [
        ("ratio", &cells.ratio),
        ("interval", &cells.interval),
        ("mean", &cells.mean),
        ("cpu", &cells.cpu),
        ("p", &cells.p),
    ];
    case.add_properties(figures.map(|(name, value)| Property::new(name, value.as_str())));
    case
}

/// The session, where no candidate was judged or it ended early.
fn session(result: &JobResult) -> TestCase {
    let why = match result.verdict.is_empty() {
        true => format!("{}.", exit_code::meaning(result.code)),
        false => [result.verdict.as_slice(), &result.next].concat().join(" "),
    };
    let mut case = TestCase::new("session", status(Outcome::of_code(result.code), &why));
    case.set_classname(class(result)).set_time(Duration::from_secs_f64(result.elapsed_s));
    case
}

/// A point divides packages from classes, so there is none in the title.
fn class(result: &JobResult) -> String {
    format!("unspin.prove.{}", result.title.replace('.', "_"))
}

fn status(outcome: Outcome, sentence: &str) -> TestCaseStatus {
    let mut status = match outcome {
        Outcome::Better => return TestCaseStatus::success(),
        Outcome::NotProven => TestCaseStatus::skipped(),
        Outcome::Worse | Outcome::OverCpuLimit => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(sentence).set_type(outcome.words());
    status
}

#[cfg(test)]
mod tests {
    use super::super::job_result::testing::result;
    use super::*;
    use quick_junit::Report;

    /// The statuses of the test cases, as a reader of the XML has them.
    fn read(xml: &str) -> (Report, Vec<(String, TestCaseStatus)>) {
        let report = Report::deserialize_from_str(xml).unwrap();
        let cases = report.test_suites[0].test_cases.iter();
        let cases = cases.map(|case| (case.name.to_string(), case.status.clone())).collect();
        (report, cases)
    }

    #[test]
    fn each_candidate_is_a_test_case() {
        let xml = document(&result(), "the text\u{1b}[1m & <all> of it");
        let (report, cases) = read(&xml);
        assert_eq!((report.tests, report.failures, report.errors, report.skipped), (2, 0, 0, 1), "{xml}");
        assert_eq!(cases[0], ("steal@a|b".into(), TestCaseStatus::success()));
        assert!(
            matches!(&cases[1], (name, TestCaseStatus::Skipped { message: Some(message), .. })
            if name == "poll" && message.as_str() == "nothing about \"poll\""),
            "{cases:?}"
        );
        let out = report.test_suites[0].system_out.as_ref().unwrap();
        assert_eq!(out.as_str(), "the text & <all> of it", "no escape sequence is valid in XML");
    }

    #[test]
    fn statuses_follow_the_outcomes() {
        let mut result = result();
        for (outcome, failures, errors, skipped) in [
            (Outcome::Better, 0, 0, 1),
            (Outcome::OverCpuLimit, 1, 0, 1),
            (Outcome::Worse, 1, 0, 1),
            (Outcome::NotProven, 0, 0, 2),
            (Outcome::Failed, 0, 1, 1),
        ] {
            result.rows[1].outcome = Some(outcome);
            let (report, _) = read(&document(&result, ""));
            assert_eq!(
                (report.failures, report.errors, report.skipped),
                (failures, errors, skipped),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn session_without_candidates_is_one_test_case() {
        let undecided = JobResult {
            rows: Vec::new(),
            code: 3,
            warnings: Vec::new(),
            next: vec!["Use a profiler.".into()],
            title: "python3 q.py".into(),
            ..result()
        };
        let (report, cases) = read(&document(&undecided, ""));
        assert!(
            matches!(&cases[0].1, TestCaseStatus::Skipped { message: Some(why), .. } if why.ends_with(" Use a profiler.")),
            "{cases:?}"
        );
        let suite = &report.test_suites[0];
        assert_eq!(suite.test_cases[0].classname.as_ref().unwrap().as_str(), "unspin.prove.python3 q_py");
        let names: Vec<&str> = suite.properties.iter().map(|property| property.name.as_str()).collect();
        assert_eq!(names, ["command", "machine", "exit_code"], "no property is empty");
        for (code, failures, errors, skipped) in
            [(1, 1, 0, 0), (3, 0, 0, 1), (4, 0, 1, 0), (126, 0, 1, 0), (130, 0, 1, 0)]
        {
            let (report, cases) = read(&document(&JobResult { rows: Vec::new(), code, ..result() }, ""));
            assert_eq!(
                (report.failures, report.errors, report.skipped),
                (failures, errors, skipped),
                "{code}"
            );
            assert_eq!(cases[0].0, "session");
        }
        // What was judged until ^C stays.
        assert_eq!(read(&document(&JobResult { code: 130, ..result() }, "")).1.len(), 3);
    }
}
