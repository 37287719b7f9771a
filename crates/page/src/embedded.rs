//! The document within its page.

/// More bytes of a document than these are not embedded: a page of an ordinary result has less than 300 kB.
pub const EMBEDDED_MAX: usize = 200_000;

/// JSON that may stand in a `<script>` element: the same document, in which no text ends the element or begins a comment. Within
/// JSON, `<` is part of strings only, where `\u003c` means the same; U+2028 and U+2029 are escaped for old readers.
pub fn escape(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element() {
        let escaped = escape(r#"{"a": "</script><!-- <script> ]]>"}"#);
        assert!(!escaped.contains(['<', '>']), "{escaped}");
    }
}
