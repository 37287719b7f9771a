//! The kinds of lock, as the user writes them.

use unspin_locks::LockKind;

/// Parses a kind for clap, and for whoever else has one in writing.
pub fn parse(name: &str) -> Result<LockKind, String> {
    name.parse().map_err(|_| {
        let names = LockKind::ALL.map(LockKind::name);
        let meant =
            super::nearest::of(name, names).map_or(String::new(), |near| format!(" (meant: {near}?)"));
        format!("there is no kind {name:?}{meant}: {}", names.join(", "))
    })
}

/// What the user should know of a kind before the program runs under it.
pub fn warning(kind: LockKind) -> Option<String> {
    kind.is_experimental().then(|| {
        format!(
            "{kind} is for study: its waiters spin without an end, and the program all but stands still when its threads \
             outnumber the CPUs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_are_told_the_known_ones() {
        let all = "system, pi, ttas, ticket, mcs, fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive";
        assert_eq!(parse("adaptiv"), Err(format!("there is no kind \"adaptiv\" (meant: adaptive?): {all}")));
        assert_eq!(parse("futex"), Err(format!("there is no kind \"futex\": {all}")));
        assert_eq!(parse("rt-fair"), Ok(LockKind::RtFair));
    }

    #[test]
    fn only_what_spins_without_an_end_is_warned_of() {
        let warned: Vec<LockKind> =
            LockKind::ALL.into_iter().filter(|&kind| warning(kind).is_some()).collect();
        assert_eq!(warned, [LockKind::Ttas, LockKind::Ticket, LockKind::Mcs]);
    }
}
