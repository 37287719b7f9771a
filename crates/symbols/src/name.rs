//! Demangles symbols to the names of the source.

use cpp_demangle::{DemangleOptions, Symbol};
use unspin_sys::printable;

/// A name, with and without the parts that only the compiler needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// With the parameters of a C++ function.
    pub full: String,
    /// Without parameters, return type and compiler suffixes.
    pub short: String,
}

/// The source name of a symbol.
pub(crate) fn demangle(symbol: &str) -> Name {
    // `name@@VERSION`, in tables with versioned symbols.
    let symbol = symbol.split('@').next().unwrap_or(symbol);
    // A file may have any byte in a name. Escaped here, it is the same wherever it is printed, and where the user names it.
    let symbol = &*printable::line(symbol);
    if is_rust(symbol)
        && let Ok(name) = rustc_demangle::try_demangle(symbol)
    {
        let name = format!("{name:#}");
        return Name { full: name.clone(), short: name };
    }
    cpp(symbol).unwrap_or_else(|| Name { full: symbol.to_owned(), short: without_marks(symbol).to_owned() })
}

/// Whether a name is mangled, so that it contains the scopes of the function or variable.
pub(crate) fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || symbol.starts_with("_R")
}

/// Rust's own mangling, or its older one, which is C++'s with a hash at the end.
fn is_rust(symbol: &str) -> bool {
    let legacy = || {
        let (_, end) = symbol.rsplit_once("17h")?;
        let (hash, rest) = end.split_at_checked(16)?;
        // Only a compiler suffix may follow.
        let rest = rest.strip_prefix('E')?;
        Some(hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && (rest.is_empty() || rest.starts_with('.')))
    };
    symbol.starts_with("_R") || (symbol.starts_with("_ZN") && legacy() == Some(true))
}

fn cpp(symbol: &str) -> Option<Name> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let full = Symbol::new(symbol).ok()?.demangle().ok()?;
    let options = DemangleOptions::new().no_return_type();
    let plain = Symbol::new(without_marks(symbol)).ok()?.demangle_with_options(&options).ok()?;
    Some(Name { full, short: without_parameters(&plain).replace(STRING, "std::string") })
}

/// The full name of libstdc++'s string, which is shortened to the usual one.
const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

/// Removes parameters, also in the middle of a name, for entities local to a function; the option of `cpp_demangle`
/// does not do that. Examples: `work(int)::lock`, `Cache::find(int) const::{lambda(int)#1}::operator()`. The parameters
/// of a lambda stay, because only they distinguish it from other lambdas; so do those within template arguments.
fn without_parameters(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    let mut depth = 0_usize;
    while let Some(next) = rest.chars().next() {
        if let Some(operator) = operator(rest).filter(|_| !plain.ends_with(is_of_identifier)) {
            plain.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        match next {
            '<' | '{' => depth += 1,
            '>' | '}' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !rest.starts_with("(anonymous namespace)") => {
                rest = after_parameters(rest);
                continue;
            }
            _ => {}
        }
        plain.push(next);
        rest = &rest[next.len_utf8()..];
    }
    plain
}

/// The name of an operator whose symbol looks like brackets.
fn operator(rest: &str) -> Option<&str> {
    const BRACKETS: [&str; 9] = ["()", "<=>", "<<=", ">>=", "<<", ">>", "->", "<", ">"];
    let signs = rest.strip_prefix("operator")?;
    let found = BRACKETS.iter().find(|found| signs.starts_with(**found))?;
    Some(&rest[.."operator".len() + found.len()])
}

fn is_of_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The text after the closing parenthesis and the qualifiers of a member function.
fn after_parameters(rest: &str) -> &str {
    let mut depth = 0_usize;
    let end = rest.char_indices().find_map(|(index, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(index + 1)
    });
    let mut rest = &rest[end.unwrap_or(rest.len())..];
    while let Some(qualified) =
        [" const", " volatile", " &&", " &"].iter().find_map(|word| rest.strip_prefix(word))
    {
        rest = qualified;
    }
    rest
}

/// Words after a dot that compilers add to the names of parts and copies of functions: GCC's, LLVM's, and Go's for its
/// two calling conventions.
const MARKS: [&str; 15] = [
    "part",
    "cold",
    "constprop",
    "isra",
    "lto_priv",
    "localalias",
    "clone",
    "llvm",
    "resume",
    "destroy",
    "cleanup",
    "actor",
    "warm",
    "abi0",
    "abiinternal",
];

/// Removes the suffixes of parts and copies of a function that compilers make: `.part.0`, `.cold`, `.constprop.1`,
/// `.llvm.77`. Other dots belong to the name: Go's names have one after the package, as in `sync.(*Mutex).Lock`.
fn without_marks(symbol: &str) -> &str {
    let is_mark = |text: &str| {
        let word = text.split('.').next().unwrap_or_default();
        word.bytes().all(|byte| byte.is_ascii_digit()) || MARKS.contains(&word)
    };
    let mut dots = symbol.match_indices('.').map(|(dot, _)| dot);
    let first = dots.find(|&dot| dot > 0 && is_mark(&symbol[dot + 1..]));
    &symbol[..first.unwrap_or(symbol.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        let cases = [
            ("main", "main", "main"),
            ("work.constprop.0", "work.constprop.0", "work"),
            ("pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock", "pthread_mutex_lock"),
            ("_ZN5space3fooEibc", "space::foo(int, bool, char)", "space::foo"),
            ("_ZN5space3maxIiEET_S1_S1_", "int space::max<int>(int, int)", "space::max<int>"),
            ("_ZZ4workiE4lock", "work(int)::lock", "work::lock"),
            (
                "_ZZNK5Cache4findEiENKUliE_clEi",
                "Cache::find(int) const::{lambda(int)#1}::operator()(int) const",
                "Cache::find::{lambda(int)#1}::operator()",
            ),
            ("_ZN12_GLOBAL__N_14pushEi", "(anonymous namespace)::push(int)", "(anonymous namespace)::push"),
            ("_ZlsR5QueueS0_", "operator<<(Queue&, Queue&)", "operator<<"),
            (
                "_ZZN3BoxISt8functionIFviEEE3getEvE4lock",
                "Box<std::function<void (int)> >::get()::lock",
                "Box<std::function<void (int)> >::get::lock",
            ),
            ("_ZN4prog5queue4push17h0123456789abcdefE", "prog::queue::push", "prog::queue::push"),
            ("_ZN4prog5queue4push17h0123456789abcdefE.llvm.12", "prog::queue::push", "prog::queue::push"),
            (
                "_ZN54_$LT$prog..ast..Node$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
                "<prog::ast::Node as core::clone::Clone>::clone",
                "<prog::ast::Node as core::clone::Clone>::clone",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"),
            (
                "_ZN3BoxINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE3getEv",
                "Box<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::get()",
                "Box<std::string >::get",
            ),
            ("main.work", "main.work", "main.work"),
            ("runtime.futex.abi0", "runtime.futex.abi0", "runtime.futex"),
            ("main.main.func1", "main.main.func1", "main.main.func1"),
            ("counter.0", "counter.0", "counter"),
            ("_Znonsense", "_Znonsense", "_Znonsense"),
            ("", "", ""),
            (".", ".", "."),
        ];
        for (symbol, full, short) in cases {
            assert_eq!(demangle(symbol), Name { full: full.into(), short: short.into() }, "{symbol}");
        }
    }
}
