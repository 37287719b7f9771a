//! Combines results of one comparison from many hosts into one verdict.
//!
//! 1. [`HostResult`] is a stored result of `unspin prove` with the name of its file.
//! 2. `sameness` refuses results that do not belong together, and a session that is named twice ([`Mismatch`]). `compiled`
//!    compares the plans of the candidates.
//! 3. `fleet` has what was measured where: hosts that failed, candidates that are missing or failed on some host, and the
//!    analysis of `unspin_stats::fleet`. `cpu_limit` is the strictest of the hosts. `group` looks for the property of hosts on
//!    which the effect depends.
//! 4. `sentence` and `next` say it. [`combine`] returns all as [`unspin_results::CombinedResults`], whose fields are the JSON
//!    document of docs/combine-json.md.
//! 5. [`Text`] and [`Markdown`] show it.
#![forbid(unsafe_code)]

mod compiled;
mod cpu_limit;
mod document;
mod fleet;
mod format;
mod group;
mod host;
mod markdown;
mod next;
mod price;
mod sameness;
mod sentence;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;

pub use host::HostResult;
pub use markdown::Markdown;
pub use sameness::Mismatch;
pub use text::Text;

use fleet::Fleet;
use unspin_results::{CombinedResults, StoredBuild};

/// Combines results. `expected` is the number of hosts that were to measure, if it is known; `build` the build that combines.
pub fn combine(
    mut results: Vec<HostResult>,
    expected: Option<u32>,
    build: StoredBuild,
) -> Result<CombinedResults, Mismatch> {
    if results.len() < 2 {
        return Err(Mismatch::new(
            "one result is no fleet, and its own verdict is in it: name the results of at least two hosts",
        ));
    }
    host::number(&mut results);
    sameness::check(&results)?;
    let named = host::distinct(&results);
    let expected = expected.unwrap_or(named);
    if named > expected {
        return Err(Mismatch::new(format!(
            "--hosts {expected}: results of {named} hosts are named: give the number of hosts that were to measure"
        )));
    }
    Ok(document::of(&Fleet::of(results, expected), build))
}
