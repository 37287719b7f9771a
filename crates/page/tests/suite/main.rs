//! Pages of documents, as a reader and a browser find them. `UNSPIN_PAGES=FOLDER` keeps the pages, for `ci/page.sh`.

mod bad_cases;
mod cases;
mod comparisons;
mod document;
mod lenses;
mod meter;
mod prove;
mod safety;
mod scale;
mod sessions;
mod values;
