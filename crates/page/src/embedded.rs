//! The document within its page.

/// JSON that may stand in a `<script>` element: the same document without the white space around its tokens, in which no text ends
/// the element or begins a comment. `<`, `>` and `&` are parts of strings only, where an escape means the same.
pub fn embeddable(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let (mut is_string, mut is_escaped) = (false, false);
    for letter in json.chars() {
        match letter {
            ' ' | '\n' | '\r' | '\t' if !is_string => continue,
            '<' => shown.push_str("\\u003c"),
            '>' => shown.push_str("\\u003e"),
            '&' => shown.push_str("\\u0026"),
            letter => shown.push(letter),
        }
        (is_string, is_escaped) = match (is_string, is_escaped, letter) {
            (true, true, _) => (true, false),
            (true, false, '\\') => (true, true),
            (is_string, false, '"') => (!is_string, false),
            (is_string, ..) => (is_string, false),
        };
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn parse(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn no_text_ends_the_element() {
        let json = r#"{"a </script>": "</script><!-- <script> ]]> & \u003c", "b": [1,  2]}"#;
        let embedded = embeddable(json);
        assert!(!embedded.contains(['<', '>', '&']), "{embedded}");
        assert_eq!(parse(&embedded), parse(json));
    }

    #[test]
    fn white_space_is_kept_within_strings_only() {
        let json = "{ \"a\\\" b\" : [ 1 ,\n\t2e5 ] , \"c\\\\\" : \" d  \" }\n";
        assert_eq!(embeddable(json), "{\"a\\\" b\":[1,2e5],\"c\\\\\":\" d  \"}");
    }
}
