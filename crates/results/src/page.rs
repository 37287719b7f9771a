//! The document within a page.
//!
//! A long session has hundreds of runs and locks, and its JSON several times the size of all else in the page. Such a document is
//! compressed: by gzip, whose bytes are written in base64. Many programs read that.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::borrow::Cow;
use std::io::{Read, Write};

/// What stands before a document in a page of `unspin`. Nothing else in a page is a script.
const PLAIN_BEGIN: &str = "<script type=\"application/json\" id=\"result\">";
/// What stands before a compressed one.
const PACKED_BEGIN: &str = "<script type=\"application/gzip\" id=\"result\">";
/// What stands behind it. The document itself has no `<`.
const END: &str = "</script>";

/// A larger document is compressed, in bytes.
const PLAIN_AT_MOST: usize = 100 << 10;
/// The largest document that is unpacked, in bytes: a damaged page does not fill the memory.
const UNPACKED_AT_MOST: u64 = 1 << 30;

/// The element of a page that contains this document, which has no `<`.
pub fn script(document: &str) -> String {
    match Some(document).filter(|document| document.len() > PLAIN_AT_MOST).and_then(packed) {
        Some(packed) => format!("{PACKED_BEGIN}{packed}{END}"),
        None => format!("{PLAIN_BEGIN}{document}{END}"),
    }
}

/// The JSON of a text: of a page the document that it contains, of any other text the text itself.
pub fn document(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('<') {
        return text.into();
    }
    let within = |begin| Some(text.split_once(begin)?.1.split_once(END)?.0);
    let found = within(PLAIN_BEGIN).map(Cow::Borrowed);
    found.or_else(|| unpacked(within(PACKED_BEGIN)?).map(Cow::Owned)).unwrap_or(text.into())
}

fn packed(document: &str) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(document.as_bytes()).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

/// None if it is damaged.
fn unpacked(packed: &str) -> Option<String> {
    let bytes = STANDARD.decode(packed.trim()).ok()?;
    let mut document = String::new();
    GzDecoder::new(&*bytes).take(UNPACKED_AT_MOST).read_to_string(&mut document).ok()?;
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(document: &str) -> String {
        format!("\n<!DOCTYPE html><p>\"x\"</p>{}</html>", script(document))
    }

    #[test]
    fn document_of_a_page_is_found() {
        assert_eq!(document(&page("{\"a\":1}")), "{\"a\":1}");
        assert_eq!(document(" {}"), "{}");
        assert_eq!(document("<html>"), "<html>", "no page of ours");
        assert_eq!(document(&format!("<{PLAIN_BEGIN}")), format!("<{PLAIN_BEGIN}"), "not whole");
    }

    #[test]
    fn large_document_is_packed_and_found_again() {
        let large = format!("[{}1]", "12345.678,".repeat(PLAIN_AT_MOST / 10));
        let page = page(&large);
        assert!(page.len() < large.len() / 10 && page.contains("application/gzip"), "{} bytes", page.len());
        assert_eq!(document(&page), large);
        let damaged = page.replacen("H4sI", "H4sJ", 1);
        assert!(document(&damaged).starts_with('<'), "no document");
        assert!(document(&page.replacen("</script>", "", 1)).starts_with('<'), "not whole");
    }
}
