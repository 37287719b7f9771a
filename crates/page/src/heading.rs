//! The words at the head of a page.

use crate::name::{code, visible};
use crate::prose::prose;
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

/// What follows "nothing" at the beginning of a sentence about what is proven. What follows a name differs: a plan may be called
/// nothing, or nothing.toml.
const AFTER_NOTHING: [&str; 3] = [". ", ", because ", " about "];

/// "nothing. …" as "Nothing is proven. …", "the gain of …" with a capital; any other sentence as it is, because it begins with a
/// name. The names in it are code.
pub fn sentence_case(proven: &str, names: &[&str]) -> Markup {
    let follows = |rest: &&str| *rest == "." || AFTER_NOTHING.iter().any(|after| rest.starts_with(after));
    let nothing = proven.strip_prefix("nothing").filter(follows);
    match (nothing, proven.strip_prefix("the gain of ")) {
        (Some(rest), _) => html! { "Nothing is proven" (with_names(rest, names)) },
        (None, Some(rest)) => html! { "The gain of " (with_names(rest, names)) },
        (None, None) => with_names(proven, names),
    }
}

/// The heading of a page: the verdict. One of many candidates is set in smaller letters.
pub fn verdict(proven: &str, names: &[&str]) -> Markup {
    /// From so many characters on a heading in large letters would fill the screen of a phone.
    const LONG: usize = 160;
    html! { h1.long[proven.chars().count() > LONG] { (sentence_case(proven, names)) } }
}

/// A sentence in which these names of configurations are code, wherever they are words of it; and so is what it has in backticks, as
/// in [`prose`].
fn with_names(sentence: &str, names: &[&str]) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    if !is_paired || names.iter().any(|name| name.contains('`')) {
        return names_as_code(sentence, names);
    }
    html! {
        @for (place, part) in parts.iter().enumerate() {
            @if place % 2 == 1 { (prose(&format!("`{part}`"))) } @else { (names_as_code(part, names)) }
        }
    }
}

fn names_as_code(sentence: &str, names: &[&str]) -> Markup {
    let (mut rest, mut begin, mut before) = (sentence, 0, None);
    let mut parts = Vec::new();
    while begin < rest.len() {
        let found = names.iter().filter(|name| is_word(&rest[begin..], name, before));
        if let Some(name) = found.max_by_key(|name| name.len()) {
            parts.push(html! { (between(&rest[..begin])) (code(name)) });
            rest = &rest[begin + name.len()..];
            (begin, before) = (0, name.chars().next_back());
        } else {
            before = rest[begin..].chars().next();
            begin += before.map_or(1, char::len_utf8);
        }
    }
    html! { @for part in &parts { (part) } (between(rest)) }
}

fn between(text: &str) -> Markup {
    html! { @if !text.is_empty() { (prose(text)) } }
}

/// Whether the text begins with the name, and the name ends there. `before` is the character before the text.
fn is_word(text: &str, name: &str, before: Option<char>) -> bool {
    let continues = |letter: char| letter.is_alphanumeric() || "_@+/".contains(letter);
    let Some(after) = text.strip_prefix(name).filter(|_| !name.is_empty()) else { return false };
    let mut after = after.chars();
    match (after.next(), after.next()) {
        _ if before.is_some_and(|letter| continues(letter) || "-.".contains(letter)) => false,
        (Some('-' | '.'), Some(second)) => !continues(second),
        (Some(first), _) => !continues(first),
        (None, _) => true,
    }
}

/// Text of several lines, each with visible control characters.
pub fn lines(text: &str) -> String {
    text.lines().map(|line| visible(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(proven: &str, names: &[&str]) -> String {
        let tags = ["<bdi class=\"name\">", "<bdi>", "</bdi>"];
        tags.iter().fold(sentence_case(proven, names).into_string(), |text, tag| text.replace(tag, ""))
    }

    #[test]
    fn plan_called_nothing_is_a_name() {
        let names = ["nothing.toml", "nothing", "system"];
        assert_eq!(
            shown("nothing.toml is faster, 1.18 times as fast as system.", &names),
            "<code>nothing.toml</code> is faster, 1.18 times as fast as <code>system</code>."
        );
        assert_eq!(shown("nothing is slower.", &names), "<code>nothing</code> is slower.");
        assert_eq!(
            shown("nothing. The runs do not tell whether nothing is better.", &names),
            "Nothing is proven. The runs do not tell whether <code>nothing</code> is better."
        );
        assert_eq!(shown("nothing about poll.", &["poll"]), "Nothing is proven about <code>poll</code>.");
        assert_eq!(shown("nothing.", &[]), "Nothing is proven.");
    }

    #[test]
    fn names_in_commands_do_not_divide_these() {
        assert_eq!(
            shown("nothing. Add `--waits poll`, as for poll.", &["poll"]),
            "Nothing is proven. Add <code>--waits poll</code>, as for <code>poll</code>."
        );
        assert_eq!(shown("a`b`c is better.", &["a`b`c"]), "<code>a`b`c</code> is better.");
    }

    #[test]
    fn names_are_code_where_they_are_words() {
        let names = ["fair", "fair@cache_lock", "poll"];
        assert_eq!(
            shown("fair@cache_lock is better, its score is 3.0 times fair's; polling <b>", &names),
            "<code>fair@cache_lock</code> is better, its score is 3.0 times <code>fair</code>'s; polling &lt;b&gt;"
        );
        assert_eq!(shown("unfair is poll-like: poll.", &names), "unfair is poll-like: <code>poll</code>.");
    }
}
