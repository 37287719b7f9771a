//! What the kernel reports: tracepoints, samples, symbols.

use super::check::Check;
use unspin_launch::error::Error;
use unspin_observe::lens::run::obstacle;
use unspin_observe::profile;
use unspin_observe::settings::{Lens, ObserveSettings};

/// The events of the lenses.
pub fn tracepoints() -> Check {
    const NAME: &str = "kernel's events";
    let of_program = ObserveSettings::default();
    let of_all = ObserveSettings { all_processes: true, ..ObserveSettings::default() };
    let mut obstacles = Vec::<(String, Vec<&str>)>::new();
    for lens in Lens::OF_KERNEL {
        let Some(error) = obstacle(*lens, &of_program).or_else(|| obstacle(*lens, &of_all)) else { continue };
        let reason = reason(&error);
        match obstacles.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, lenses)) => lenses.push(lens.name()),
            None => obstacles.push((reason, vec![lens.name()])),
        }
    }
    if obstacles.is_empty() {
        let names: Vec<&str> = Lens::OF_KERNEL.iter().map(|lens| lens.name()).collect();
        let found = format!("for a program and for all processes these lenses work: {}", names.join(", "));
        return Check::ok(NAME, found);
    }
    let missing: Vec<&str> = obstacles.iter().flat_map(|(_, lenses)| lenses.iter().copied()).collect();
    let reasons: Vec<&str> = obstacles.iter().map(|(reason, _)| reason.as_str()).collect();
    Check::fails(NAME, reasons.join("; "), &format!("the lenses {}", missing.join(", ")))
}

/// The error without the tracepoint that it names first: the reason is the same for all.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    match text.split_once(": not permitted: ") {
        Some((_, needs)) => format!("tracepoints are not permitted: {needs}"),
        None => text,
    }
}

/// The samples of `unspin profile`.
pub fn samples() -> Check {
    const NAME: &str = "kernel's profile";
    match profile::obstacle() {
        None => Check::ok(NAME, "the kernel can be sampled, and its symbols have addresses"),
        Some(error) => Check::fails(
            NAME,
            error,
            "`unspin profile`, but for `--user`; names of the kernel's locks and functions",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenses_share_a_reason() {
        let denied = |what: &str| Error::Environment(format!("{what}: not permitted: kernel.x is 2"));
        assert_eq!(reason(&denied("lock:a")), reason(&denied("sched:b")));
        assert_eq!(reason(&Error::Environment("no tracefs".into())), "no tracefs");
    }
}
