//! The words at the head of a page.

use crate::name::visible;
use maud::{Markup, html};
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

/// "nothing. …" as "Nothing is proven. …", "the gain of …" with a capital; any other sentence as it is, because it begins with a
/// name.
pub fn sentence_case(proven: &str) -> String {
    let nothing = proven.strip_prefix("nothing").filter(|rest| rest.starts_with([' ', '.', ',']));
    match (nothing, proven.strip_prefix("the gain of ")) {
        (Some(rest), _) => format!("Nothing is proven{}", visible(rest)),
        (None, Some(rest)) => format!("The gain of {}", visible(rest)),
        (None, None) => visible(proven),
    }
}

/// The heading of a page: the verdict. One of many candidates is set in smaller letters.
pub fn verdict(proven: &str) -> Markup {
    /// From so many characters on a heading in large letters would fill the screen of a phone.
    const LONG: usize = 160;
    let sentence = sentence_case(proven);
    html! { h1.long[sentence.chars().count() > LONG] { (sentence) } }
}

/// Text of several lines, each with visible control characters.
pub fn lines(text: &str) -> String {
    text.lines().map(|line| visible(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}
