//! Sentences in lines of a certain width.

/// Adds a paragraph to a printed report of this width.
pub fn add_note(note: &str, width: usize, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    wrap(note, sentence_width(width), text);
}

/// The width of a sentence in a report of this width: longer lines are hard to read.
pub(crate) fn sentence_width(width: usize) -> usize {
    width.min(100)
}

/// Writes a sentence in lines of at most `width` characters.
pub(crate) fn wrap(sentence: &str, width: usize, text: &mut String) {
    wrap_words(sentence.split(' '), width, [0, 0], text);
}

/// A paragraph of this width. Its first line is indented by `indent`, the others by two more. Runs of white space become
/// single spaces.
pub fn paragraph(sentence: &str, width: usize, indent: usize) -> String {
    let mut text = String::new();
    wrap_words(sentence.split_whitespace(), width, [indent, indent + 2], &mut text);
    text
}

/// Writes words in lines of at most `width` characters, with a margin before the first line and one before the others.
fn wrap_words<'t>(
    words: impl Iterator<Item = &'t str>,
    width: usize,
    margins: [usize; 2],
    text: &mut String,
) {
    let [first, others] = margins;
    let mut margin = first;
    let mut column = 0;
    text.extend(std::iter::repeat_n(' ', margin));
    for word in words {
        let length = word.chars().count();
        if column > 0 && margin + column + 1 + length > width {
            text.push('\n');
            margin = others;
            text.extend(std::iter::repeat_n(' ', margin));
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stay_within_the_width() {
        let text = paragraph(&"word ".repeat(60), 100, 2);
        assert!(text.lines().all(|line| line.chars().count() <= 100));
        assert!(text.lines().next().unwrap().starts_with("  word"));
        assert!(text.lines().nth(1).unwrap().starts_with("    word"));
        assert_eq!(text.split_whitespace().count(), 60);
        assert_eq!(paragraph("", 100, 2), "  \n");
    }

    #[test]
    fn line_that_is_as_long_as_the_width_is_not_broken() {
        let mut text = String::new();
        wrap("four five", 9, &mut text);
        wrap("four fives", 9, &mut text);
        assert_eq!(text, "four five\nfour\nfives\n");
        assert_eq!(paragraph("four five six", 9, 0), "four five\n  six\n");
    }
}
