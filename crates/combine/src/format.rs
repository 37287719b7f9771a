//! Numbers and names as text.

pub use unspin_report::paragraph;
use unspin_stats::Ratio;
use unspin_sys::printable;

/// Maximum width of a sentence in columns.
pub const WIDTH: usize = 100;

/// A text of a file, on one line and without characters that change the state of a terminal.
pub fn clean(text: &str) -> String {
    printable::line(text).replace(['\n', '\r', '\t'], " ")
}

/// "1.50" and "1.40 – 1.60".
pub fn shown(ratio: Ratio) -> (String, String) {
    let (value, [lower, upper]) = ratio.shown();
    (value, format!("{lower} – {upper}"))
}

/// A p value.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// "1 host", "2 hosts".
pub fn hosts(count: usize) -> String {
    if count == 1 { "1 host".into() } else { format!("{count} hosts") }
}

/// "a", "a and b", "a, b and c".
pub fn list<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", others.join(", "), last.as_ref())
        }
    }
}
