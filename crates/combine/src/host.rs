//! One result: a session of `unspin prove` on one host.

use crate::format::clean;
use std::fs;
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::output::shell;
use unspin_results::{StoredProof, StoredResult};
use unspin_stats::fleet::HOST_ROUNDS_AT_LEAST;
use unspin_stats::{Comparison, Verdict};

/// A result that was read.
#[derive(Clone, Debug)]
pub struct HostResult {
    /// Its file, for messages.
    pub file: String,
    /// The host's name; a second result of the same host has a number behind it.
    pub name: String,
    /// The result.
    pub proof: StoredProof,
}

/// Reads all files. Each is needed: a fleet without the hosts that cannot be read would be another fleet.
pub fn read(files: &[PathBuf]) -> Result<Vec<HostResult>, Error> {
    if files.len() < 2 {
        return Err(Error::Usage(
            "one result is no fleet, and its own verdict is in it: name the results of at least two hosts"
                .into(),
        ));
    }
    let mut results: Vec<HostResult> = Vec::new();
    for file in files {
        let (file, proof) = (shell::on_one_line(file), proof(file)?);
        let host = clean(&proof.machine.host);
        let before = results.iter().filter(|other| clean(&other.proof.machine.host) == host).count();
        let name = if before == 0 { host } else { format!("{host} ({})", before + 1) };
        results.push(HostResult { file, name, proof });
    }
    Ok(results)
}

fn proof(file: &Path) -> Result<StoredProof, Error> {
    let wrong = |why: String| Error::Usage(format!("{}: {why}", shell::on_one_line(file)));
    let bytes = fs::read(file).map_err(|e| wrong(format!("cannot be read: {e}; nothing was combined")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not JSON: it is no text in UTF-8".into()))?;
    let result = StoredResult::parse(&text)
        .map_err(|e| wrong(format!("{e}; nothing was combined: measure again, or leave the file out")))?;
    let other = |command| {
        Err(wrong(format!("is a result of `unspin {command}`: combine takes those of `unspin prove --json`")))
    };
    match result {
        StoredResult::Proof(proof) => Ok(*proof),
        StoredResult::Scale(_) => other("scale"),
        StoredResult::Meter(_) => other("meter"),
    }
}

impl HostResult {
    /// Why nothing was measured here that can be compared; none if something was.
    pub fn failure(&self) -> Option<String> {
        let comparisons = &self.proof.analysis.comparisons;
        let of_control = |comparison: &Comparison| match &comparison.verdict {
            Verdict::Failed { name, failed, runs, reason } if *name != comparison.name => {
                Some(clean(&format!("{name} failed in {failed} of {runs} runs (first: {reason})")))
            }
            _ => None,
        };
        if let Some(reason) = comparisons.iter().find_map(of_control) {
            return Some(reason);
        }
        let rounds = self.proof.rounds;
        let few = rounds < HOST_ROUNDS_AT_LEAST && !comparisons.iter().any(is_cut_off);
        let ended = match &self.proof.aborted {
            Some(reason) => format!(", ended early: {}", clean(reason)),
            None if self.proof.interrupted => ", interrupted".into(),
            None => String::new(),
        };
        few.then(|| format!("{rounds} rounds{ended}; at least {HOST_ROUNDS_AT_LEAST} are needed"))
    }

    /// What ended the session early, although it is used; none if it ran to its end.
    pub fn ended_early(&self) -> Option<String> {
        let rounds = self.proof.rounds;
        match &self.proof.aborted {
            Some(reason) => Some(format!("ended early after {rounds} rounds: {}", clean(reason))),
            None => self.proof.interrupted.then(|| format!("interrupted after {rounds} rounds")),
        }
    }
}

/// Whether the candidate's runs were ended, or failed, so that a small number of rounds is a result.
pub fn is_cut_off(comparison: &Comparison) -> bool {
    match comparison.verdict {
        Verdict::Collapsed(_)
        | Verdict::Hangs(_)
        | Verdict::Withheld(_)
        | Verdict::GivenUp { .. }
        | Verdict::Failed { .. } => true,
        Verdict::ProvenFaster { .. } | Verdict::ProvenSlower { .. } | Verdict::NothingProven { .. } => false,
    }
}
