//! A mistake in the text of a plan, in words for the user.

use crate::plan::nearest;

/// The lists of tables that a plan may have.
const TABLES: [&str; 4] = ["mutex", "rwlock", "spin", "wait"];

/// What the file is instead of a plan; or the line of the mistake, and what is wrong there. `error` is the parser's.
pub fn explain(text: &str, error: &toml::de::Error) -> String {
    if let Some(other) = other_kind(text) {
        return format!("{other}: name a file that `unspin prove --plan` has written");
    }
    if let Some((line, table)) = single_brackets(text) {
        return format!(
            "line {line}: there is no table `[{table}]` in a plan: write `[[{table}]]`, with two brackets"
        );
    }
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count();
    let written = text.lines().nth(line).unwrap_or_default();
    let why = match list(written).filter(|_| error.message().ends_with("expected a sequence")) {
        Some(table) => {
            format!("`{table}` is a list of tables in a plan: write `[[{table}]]`, and its lines below")
        }
        None => unknown_key(error.message()),
    };
    format!("line {}: {why}", line + 1)
}

/// What a text is that has nothing of a plan.
fn other_kind(text: &str) -> Option<&'static str> {
    let has_tables_or_keys =
        text.lines().any(|line| line.contains('=') || line.trim_start().starts_with('['));
    match text.trim_start().as_bytes().first() {
        Some(b'{') => Some("is JSON, such as a result, and no plan"),
        Some(b'<') => Some("is a page, and no plan"),
        _ if !has_tables_or_keys => Some("is no plan"),
        _ => None,
    }
}

/// The first line, counted from 1, that begins one table where a plan has a list of them: `[mutex]`.
fn single_brackets(text: &str) -> Option<(usize, &'static str)> {
    text.lines().zip(1..).find_map(|(line, number)| {
        let (name, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
        Some((number, TABLES.into_iter().find(|&table| table == name.trim())?))
    })
}

/// The list that the line is about, however it is written: `mutex = …`, `mutex.kind = …`, `[mutex.kind]`.
fn list(line: &str) -> Option<&'static str> {
    let key = line.trim_start_matches([' ', '\t', '[']);
    let key = key.split(['.', '=', ']', ' ', '\t']).next()?;
    TABLES.into_iter().find(|&table| table == key)
}

/// The parser's message. For an unknown key of the document it lists the known keys, among them `spin-waits`.
fn unknown_key(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").filter(|rest| rest.contains("`spin-waits`"));
    let Some((name, _)) = unknown.and_then(|rest| rest.split_once('`')) else { return message.to_owned() };
    match nearest::of(name, ["program", "modules"].into_iter().chain(TABLES)) {
        Some(table) if TABLES.contains(&table) => {
            format!("there is no `{name}` in a plan: write `[[{table}]]`")
        }
        Some(key) => format!("there is no `{name}` in a plan: write `{key}`"),
        None => format!(
            "there is no `{name}` in a plan, but `program`, `modules`, `[[mutex]]`, `[[rwlock]]`, `[[spin]]` and `[[wait]]`"
        ),
    }
}
