//! The kinds of lock, by their names on the command line.

use unspin_locks::LockKind;

/// Parses a kind, of the command line or of a plan file.
pub fn parse(name: &str) -> Result<LockKind, String> {
    name.parse().map_err(|_| {
        let meant = super::nearest::of(name, LockKind::ALL.map(LockKind::name))
            .map_or(String::new(), |near| format!(" (meant: {near}?)"));
        // Like the help, the message does not offer the experimental kinds.
        let offered = LockKind::ALL.into_iter().filter(|kind| !kind.is_experimental());
        let offered: Vec<&str> = offered.map(LockKind::name).collect();
        format!("there is no kind {name:?}{meant}: {}", offered.join(", "))
    })
}

/// A warning for the user before a program runs with this kind, if there is one.
pub fn warning(kind: LockKind) -> Option<String> {
    kind.is_experimental().then(|| {
        format!(
            "{kind} is experimental: its waiters spin without limit, and the program nearly stops when its threads \
             outnumber the CPUs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kind_is_refused_with_the_known_ones() {
        let all = "system, pi, fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive";
        assert_eq!(parse("adaptiv"), Err(format!("there is no kind \"adaptiv\" (meant: adaptive?): {all}")));
        assert_eq!(parse("futex"), Err(format!("there is no kind \"futex\": {all}")));
        assert_eq!(parse("tickt"), Err(format!("there is no kind \"tickt\" (meant: ticket?): {all}")));
        assert_eq!(parse("rt-fair"), Ok(LockKind::RtFair));
    }

    #[test]
    fn only_unbounded_spinning_prints_a_warning() {
        let warned: Vec<LockKind> =
            LockKind::ALL.into_iter().filter(|&kind| warning(kind).is_some()).collect();
        assert_eq!(warned, [LockKind::Ttas, LockKind::Ticket, LockKind::Mcs]);
    }
}
