//! The kernels of a session in the printed report.

use super::super::booted::PastBoot;
use super::super::format::paragraph;
use super::super::report::Report;
use std::fmt::{Formatter, Result};

const TIMES: &str =
    "Each run booted its kernel; times are those of the guest, from the program's start to its end.";
const TRANSLATED: &str = "Without KVM the guests' instructions were translated (tcg), most of them many times slower than the \
                          processor's own, and not all by the same factor: only the ratios mean anything, and those of a real \
                          machine may differ.";

/// What was booted.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> Result {
    if report.kernels.iter().all(Option::is_none) {
        return Ok(());
    }
    writeln!(f, "Kernels")?;
    let kernels = report.configurations.iter().zip(&report.kernels);
    // Schedulers are compared on one kernel.
    let is_one = report.schedulers.iter().any(Option::is_some);
    // The control's pair has its kernel.
    for (configuration, kernel) in kernels.filter(|(configuration, _)| !configuration.is_aa()) {
        let Some(kernel) = kernel else { continue };
        let name = if is_one { &kernel.name } else { configuration.name() };
        write!(f, "{}", paragraph(&kernel.sentence(name), 2))?;
        if is_one {
            break;
        }
    }
    let mut boots = report.kernels.iter().flatten().filter_map(|kernel| kernel.boot.as_ref());
    let text =
        if boots.any(PastBoot::is_translated) { format!("{TIMES} {TRANSLATED}") } else { TIMES.into() };
    write!(f, "{}", paragraph(&text, 2))?;
    writeln!(f)
}
