//! Reads the tokens of one module: the modules that it declares, the names that it defines, and the paths that it mentions.
//! Tokens and not a syntax tree, because the arguments of macros have no syntax tree.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// A path as it is written: `["crate", "sem", "Set"]`.
pub type Path = Vec<String>;

/// What a module's own tokens say, without those of its children.
#[derive(Debug, Default)]
pub struct Seen {
    /// The items that the module defines.
    pub items: BTreeSet<String>,
    /// The names that it imports or re-exports, and the path of each.
    pub names: BTreeMap<String, Path>,
    /// The modules of which it imports all names.
    pub globs: Vec<Path>,
    /// All paths of two names or more, including those of `use`.
    pub paths: BTreeSet<Path>,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug)]
pub struct Declared {
    /// The name of the module.
    pub name: String,
    /// The path in `#[path = "…"]`.
    pub path: Option<String>,
    /// The tokens between its braces; `None` if the module is a file.
    pub block: Option<TokenStream>,
}

/// Reads the items of a module. Code that only tests and models compile is left out.
pub fn scan(stream: TokenStream) -> (Seen, Vec<Declared>) {
    let tokens = without_tests(stream);
    let (mut seen, mut declared, mut file) = (Seen::default(), Vec::new(), None);
    let mut at = 0;
    while at < tokens.len() {
        if let Some(attribute) = attribute(&tokens[at..]) {
            file = file.or_else(|| path_of(&attribute));
            at += 2;
            continue;
        }
        let keyword = ident(&tokens, at).unwrap_or_default();
        let name = ident(&tokens, at + 1);
        match (keyword.as_str(), name) {
            ("mod", Some(name)) => {
                let block = match tokens.get(at + 2) {
                    Some(TokenTree::Group(block)) => Some(block.stream()),
                    _ => None,
                };
                declared.push(Declared { name, path: file.take(), block });
                at += 3;
                continue;
            }
            ("use", _) => {
                let end = tokens[at..].iter().position(|token| is_punct(token, ';')).unwrap_or(1);
                use_tree(&tokens[at + 1..at + end], &Path::new(), &mut seen);
                file = None;
                at += end;
                continue;
            }
            ("macro_rules", None) => {
                seen.items.extend(ident(&tokens, at + 2));
            }
            ("struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static", Some(name)) => {
                let name = if name == "mut" { ident(&tokens, at + 2).unwrap_or(name) } else { name };
                seen.items.insert(name);
                file = None;
            }
            _ => {}
        }
        at += mentioned(&tokens[at..], &mut seen.paths);
    }
    (seen, declared)
}

/// Reads the first path, group or other token, and adds the paths that it mentions. Returns how many tokens it read.
fn mentioned(tokens: &[TokenTree], paths: &mut BTreeSet<Path>) -> usize {
    match &tokens[0] {
        TokenTree::Group(group) => {
            all_mentioned(group, paths);
            1
        }
        // The path in `pub(in path)` restricts visibility and uses nothing.
        TokenTree::Ident(word) if word == "pub" => match tokens.get(1) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => 2,
            _ => 1,
        },
        TokenTree::Ident(first) => {
            let mut path = vec![first.to_string()];
            let mut taken = 1;
            while is_separator(&tokens[taken..]) {
                match tokens.get(taken + 2) {
                    Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                    Some(TokenTree::Group(tree)) if tree.delimiter() == Delimiter::Brace => {
                        let mut seen = Seen::default();
                        use_tree(&without_tests(tree.stream()), &path, &mut seen);
                        paths.append(&mut seen.paths);
                    }
                    _ => break,
                }
                taken += 3;
            }
            if path.len() > 1 {
                paths.insert(path);
            }
            taken
        }
        // A path that begins with `::` names another crate; one that begins with `<T>::` names a member of a type.
        TokenTree::Punct(_) if is_separator(tokens) => match tokens.get(2) {
            Some(TokenTree::Ident(_)) => 2 + mentioned(&tokens[2..], &mut BTreeSet::new()),
            _ => 2,
        },
        _ => 1,
    }
}

fn all_mentioned(group: &Group, paths: &mut BTreeSet<Path>) {
    let tokens = without_tests(group.stream());
    let mut at = 0;
    while at < tokens.len() {
        at += mentioned(&tokens[at..], paths);
    }
}

/// Reads `a::b`, `a::b as c`, `a::*`, `a::{…}`, or a list of these, each below `prefix`.
fn use_tree(tokens: &[TokenTree], prefix: &Path, seen: &mut Seen) {
    for tree in tokens.split(|token| is_punct(token, ',')) {
        let mut path = prefix.clone();
        let mut name = None;
        let mut at = 0;
        if is_separator(tree) {
            continue;
        }
        while let Some(token) = tree.get(at) {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    name = ident(tree, at + 1);
                    at += 1;
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(star) if star.as_char() == '*' => {
                    seen.globs.push(path.clone());
                    seen.paths.insert(std::mem::take(&mut path));
                }
                TokenTree::Group(group) => {
                    use_tree(&without_tests(group.stream()), &std::mem::take(&mut path), seen);
                }
                _ => {}
            }
            at += 1;
        }
        if let Some(last) = path.last() {
            seen.names.insert(name.unwrap_or_else(|| last.clone()), path.clone());
            seen.paths.insert(path);
        }
    }
}

/// The tokens without every item, field and statement that only tests and models compile (`#[cfg(test)]`,
/// `#[cfg(all(test, …))]`, `#[cfg(loom)]` and the like).
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if attribute(&tokens[at..]).is_some_and(|attribute| is_for_tests(&attribute)) {
            at += 2;
            while attribute(&tokens[at..]).is_some() {
                at += 2;
            }
            at += length_of_item(&tokens[at..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Returns the number of tokens of the item, field or statement that begins here.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    const BEGINNINGS: [&str; 16] = [
        "pub",
        "mod",
        "use",
        "fn",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "const",
        "static",
        "impl",
        "unsafe",
        "extern",
        "async",
        "macro_rules",
    ];
    let is_item = ident(tokens, 0).is_some_and(|word| BEGINNINGS.contains(&word.as_str()));
    for (at, token) in tokens.iter().enumerate() {
        let is_block = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let is_last = !tokens.get(at + 1).is_some_and(|next| is_punct(next, ';'));
        if is_punct(token, ';') || is_block && is_last || !is_item && is_punct(token, ',') {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the contents of `#[…]`, if the tokens begin with that.
fn attribute(tokens: &[TokenTree]) -> Option<TokenStream> {
    match tokens {
        [mark, TokenTree::Group(group), ..]
            if is_punct(mark, '#') && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream())
        }
        _ => None,
    }
}

fn is_for_tests(attribute: &TokenStream) -> bool {
    const CHECKERS: [&str; 4] = ["cfg(test)", "cfg(loom)", "cfg(shuttle)", "cfg(any(loom,shuttle))"];
    let text: String = attribute.to_string().split_whitespace().collect();
    CHECKERS.contains(&text.as_str()) || text.starts_with("cfg(all(test,")
}

fn path_of(attribute: &TokenStream) -> Option<String> {
    let text = attribute.to_string();
    Some(text.strip_prefix("path = \"")?.strip_suffix('"')?.to_owned())
}

fn ident(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(word)) => Some(word.to_string().trim_start_matches("r#").to_owned()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// `::`
fn is_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [one, other, ..] if is_punct(one, ':') && is_punct(other, ':'))
}
