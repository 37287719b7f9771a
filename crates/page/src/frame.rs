//! What all pages share: head, style, landmarks, and the embedded document.

use crate::embedded::embeddable;
use crate::name::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use unspin_results::script;

/// All styles: a page loads nothing.
const STYLE: &str = concat!(include_str!("style.css"), include_str!("locks/style.css"));

/// A page loads nothing and runs nothing, whatever a name in it contains.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The contents of a page.
pub struct Frame {
    /// The title of the window: the command and what was measured.
    pub title: String,
    /// What stands first: the heading (`h1`) and the finding.
    pub header: Markup,
    /// The sections, in their order.
    pub sections: Vec<Section>,
    /// What stands last: what wrote the page.
    pub footer: Markup,
}

/// A section of a page.
pub struct Section {
    /// Unique within the page, without spaces.
    pub id: &'static str,
    /// The heading (`h2`). Headings within the section begin with `h3`.
    pub title: String,
    /// The contents.
    pub contents: Markup,
}

impl Frame {
    /// The page, in which the document is embedded.
    pub fn page(&self, json: &str) -> String {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    link rel="icon" href="data:,";
                    title { (visible(&self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the contents" }
                    header { (self.header) (self.contents()) }
                    main id="main" tabindex="-1" {
                        @for section in &self.sections {
                            section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                                h2 id={ (section.id) "-heading" } { (section.title) }
                                (section.contents)
                            }
                        }
                    }
                    footer { (self.footer) (archive(json)) }
                }
            }
        };
        markup.into_string()
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Sections" {
                ul { @for section in &self.sections { li { a href={ "#" (section.id) } { (section.title) } } } }
            }
        }
    }
}

/// The document, which [`unspin_results::document`] finds again.
fn archive(json: &str) -> Markup {
    html! {
        p {
            "This page contains the whole result, as JSON in its element " code { "result" } "; a long one is compressed (gzip, base64). "
            "The commands of unspin that read a result accept this file, too, and " code { "unspin page --json" } " writes the JSON."
        }
        (PreEscaped(script(&embeddable(json))))
    }
}
