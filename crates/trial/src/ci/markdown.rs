//! The summary in Markdown.

use super::exit_code;
use super::job_result::{JobResult, Row};
use super::outcome::Outcome;
use crate::text::cells::Cells;
use unspin_report::markdown::{Align, Table, block, code, prose, text};

/// The verdict, how certain it is, what to do next, the candidates, the machine, the command, and the exit code.
pub fn summary(result: &JobResult) -> String {
    let mut paragraphs = vec![format!("## unspin prove: {}", heading(result))];
    paragraphs.extend(result.verdict.iter().map(|sentence| format!("**{}**", prose(sentence))));
    paragraphs.extend(result.certainty.iter().map(|certainty| prose(&format!("How sure: {certainty}"))));
    paragraphs.extend(result.warnings.iter().map(|warning| format!("> **Warning.** {}", prose(warning))));
    if !result.next.is_empty() {
        paragraphs.push(result.next.iter().map(|step| prose(step)).collect::<Vec<_>>().join(" "));
    }
    if !result.rows.is_empty() {
        paragraphs.push(table(result).to_string().trim_end().to_owned());
        paragraphs.push(format!(
            "Ratio: how many times as good as the control; above 1 is better. CPU: how many times the control's CPU time{}; above 1 is \
             more. p is corrected for the number of candidates.",
            result.cpu_per
        ));
    }
    paragraphs.extend(result.compared.iter().map(|compared| prose(&format!("Compared: {compared}"))));
    paragraphs.extend(result.disturbance.as_deref().map(prose));
    paragraphs.push(text(&format!("Machine: {}", result.place)));
    paragraphs.push(format!("To repeat it:\n\n{}", block("sh", &result.repeat).trim_end()));
    paragraphs.push(text(&format!("Exit code {}: {}.", result.code, exit_code::meaning(result.code))));
    paragraphs.join("\n\n") + "\n"
}

/// `1 of 2 candidates better: server`
fn heading(result: &JobResult) -> String {
    let count = |outcome| result.judged().filter(|(_, other)| *other == outcome).count();
    let outcomes =
        [Outcome::Better, Outcome::OverCpuLimit, Outcome::Worse, Outcome::NotProven, Outcome::Failed];
    let parts: Vec<String> = outcomes
        .iter()
        .filter(|outcome| count(**outcome) > 0)
        .map(|outcome| format!("{} {}", count(*outcome), outcome.words()))
        .collect();
    let said = match parts.is_empty() {
        true => exit_code::meaning(result.code).to_owned(),
        false => parts.join(", "),
    };
    if result.title.is_empty() { said } else { format!("{}, {said}", code(&result.title)) }
}

fn table(result: &JobResult) -> Table {
    let mean = if result.unit.is_empty() { "mean ± sd" } else { &format!("mean ± sd [{}]", result.unit) };
    let mut table = Table::new([
        ("candidate", Align::Left),
        ("verdict", Align::Left),
        ("ratio", Align::Right),
        ("95 % interval", Align::Right),
        (mean, Align::Right),
        ("CPU", Align::Right),
        ("p", Align::Right),
        ("runs", Align::Right),
        ("failed", Align::Right),
    ]);
    for Row { name, cells, outcome, .. } in &result.rows {
        let Cells { mean, ratio, interval, cpu, p, runs, failed, .. } = cells;
        table.push([
            code(name),
            outcome.map_or("", Outcome::words).to_owned(),
            text(ratio),
            text(interval),
            text(mean),
            text(cpu),
            text(p),
            runs.to_string(),
            failed.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::job_result::testing::result;
    use super::*;

    #[test]
    fn summary_has_verdict_table_command_and_exit_code() {
        let shown = summary(&result());
        let expected = "\
## unspin prove: `server`, 1 proven better, 1 not proven

**Proven: <code>steal&#64;<!-- -->a\\|b</code> is faster.**

How sure: with 95 % confidence &lt;tight&gt;.

> **Warning.** Disturbance: much.

| candidate | verdict | ratio | 95 % interval | mean ± sd \\[s\\] | CPU | p | runs | failed |
| :-- | :-- | --: | --: | --: | --: | --: | --: | --: |
| `system` |  | 1 | the control | 1.447 ± 0.055 | 1 | - | 7 | 0 |
";
        let expected = expected.replace("\\|", "&#124;");
        assert!(shown.starts_with(&expected), "{shown}");
        assert!(
            shown.contains("| <code>steal&#64;<!-- -->a&#124;b</code> | proven better | 1 | the control |"),
            "{shown}"
        );
        assert!(
            shown.contains("how many times the control's CPU time per request; above 1 is more."),
            "{shown}"
        );
        assert!(shown.contains("\n\nMachine: 2 CPUs (x), Linux 6\n\n"), "{shown}");
        assert!(shown.contains("\n```sh\nunspin prove ./server\n```\n"), "{shown}");
        assert!(shown.ends_with("\n\nExit code 0: at least one candidate is proven better.\n"), "{shown}");
    }

    #[test]
    fn result_without_candidates_has_no_table_and_says_what_to_do() {
        let next = vec!["It kept 2 CPUs busy.".into(), "Use a profiler.".into()];
        let shown = summary(&JobResult { rows: Vec::new(), code: 3, next, ..result() });
        assert!(shown.contains("\n\nIt kept 2 CPUs busy. Use a profiler.\n\n"), "{shown}");
        assert!(shown.starts_with("## unspin prove: `server`, no difference is proven\n"), "{shown}");
        assert!(!shown.contains("candidate |"), "{shown}");
    }
}
