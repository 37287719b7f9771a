//! The figures of the reports agree with each other as far as they must, and the models say about them what
//! docs/scaling.md says.

use unspin_scaling::published::{Check, checks, hartner_2001, hartner_2002};

fn check(figure: &str) -> Check {
    checks().into_iter().find(|check| check.figure == figure).unwrap_or_else(|| panic!("no {figure}"))
}

#[test]
fn columns_of_the_runqueue_lock_agree() {
    let lock = &hartner_2001::RUNQUEUE_LOCK;
    let seconds = hartner_2001::seconds();
    assert!((seconds - 27.6).abs() < 0.05, "{seconds}");
    let spin = lock.attempts as f64 * lock.con * lock.wait_us * 1e-6 / (8.0 * seconds);
    assert!((spin - lock.spin_cpu).abs() < 0.005, "{spin}");
    assert!((lock.util + 8.0 * lock.spin_cpu - hartner_2001::CPUS_USED[0]).abs() < 0.01);
    assert!((8.0 * (hartner_2001::MQ_UTIL_EACH + hartner_2001::MQ_SPIN_CPU) - 0.575).abs() < 0.005);
}

#[test]
fn callers_of_the_mq_locks_add_up_to_their_utilisation() {
    let sum: f64 = hartner_2001::MQ_CALLERS.iter().map(|row| row.util).sum();
    assert!((sum / 8.0 - hartner_2001::MQ_UTIL_EACH).abs() < 0.0015, "{sum}");
}

#[test]
fn hand_over_outside_the_hold_is_needed() {
    let published = hartner_2001::RUNQUEUE_LOCK.util;
    let without = hartner_2001::runqueue_lock(8, 0.0).utilisation;
    assert!(without > 1.15 * published, "{without}");
    let hand_over = hartner_2001::hand_over_s();
    assert!((2e-6..4e-6).contains(&hand_over), "{hand_over}");
    let with = hartner_2001::runqueue_lock(8, hand_over).utilisation;
    assert!((with - published).abs() < 1e-6, "{with}");
}

#[test]
fn semopbench_before_and_after_is_a_factor_of_eleven() {
    let ratio = hartner_2002::BEFORE_S[0] / hartner_2002::AFTER_S[0];
    assert!((ratio - 11.03).abs() < 0.01);
    assert_eq!(hartner_2002::hand_offs(), 16_777_216.0);
}

/// The table of docs/scaling.md has exactly these rows.
#[test]
fn documentation_shows_what_the_models_say() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scaling.md")).unwrap();
    for check in checks() {
        let row = format!(
            "| {} | {} | {} | {} | {} | {:+.0} % |",
            check.report,
            check.figure,
            check.given,
            digits(check.published),
            digits(check.predicted),
            100.0 * check.error()
        );
        assert!(text.contains(&row), "docs/scaling.md lacks\n{row}");
    }
    assert!(check("MQ CON, %").error() > 0.5, "the model fails where each CPU has a lock of its own");
}

fn digits(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

#[test]
#[ignore = "prints the rows for docs/scaling.md"]
fn print_rows() {
    for check in checks() {
        println!(
            "| {} | {} | {} | {} | {} | {:+.0} % |",
            check.report,
            check.figure,
            check.given,
            digits(check.published),
            digits(check.predicted),
            100.0 * check.error()
        );
    }
}
