//! Lists separated by commas, whose elements may contain commas.

/// Splits a list at the commas after which another element begins. Names in C++ contain commas too. So after an element with a
/// name (`steal@Map<int, long>::lock`) a comma separates only if a word follows for which `is_head` holds. After an element
/// without a name every comma separates, so that unknown words are reported.
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
    fn only_commas_between_elements_separate() {
        let split = |text| split(text, |word| ["adaptive", "steal", "fair", "pi"].contains(&word));
        assert_eq!(split("adaptive"), ["adaptive"]);
        assert_eq!(split("adaptive,steal@a,fair"), ["adaptive", "steal@a", "fair"]);
        assert_eq!(split("steal@Map<int, long>::lock,pi"), ["steal@Map<int, long>::lock", "pi"]);
        assert_eq!(split("adaptive,stael,pi"), ["adaptive", "stael", "pi"]);
        assert_eq!(split("steal@f, mutex initialised there"), ["steal@f, mutex initialised there"]);
    }
}
