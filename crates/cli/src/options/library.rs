//! The options of `unspin library`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
Exit code:
    0  the file has been written
    2  the command line is wrong, or the file cannot be written there
  125  unspin itself failed: the file system is full

Examples:
  unspin library --output ./libunspin_preload.so
  unspin library --output /opt/unspin/libunspin_preload.so";

/// Write the preload library to a file, to be mounted or copied into an image
///
/// A program loads it by LD_PRELOAD. `unspin plan compile` writes it beside a plan.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct LibraryOptions {
    /// The file. An earlier one is replaced as a whole, so programs that have loaded it go on. All users may read it
    #[arg(long, short, value_name = "FILE", required = true)]
    pub output: PathBuf,
}
