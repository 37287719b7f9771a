//! Phrases and forms that the tables of all lenses share.

/// A number with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
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

/// What lost records mean for a table.
pub fn losses(records: u64) -> Option<String> {
    (records > 0).then(|| {
        format!(
            "{} lost because a ring buffer was full, so waits are missing: use a larger one (--buffer 32M).",
            counted(records, "event was", "events were")
        )
    })
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
