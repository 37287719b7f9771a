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
    let mut column = 0;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
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
