//! The man page of one command.
//!
//! clap_mangen renders what the parser knows. The text behind the options, which the help shows as it stands, has parts with a form of
//! their own: the exit codes become a list, examples keep their lines.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use unspin_launch::machine::Build;

/// The section of the manual: user commands.
const SECTION: &str = "1";

/// The man page of one command.
pub struct ManPage {
    /// The name: `unspin-run`.
    name: String,
    command: Command,
    /// The other pages that it names.
    related: Vec<String>,
}

impl ManPage {
    /// The page of a command, of which `all` has the others.
    pub fn of(command: &Command, all: &Command) -> ManPage {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let names = |command: &Command| {
            let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
            visible.filter_map(|command| command.get_display_name().map(str::to_owned)).collect::<Vec<_>>()
        };
        let above = name.rsplit_once('-').map(|(above, _)| above.to_owned());
        let mut related: Vec<String> = above.into_iter().chain(names(command)).collect();
        if name != all.get_name() && !related.iter().any(|name| name == all.get_name()) {
            related.push(all.get_name().to_owned());
        }
        related.sort();
        let command = command.clone().subcommand_help_heading("COMMANDS").subcommand_value_name("COMMAND");
        ManPage { name, command, related }
    }

    /// The file's name.
    pub fn file_name(&self) -> String {
        format!("{}.{SECTION}", self.name)
    }

    /// The page in the language of man(7).
    pub fn render(&self, date: &str) -> String {
        let man = Man::new(self.command.clone())
            .title(self.name.to_uppercase())
            .section(SECTION)
            .date(date)
            .source(format!("unspin {}", Build::THIS.version))
            .manual("User Commands");
        let mut page = Vec::new();
        let mut rendered = man.render_title(&mut page);
        for part in [Man::render_name_section, Man::render_synopsis_section, Man::render_description_section]
        {
            rendered = rendered.and_then(|()| part(&man, &mut page));
        }
        if self.command.get_arguments().any(|arg| !arg.is_hide_set()) {
            rendered = rendered.and_then(|()| man.render_options_section(&mut page));
        }
        if self.command.get_subcommands().any(|command| !command.is_hide_set()) {
            rendered = rendered.and_then(|()| man.render_subcommands_section(&mut page));
        }
        rendered = rendered.and_then(|()| self.behind_the_options().to_writer(&mut page));
        rendered.expect("memory takes everything");
        tidy(&String::from_utf8(page).expect("help is text"))
    }

    /// The text behind the options, and the related pages.
    fn behind_the_options(&self) -> Roff {
        let mut roff = Roff::default();
        let text = self.command.get_after_long_help().or(self.command.get_after_help());
        let text = text.map(ToString::to_string).unwrap_or_default();
        let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
        let mut section = "";
        let mut last = "";
        while let Some(line) = lines.next() {
            if let Some((heading, rest)) = heading(line) {
                roff.control("SH", [heading]);
                section = heading;
                if !rest.is_empty() {
                    roff.text([roman(rest)]);
                }
            } else if section == EXAMPLES {
                if !last.starts_with("  ") && line.starts_with("  ") {
                    roff.control("nf", []);
                }
                if last.starts_with("  ") && !line.starts_with("  ") {
                    roff.control("fi", []).control("PP", []);
                }
                roff.text([roman(line)]);
            } else if let Some((word, meaning)) = entry(line) {
                let mut meaning = meaning.to_owned();
                while let Some(more) =
                    lines.next_if(|line| line.starts_with("     ") && entry(line).is_none())
                {
                    meaning = format!("{meaning} {}", more.trim());
                }
                roff.control("TP", []).text([bold(word)]).text([roman(meaning)]);
            } else {
                if last.starts_with("  ") {
                    roff.control("PP", []);
                }
                roff.text([roman(line)]);
            }
            last = line;
        }
        if section == EXAMPLES && last.starts_with("  ") {
            roff.control("fi", []);
        }
        roff.control("SH", ["SEE ALSO"]);
        for (number, name) in self.related.iter().enumerate() {
            let comma = if number + 1 < self.related.len() { "," } else { "" };
            roff.control("BR", [name.as_str(), &format!("({SECTION}){comma}")]);
        }
        roff
    }
}

/// The section whose lines stay as they are.
const EXAMPLES: &str = "EXAMPLES";

/// The longest line of a page's source; mandoc(1) calls longer ones bad style.
const SOURCE_WIDTH: usize = 79;

/// The page with lines of a length that editors and mandoc(1) like, without what changes nothing.
fn tidy(page: &str) -> String {
    // Two breaks around an empty line are one space.
    let page = page.replace("\n.br\n\n.br\n", "\n.sp\n");
    let mut tidy = String::with_capacity(page.len());
    let mut is_literal = false;
    for line in page.lines() {
        is_literal = line == ".nf" || is_literal && line != ".fi";
        if line.starts_with('.') || is_literal {
            tidy.push_str(line.trim_end());
        } else {
            let mut column = 0;
            for word in line.split(' ').filter(|word| !word.is_empty()) {
                // A dot or a quotation mark at the beginning of a line would be a macro.
                let may_begin = !word.starts_with(['.', '\'']);
                let separator = match column {
                    0 => "",
                    column if column + 1 + word.len() > SOURCE_WIDTH && may_begin => "\n",
                    _ => " ",
                };
                column = if separator == "\n" { 0 } else { column + separator.len() } + word.len();
                tidy.push_str(separator);
                tidy.push_str(word);
            }
        }
        tidy.push('\n');
    }
    tidy
}

/// The heading of a section that a line of help begins, and the rest of the line.
fn heading(line: &str) -> Option<(&'static str, &str)> {
    const HEADINGS: [(&str, &str); 3] =
        [("Exit code:", "EXIT STATUS"), ("Examples:", EXAMPLES), ("Columns:", "COLUMNS")];
    HEADINGS.iter().find_map(|&(begin, heading)| line.strip_prefix(begin).map(|rest| (heading, rest.trim())))
}

/// A word that a line of help explains, and what it says of that: an exit code, a column.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (word, meaning) = line.strip_prefix("  ")?.trim_start().split_once("  ")?;
    let is_word = word.parse::<u8>().is_ok() || !word.contains(char::is_lowercase);
    is_word.then(|| (word, meaning.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_a_list_and_examples_keep_their_lines() {
        let help = "Exit code: that of the program, or\n    2  the command line is wrong,\n       or not\n  125  unspin itself failed\n\n\
                    Examples:\n  unspin run x   # one\n  unspin run y";
        let command = Command::new("unspin").about("Does").after_help(help);
        let page = ManPage::of(&command, &command).render("2026-01-02");
        for part in [
            ".SH \"EXIT STATUS\"\nthat of the program, or\n.TP\n",
            "the command line is wrong, or not\n.TP\n",
            ".SH EXAMPLES\n.nf\n  unspin run x   # one\n  unspin run y\n.fi\n.SH",
        ] {
            assert!(page.contains(part), "{part:?}: {page}");
        }
    }

    #[test]
    fn exit_codes_and_columns_are_explained() {
        assert_eq!(entry("    2  wrong"), Some(("2", "wrong")));
        assert_eq!(entry("  % CPU   share of it"), Some(("% CPU", "share of it")));
        assert_eq!(entry("  unspin run  # x"), None);
        assert_eq!(entry("2  wrong"), None);
        assert_eq!(heading("Examples:"), Some(("EXAMPLES", "")));
        assert_eq!(heading("For example"), None);
    }

    #[test]
    fn long_lines_are_broken_where_no_macro_begins() {
        let long = format!("{} .x {}", "a".repeat(78), "b ".repeat(50));
        let page = tidy(&format!(".SH A\n{long}\n.nf\n  {long}\n.fi\n"));
        assert!(page.starts_with(&format!(".SH A\n{} .x\nb b b", "a".repeat(78))), "{page}");
        assert!(page.contains(&format!(".nf\n  {}\n.fi\n", long.trim_end())), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with('.')).count(), 3);
    }
}
