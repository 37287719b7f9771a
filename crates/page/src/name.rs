//! How names of programs, locks and configurations are shown: they come from elsewhere, and can contain anything.

use maud::{Markup, html};

/// Longer names, in characters, are shortened in pictures.
pub const PICTURE_MAX: usize = 26;

/// A name within text: isolated from the direction of the text around it, with control characters made visible. It breaks
/// wherever a line ends.
pub fn name(name: &str) -> Markup {
    html! { bdi.name { (visible(name)) } }
}

/// A name or command as code.
pub fn code(text: &str) -> Markup {
    html! { code { bdi { (visible(text)) } } }
}

/// A name for a place with little room, shortened in the middle. The whole name has to be in the table beside the picture.
pub fn short(name: &str, at_most: usize) -> String {
    let letters: Vec<char> = visible(name).chars().collect();
    if letters.len() <= at_most {
        return letters.into_iter().collect();
    }
    let kept = at_most.saturating_sub(1);
    let (head, tail) = (kept - kept / 2, kept / 2);
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

/// The name with its control characters, and those that change the direction of text, as escapes.
pub fn visible(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_control() || is_format(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Invisible characters that change how the text around them is shown: marks, embeddings, overrides and isolates of direction,
/// separators of lines, zero-width characters, the byte order mark, tags.
fn is_format(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_are_visible() {
        assert_eq!(visible("a\u{202e}b\x1b\n"), "a\\u{202e}b\\u{1b}\\u{a}");
        assert_eq!(name("<b>&\"").into_string(), "<bdi class=\"name\">&lt;b&gt;&amp;&quot;</bdi>");
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(short("abcdefghij", 5), "ab…ij");
        assert_eq!(short("abcde", 5), "abcde");
        assert_eq!(short(&"ä".repeat(200), 26).chars().count(), 26);
    }
}
