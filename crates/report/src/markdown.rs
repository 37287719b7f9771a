//! Markdown as GitHub and GitLab read it: text, sentences, code, and a table.
//!
//! A name may have any character. In [`text`] and [`code`] it is shown as it is: it begins no table cell, no link, no mention, no
//! HTML and no emphasis. A mention or a reference is looked for in the text of the finished page, so no escape stops it
//! (`&#64;` and `\#` do not): a word that could be one is shown as code, in which nothing is looked for.

use std::fmt::{self, Display, Formatter};
use unspin_sys::printable;

/// A text within a line.
pub fn text(text: &str) -> String {
    let line = one_line(text);
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A sentence of a printed report, in which commands stand in backticks: they are code. A backtick without its partner is a part of a
/// name.
pub fn prose(sentence: &str) -> String {
    let parts: Vec<&str> = sentence.split('`').collect();
    let is_paired =
        parts.len() % 2 == 1 && parts.iter().skip(1).step_by(2).all(|part| !part.trim().is_empty());
    if !is_paired {
        return text(sentence);
    }
    let part = |(place, part): (usize, &&str)| if place % 2 == 1 { code(part) } else { text(part) };
    parts.iter().enumerate().map(part).collect()
}

/// What may stand around a name in a sentence.
const OPENING: [char; 3] = ['(', '"', '\''];
const CLOSING: [char; 8] = [',', '.', ';', ':', '?', ')', '"', '\''];

/// A word of a sentence. One that could notify others or link to something is code, without the punctuation around it.
fn word(word: &str) -> String {
    let name = word.trim_start_matches(OPENING).trim_end_matches(CLOSING);
    let name = name.strip_suffix("'s").unwrap_or(name);
    if !is_reference(name) {
        return escaped(word);
    }
    let (before, rest) = word.split_at(word.len() - word.trim_start_matches(OPENING).len());
    format!("{}{}{}", escaped(before), code(name), escaped(&rest[name.len()..]))
}

/// Whether a word may be read as a mention (`@user`), a reference (`#1`, `!1`) or an address (`poll@server.c`).
fn is_reference(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(mark, next)| is_mark(mark) && next.is_alphanumeric())
}

fn is_mark(character: char) -> bool {
    matches!(character, '@' | '#' | '!')
}

fn escaped(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len() + 8);
    for character in line.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // It ends a cell of a table. Readers disagree about a backslash before it.
            '|' => escaped.push_str("&#124;"),
            '@' => escaped.push_str("&#64;"),
            // `.` and `:` would make a link of what looks like an address, `$` a formula.
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' | '$' | '^' => {
                escaped.extend(['\\', character])
            }
            _ => escaped.push(character),
        }
    }
    escaped.replace("://", "\\://").replace("www.", "www\\.")
}

/// A name or a command, within a line or a table.
pub fn code(text: &str) -> String {
    let text = one_line(text);
    if text.contains('|') {
        // An address is linked within these tags, too, unless something divides it.
        return format!("<code>{}</code>", escaped(&text).replace("&#64;", "&#64;<!-- -->"));
    }
    if text.trim().is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run_of_backticks(&text) + 1);
    let is_padded = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    if is_padded { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// Lines of a program or a shell.
pub fn block(language: &str, lines: &str) -> String {
    let fence = "`".repeat(longest_run_of_backticks(lines).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", printable::text(lines.trim_end_matches('\n')))
}

/// Characters that would end the line, or that are not seen, are escaped.
fn one_line(text: &str) -> String {
    printable::line(text).into_owned()
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// On which side of a column its cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table. Its cells are Markdown: see [`text`] and [`code`].
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<const N: usize>(columns: [(&str, Align); N]) -> Table {
        Table { columns: columns.map(|(head, align)| (text(head), align)).to_vec(), rows: Vec::new() }
    }

    /// Adds a row. It has a cell for each column.
    pub fn push<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.columns.len(), "each column has a cell");
        self.rows.push(cells.to_vec());
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line =
            |cells: &mut dyn Iterator<Item = &str>| format!("| {} |", cells.collect::<Vec<_>>().join(" | "));
        writeln!(f, "{}", line(&mut self.columns.iter().map(|(head, _)| head.as_str())))?;
        let rule = |align: &Align| match align {
            Align::Left => ":--",
            Align::Right => "--:",
        };
        writeln!(f, "{}", line(&mut self.columns.iter().map(|(_, align)| rule(align))))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(&mut row.iter().map(String::as_str))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    /// The texts of all cells, as a reader of Markdown has them. Anything but text and code in them is a failure.
    fn cells(markdown: &str) -> Vec<String> {
        let (mut cells, mut in_cell) = (Vec::new(), false);
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Start(Tag::TableCell) => (in_cell, _) = (true, cells.push(String::new())),
                Event::End(TagEnd::TableCell) => in_cell = false,
                Event::Text(text) | Event::Code(text) if in_cell => cells.last_mut().unwrap().push_str(&text),
                Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableRow)
                | Event::End(TagEnd::Table | TagEnd::TableHead | TagEnd::TableRow) => {}
                Event::InlineHtml(html) if ["<code>", "</code>", "<!-- -->"].contains(&&*html) => {}
                other => panic!("{other:?} in {markdown}"),
            }
        }
        cells
    }

    fn check(name: &str) {
        let mut table = Table::new([("name", Align::Left), ("as | code", Align::Right)]);
        table.push([text(name), code(name)]);
        let shown = printable::line(name);
        let expected = ["name", "as | code", shown.trim(), shown.trim()];
        assert_eq!(
            cells(&table.to_string()).iter().map(|cell| cell.trim()).collect::<Vec<_>>(),
            expected,
            "{table}"
        );
    }

    #[test]
    fn hostile_names_are_shown_as_they_are() {
        for name in [
            "steal@cache_lock",
            "a|b",
            "a\\|b",
            "`a`",
            "``",
            "<script>alert(1)</script>",
            "<!-- ",
            "&lt;",
            "[link](http://example.com)",
            "![picture](x)",
            "**bold** _it_ ~~gone~~",
            "a\n| b | c |\n\n# head",
            "std::vector<T, A>::push_back(T&&) [clone .isra.0]",
            "\u{202e}reversed",
            "מנעול",
            "|",
            "\\",
            "http://example.com/?a=1&b=2",
            "#1 @user $x$",
        ] {
            check(name);
        }
    }

    proptest! {
        #[test]
        fn any_name_is_shown_as_it_is(name in r"[ -~\n]{1,24}|\PC{1,12}") {
            prop_assume!(!name.trim().is_empty());
            check(&name);
        }
    }

    /// The texts in which GitHub and GitLab look for mentions, references and addresses: those outside of code.
    fn searched(markdown: &str) -> Vec<String> {
        let (mut texts, mut in_code) = (Vec::new(), false);
        for event in Parser::new(markdown) {
            match event {
                Event::InlineHtml(html) if &*html == "<code>" => in_code = true,
                Event::InlineHtml(html) if &*html == "</code>" => in_code = false,
                // Texts beside code are apart.
                Event::Code(_) => texts.push(" ".into()),
                Event::Text(text) if !in_code => texts.push(text.into_string()),
                _ => {}
            }
        }
        texts
    }

    #[test]
    fn mentions_and_references_are_code() {
        assert_eq!(
            text("fair@0x12 is faster (see poll@server.c)."),
            "`fair@0x12` is faster (see `poll@server.c`)."
        );
        assert_eq!(text("fair@0x12's ratio"), "`fair@0x12`'s ratio");
        for sentence in ["@user is better.", "of #12, !7 and a|b@c.org", "(@user)", "steal@a`b`c", "C#7: no"]
        {
            let markdown = text(sentence);
            let found = searched(&markdown).concat();
            assert!(!is_reference(&found), "{markdown}: {found}");
        }
        assert_eq!(text("a @ b, #, done! Now"), "a &#64; b, \\#, done\\! Now");
    }

    /// Issue 30: backticks of printed sentences were shown as such in comments.
    #[test]
    fn commands_in_sentences_are_code() {
        assert_eq!(
            prose("run `unspin prove -- ./a_b` (or `x|y`)."),
            "run `unspin prove -- ./a_b` (or <code>x&#124;y</code>)."
        );
        for name in ["a`b_c", "``", "` `", "`a`b`"] {
            assert_eq!(prose(name), text(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_sentence_is_shown_without_its_pairs_of_backticks(sentence in r"([ -~]|`){1,24}|(`|@a|#1|b |\\|\*){1,9}") {
            prop_assume!(!sentence.trim().is_empty());
            let mut table = Table::new([("x", Align::Left)]);
            table.push([prose(&sentence)]);
            let cells = cells(&table.to_string());
            let plain = |text: &str| text.replace(['`', ' '], "");
            assert_eq!(plain(&cells[1]), plain(&sentence), "{table}");
            assert!(!is_reference(&searched(&prose(&sentence)).concat()), "{}", prose(&sentence));
        }
    }

    #[test]
    fn block_ends_where_it_should() {
        let shown = block("sh", "echo ```\necho b\n");
        assert_eq!(shown, "````sh\necho ```\necho b\n````\n");
    }
}
