//! The text that a regular expression demands literally behind a group.

/// For each group that captures, in order: the literal text behind it; empty if what follows is no literal.
pub fn behind_groups(expression: &str) -> Vec<String> {
    let mut literals = Vec::new();
    // The groups that are open: the index of one that captures.
    let mut open = Vec::new();
    let mut letters = expression.char_indices().peekable();
    let mut is_class = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            ']' => is_class = false,
            '[' if !is_class => {
                is_class = true;
                // "[]x]" and "[^]x]" begin with a bracket.
                letters.next_if(|(_, next)| *next == '^');
                letters.next_if(|(_, next)| *next == ']');
            }
            '(' if !is_class => {
                let rest = &expression[at + 1..];
                let captures = !rest.starts_with('?') || rest.starts_with("?P<") || rest.starts_with("?<");
                open.push(captures.then_some(literals.len()));
                literals.extend(captures.then(String::new));
            }
            ')' if !is_class => {
                if let Some(index) = open.pop().flatten() {
                    literals[index] = literal(&expression[at + 1..]);
                }
            }
            _ => (),
        }
    }
    literals
}

/// The literal text with which an expression begins.
fn literal(expression: &str) -> String {
    let mut text = String::new();
    let mut letters = expression.chars().peekable();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => match letters.next().filter(|escaped| !escaped.is_alphanumeric()) {
                Some(escaped) => escaped,
                None => break,
            },
            '.' | '[' | '(' | ')' | '|' | '^' | '$' | '*' | '+' | '?' | '{' => break,
            letter => letter,
        };
        match letters.peek() {
            Some('*' | '?' | '{') => break,
            Some('+') => {
                text.push(letter);
                break;
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::behind_groups;

    #[test]
    fn literal_behind_each_group_is_known() {
        let cases: [(&str, &[&str]); 8] = [
            (r"([0-9.]+)user", &["user"]),
            (r"\(a\): ([)(]+)/\d", &["/"]),
            (r"(?:a (\d+)x|b (?<n>\d+)yz*)", &["x", "y"]),
            (r"(\d+)\.\s", &["."]),
            (r"(\d+)s?", &[""]),
            (r"(\d+)", &[""]),
            (r"([]()]+)a", &["a"]),
            (r"((\d+)a)b", &["b", "a"]),
        ];
        for (expression, literals) in cases {
            assert_eq!(behind_groups(expression), literals, "{expression}");
        }
    }
}
