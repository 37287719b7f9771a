//! Pages of documents, as a reader and a browser find them. `UNSPIN_PAGES=FOLDER` keeps the pages, for `ci/page.sh`.

mod bad_cases;
mod cases;
mod comparisons;
mod document;
mod safety;
mod sessions;
mod values;
