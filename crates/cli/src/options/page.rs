//! The options of `unspin page`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
Exit code:
    0  the files have been written
    2  the command line is wrong; the result cannot be read, is no result of unspin, or one of another version; or a file
       cannot be written there
  125  unspin itself failed: the file system is full

Examples:
  unspin page result.json --output result.html     # what --html would have written
  unspin page result.html --json result.json       # the JSON within a page";

/// Make a page of a stored result, or take the JSON out of a page
///
/// A result is a file that `unspin prove`, `meter`, `scale`, `compare` or `combine` has written, with --json or with --html. A page is one HTML file, which
/// loads nothing from elsewhere and contains its JSON.
#[derive(Args, Debug)]
#[command(after_help = HELP, group = clap::ArgGroup::new("outputs").args(["output", "json"]).multiple(true).required(true))]
pub struct PageOptions {
    /// The stored result: JSON or a page
    #[arg(value_name = "FILE")]
    pub result: PathBuf,

    /// Write the page to this file
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
