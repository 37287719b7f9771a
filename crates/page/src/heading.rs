//! The words at the head of a page.

use crate::name::visible;
use unspin_stats::Conclusion;

/// The colour and the words of a conclusion.
pub fn badge(conclusion: Conclusion) -> (&'static str, &'static str) {
    match conclusion {
        Conclusion::Faster => ("good", "✓ Proven better"),
        Conclusion::OverCpuLimit => ("flat", "Better, but takes more CPU time than the limit"),
        Conclusion::Slower => ("bad", "✗ Proven worse"),
        Conclusion::NothingProven => ("flat", "Nothing proven"),
        Conclusion::Failed => ("bad", "✗ Failed"),
    }
}

/// "nothing. …" as "Nothing is proven. …"; any other sentence as it is, because it begins with a name.
pub fn sentence_case(proven: &str) -> String {
    match proven.strip_prefix("nothing") {
        Some(rest) => format!("Nothing is proven{}", visible(rest)),
        None => visible(proven),
    }
}

/// Text of several lines, each with visible control characters.
pub fn lines(text: &str) -> String {
    text.lines().map(|line| visible(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}
