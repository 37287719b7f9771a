//! The report as Markdown, for an issue or a pull request.

use crate::fleet::Fleet;
use crate::format::{clean, shown};
use crate::{next, sentence, text};
use std::ffi::OsString;
use std::fmt::Write;
use unspin_launch::output::shell;

/// The report.
pub fn report(fleet: &Fleet) -> String {
    let command: Vec<OsString> = fleet.hosts[0].proof.command.iter().map(OsString::from).collect();
    let mut out = format!("### {}\n\n", escape(&clean(&shell::line(&command))));
    for candidate in &fleet.candidates {
        _ = writeln!(out, "- **{}**", escape(&sentence::verdict(fleet, candidate)));
        if let Some(certainty) = sentence::certainty(fleet, candidate) {
            _ = writeln!(out, "  {}", escape(&capital(&certainty)));
        }
    }
    _ = writeln!(
        out,
        "\nCompared: {} {}",
        escape(&sentence::compared(fleet)),
        escape(&sentence::noise(fleet))
    );
    for line in sentence::hosts_to_mention(fleet) {
        _ = writeln!(out, "\n{}", escape(&line));
    }
    let alpha = fleet.analysis.settings.alpha;
    for candidate in fleet.candidates.iter().filter(|candidate| !candidate.comparison.hosts.is_empty()) {
        _ = writeln!(out, "\n#### {}\n", escape(&clean(&candidate.comparison.name)));
        row(&mut out, text::TITLES);
        row(&mut out, ["---", "---:", "---:", "---:", "---:", "---", "---"]);
        for line in text::lines(fleet, candidate) {
            let cells = line.map(|cell| escape(&cell));
            row(&mut out, cells.each_ref().map(String::as_str));
        }
        if let Some(line) = sentence::heterogeneity(candidate, alpha) {
            _ = writeln!(out, "\n{}", escape(&line));
        }
        for grouping in &candidate.groupings {
            _ = writeln!(out, "\n{}\n", escape(&sentence::grouping(grouping, alpha)));
            for (value, group) in grouping.values.iter().zip(&grouping.moderator.groups) {
                let (ratio, interval) = shown(group.ratio);
                let names: Vec<&str> =
                    group.hosts.iter().map(|&host| fleet.hosts[host].name.as_str()).collect();
                _ = writeln!(
                    out,
                    "- {}",
                    escape(&format!("{value}: {ratio} ({interval}) on {}", names.join(", ")))
                );
            }
        }
    }
    let steps = next::steps(fleet);
    if !steps.is_empty() {
        _ = writeln!(out, "\n**What to do**\n");
        steps.iter().for_each(|step| _ = writeln!(out, "- {}", escape(step)));
    }
    if let Some(plan) = next::common_plan(fleet) {
        // Indented code, from which no line of a plan can escape.
        out.push('\n');
        plan.iter().for_each(|line| _ = writeln!(out, "    {}", clean(line)));
    }
    out
}

fn row(out: &mut String, cells: [&str; 7]) {
    _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// A text that is shown as it is: no name of a host or a file is markup.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A mention or a reference would notify others.
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HostModel, fleet};

    #[test]
    fn hostile_names_are_no_markup() {
        let hosts =
            ["n|1", "<script>", "[n](javascript:x)"].map(|name| HostModel::new(name, &[("poll@*", 1.5)]));
        let report = report(&fleet(&hosts));
        assert!(report.contains(r"n\|1") && report.contains("&lt;script&gt;") && !report.contains("<script"));
        assert!(report.contains(r"\[n\](javascript:x)") && report.contains(r"poll&#64;\*"), "{report}");
        let row = report.lines().find(|line| line.contains("script")).unwrap();
        assert_eq!(row.matches(" | ").count(), 6, "{row}");
    }
}
