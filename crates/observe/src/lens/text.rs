//! Phrases and forms that the tables of all lenses share.

use unspin_report::figures::Percent;

/// A part as a percentage.
pub fn share(part: u64, of: u64) -> String {
    Percent::Column.of(part as f64 / of.max(1) as f64)
}

/// A number with its noun.
pub fn format_count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The processes that a report is about; `system` is the phrase for all processes.
pub fn of_whom(target: &str, system: &'static str) -> &'static str {
    match target {
        "system" => system,
        "process" => "the process, and its children",
        _ => "the program, and its children",
    }
}

/// What lost records, and those that could not be parsed, mean for a table.
pub fn losses(lost: u64, unreadable: u64) -> impl Iterator<Item = String> {
    let lost = (lost > 0).then(|| {
        format!(
            "{} lost because a ring buffer was full, so waits are missing: use a larger one (--buffer 32M).",
            format_count(lost, "event was", "events were")
        )
    });
    let unreadable = (unreadable > 0).then(|| {
        format!(
            "{} in a form that unspin cannot read, so waits are missing: this kernel (uname -r) is not supported; report it.",
            format_count(unreadable, "event was", "events were")
        )
    });
    lost.into_iter().chain(unreadable)
}

/// At most so many characters of a text.
pub fn cut(text: &str, width: usize) -> String {
    let mut short: String = text.chars().take(width).collect();
    if short.len() < text.len() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_loss_has_its_line() {
        assert_eq!(losses(0, 0).count(), 0);
        let lines: Vec<String> = losses(2, 1).collect();
        assert!(lines[0].starts_with("2 events were lost because a ring buffer was full"), "{lines:?}");
        assert!(lines[1].starts_with("1 event was in a form that unspin cannot read"), "{lines:?}");
    }
}
