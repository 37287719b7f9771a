//! Lists with commas between, of elements whose names may hold commas themselves.

/// Splits at the commas behind which another element begins. Behind an element with a name (`steal@Map<int, long>::lock`) that is
/// only where a word follows that `is_head`: names of C++ have commas too. Behind one without a name every comma separates, so
/// that a word that is none is reported.
pub fn split(text: &str, is_head: impl Fn(&str) -> bool) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (comma, _) in text.match_indices(',') {
        let named = text[start..comma].contains('@');
        let rest = &text[comma + 1..];
        let end = rest.find([',', '@']).unwrap_or(rest.len());
        if !named || is_head(&rest[..end]) {
            parts.push(&text[start..comma]);
            start = comma + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_between_elements_separate() {
        let split = |text| split(text, |word| ["adaptive", "steal", "fair", "pi"].contains(&word));
        assert_eq!(split("adaptive"), ["adaptive"]);
        assert_eq!(split("adaptive,steal@a,fair"), ["adaptive", "steal@a", "fair"]);
        assert_eq!(split("steal@Map<int, long>::lock,pi"), ["steal@Map<int, long>::lock", "pi"]);
        assert_eq!(split("adaptive,stael,pi"), ["adaptive", "stael", "pi"]);
        assert_eq!(split("steal@f, mutex initialised there"), ["steal@f, mutex initialised there"]);
    }
}
