//! The document within a page.

/// What stands before the document in a page of `unspin`. Nothing else in a page is a script.
pub const SCRIPT_BEGIN: &str = "<script type=\"application/json\" id=\"result\">";

/// What stands behind it. The document itself has no `<`.
pub const SCRIPT_END: &str = "</script>";

/// The JSON of a text: of a page the document that it contains, of any other text the text itself.
pub fn document(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('<') {
        return text;
    }
    let within = text.split_once(SCRIPT_BEGIN).and_then(|(_, rest)| rest.split_once(SCRIPT_END));
    within.map_or(text, |(document, _)| document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_of_a_page_is_found() {
        let page = format!("\n<!DOCTYPE html><p>\"x\"</p>{SCRIPT_BEGIN}{{\"a\":1}}{SCRIPT_END}</html>");
        assert_eq!(document(&page), "{\"a\":1}");
        assert_eq!(document(" {}"), "{}");
        assert_eq!(document("<html>"), "<html>", "no page of ours");
        assert_eq!(document(&format!("<{SCRIPT_BEGIN}")), format!("<{SCRIPT_BEGIN}"), "not whole");
    }
}
