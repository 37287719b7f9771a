//! Which kind of result a document is.

use crate::combine::{COMBINE_SCHEMA, CombinedResults};
use crate::compare::{COMPARE_SCHEMA, ResultComparison};
use crate::meter::StoredMeter;
use crate::prove::StoredProof;
use crate::scale::StoredScale;
use serde::Deserialize;
use std::fmt;

/// Formats that this version reads, beside [`unspin_report::SCHEMA`] and those of comparisons.
const PROOF: &str = "unspin.prove/3";
const SCALE: &str = "unspin.scale/1";

/// A stored result.
#[derive(Clone, Debug)]
pub enum StoredResult {
    /// Of `unspin prove --json`.
    Proof(Box<StoredProof>),
    /// Of `unspin scale --json`.
    Scale(Box<StoredScale>),
    /// Of `unspin meter --json` and `unspin report --json`.
    Meter(Box<StoredMeter>),
    /// Of `unspin compare --json`.
    Comparison(Box<ResultComparison>),
    /// Of `unspin combine --json`.
    Combined(Box<CombinedResults>),
}

/// Why a text is not a stored result. The text of the error is a predicate: "is not JSON: …".
#[derive(Debug)]
pub enum ParseError {
    /// It is not JSON, or not whole.
    NotJson(serde_json::Error),
    /// It is a page or another text with tags, and no document of ours is in it.
    NoDocument,
    /// It is JSON, and has no field `schema` of ours.
    NotOurs,
    /// Its format is of another version.
    OtherVersion {
        /// The format of the document.
        found: String,
        /// The format that this version reads.
        read: String,
    },
    /// Its format is known, but a field is missing or has another type.
    Damaged(serde_json::Error),
}

/// The fields that say which format a document has.
#[derive(Deserialize)]
struct Heading {
    schema: Option<String>,
    version: Option<u32>,
}

impl StoredResult {
    /// The command of unspin that writes such a result.
    pub fn command(&self) -> &'static str {
        match self {
            StoredResult::Proof(_) => "prove",
            StoredResult::Scale(_) => "scale",
            StoredResult::Meter(_) => "meter",
            StoredResult::Comparison(_) => "compare",
            StoredResult::Combined(_) => "combine",
        }
    }

    /// Reads a document, or a page that contains one.
    pub fn parse(text: &str) -> Result<StoredResult, ParseError> {
        let text = &*crate::page::document(text);
        if text.starts_with('<') {
            return Err(ParseError::NoDocument);
        }
        let whole: serde_json::Value = serde_json::from_str(text).map_err(ParseError::NotJson)?;
        let Heading { schema: Some(schema), version } =
            Heading::deserialize(&whole).map_err(|_| ParseError::NotOurs)?
        else {
            return Err(ParseError::NotOurs);
        };
        let other = |found: String, read: &str| Err(ParseError::OtherVersion { found, read: read.into() });
        match (schema.as_str(), version) {
            (PROOF, _) => Ok(StoredResult::Proof(Box::new(proof(text)?))),
            (SCALE, _) => Ok(StoredResult::Scale(Box::new(read(text)?))),
            (COMPARE_SCHEMA, _) => Ok(StoredResult::Comparison(Box::new(read(text)?))),
            (COMBINE_SCHEMA, _) => Ok(StoredResult::Combined(Box::new(read(text)?))),
            (unspin_report::SCHEMA, Some(unspin_report::SCHEMA_VERSION)) => {
                Ok(StoredResult::Meter(Box::new(meter(text, &whole)?)))
            }
            (unspin_report::SCHEMA, version) => {
                let named = |version| format!("{} {version}", unspin_report::SCHEMA);
                let found = version.map_or_else(|| unspin_report::SCHEMA.to_owned(), named);
                other(found, &named(unspin_report::SCHEMA_VERSION))
            }
            (found, _) if !found.starts_with("unspin") => Err(ParseError::NotOurs),
            (found, _) => {
                let known = [PROOF, SCALE, COMPARE_SCHEMA, COMBINE_SCHEMA];
                let kind = |schema: &str| schema.split('/').next().map(str::to_owned);
                let same = known.iter().find(|known| kind(known) == kind(found));
                let all = || format!("{}, {}", known.join(", "), unspin_report::SCHEMA);
                let read = same.map_or_else(all, |&same| same.to_owned());
                other(schema, &read)
            }
        }
    }
}

/// A proof, of which all figures can be compared, as `unspin prove` has checked them.
fn proof(text: &str) -> Result<StoredProof, ParseError> {
    let proof: StoredProof = read(text)?;
    let compared =
        proof.analysis.comparisons.iter().chain(&proof.no_preload).flat_map(|comparison| &comparison.runs);
    let wrong = compared.chain(&proof.analysis.control_runs).find_map(|run| {
        match run.step {
            // A step beyond all figures, so that no bound has a double's range.
            Some(step) if !(step > 0.0 && step <= 1e50) => Some(format!("the step of a figure is {step:e}")),
            _ => unspin_stats::comparable(run.value()?).err(),
        }
    });
    match wrong {
        Some(why) => Err(ParseError::Damaged(serde::de::Error::custom(why))),
        None => Ok(proof),
    }
}

/// The lenses of the kernel's events write a document without the fields of the pthread lens, of which `total` is one.
fn meter(text: &str, whole: &serde_json::Value) -> Result<StoredMeter, ParseError> {
    let report = whole.get("total").map(|_| read(text)).transpose()?;
    Ok(StoredMeter { report, ..read(text)? })
}

/// The text again, not the value: errors then have a line and a column.
fn read<T: for<'d> Deserialize<'d>>(text: &str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(ParseError::Damaged)
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::NotJson(e) if e.is_eof() => write!(f, "is not whole: {e}"),
            ParseError::NotJson(e) => write!(f, "is not JSON: {e}"),
            ParseError::NoDocument => {
                write!(f, "is a page without a result of unspin: write one with --html")
            }
            ParseError::NotOurs => write!(f, "is not a result of unspin: write one with --json"),
            ParseError::OtherVersion { found, read } => {
                write!(f, "has the format {found}, and this version of unspin reads {read}")
            }
            ParseError::Damaged(e) => write!(f, "is a damaged result: {e}"),
        }
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        StoredResult::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_result_is_named() {
        assert!(refusal("").starts_with("is not whole: "));
        assert_eq!(refusal("<!DOCTYPE html>"), "is a page without a result of unspin: write one with --html");
        assert!(refusal(r#"{"schema": "unspin.prove/3", "#).starts_with("is not whole: "));
        assert!(refusal("unspin").starts_with("is not JSON: "));
        for other in ["[]", "{}", "3", r#"{"schema": 3}"#, r#"{"schema": "hyperfine"}"#] {
            assert_eq!(refusal(other), "is not a result of unspin: write one with --json", "{other}");
        }
        assert!(refusal(r#"{"schema": "unspin.prove/3"}"#).starts_with("is a damaged result: missing field"));
    }

    #[test]
    fn figure_that_cannot_be_compared_is_named() {
        let herd = include_str!("../../page/tests/documents/herd.json");
        let mut document: serde_json::Value = serde_json::from_str(herd).unwrap();
        assert!(StoredResult::parse(herd).is_ok());
        for step in [-1e-3, 0.0, 1e60] {
            let mut document = document.clone();
            document["analysis"]["control_runs"][0]["step"] = step.into();
            let said = refusal(&document.to_string());
            assert!(said.contains("the step of a figure is "), "{said}");
        }
        document["analysis"]["control_runs"][0]["value"] = 1e-320.into();
        let said = refusal(&document.to_string());
        assert!(said.contains("only figures from 1e-50 to 1e50 are compared"), "{said}");
    }

    #[test]
    fn other_version_is_refused() {
        let read = refusal(r#"{"schema": "unspin.prove/2"}"#);
        assert_eq!(read, "has the format unspin.prove/2, and this version of unspin reads unspin.prove/3");
        let locks = refusal(r#"{"schema": "unspin-locks", "version": 2}"#);
        assert_eq!(locks, "has the format unspin-locks 2, and this version of unspin reads unspin-locks 3");
        let compared = refusal(r#"{"schema": "unspin.compare/9"}"#);
        assert_eq!(
            compared,
            "has the format unspin.compare/9, and this version of unspin reads unspin.compare/1"
        );
        let unknown = refusal(r#"{"schema": "unspin.arenas/1"}"#);
        assert!(unknown.contains("unspin.arenas/1") && unknown.contains("unspin.combine/1, unspin-locks"));
    }
}
