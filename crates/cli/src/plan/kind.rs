//! The kinds of lock, by their names on the command line.

use unspin_locks::LockKind;

/// Parses a kind, for clap and for plan files.
pub fn parse(name: &str) -> Result<LockKind, String> {
    name.parse().map_err(|_| {
        let names = LockKind::ALL.map(LockKind::name);
        let meant =
            super::nearest::of(name, names).map_or(String::new(), |near| format!(" (meant: {near}?)"));
        format!("there is no kind {name:?}{meant}: {}", names.join(", "))
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
        let all = "system, pi, ttas, ticket, mcs, fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive";
        assert_eq!(parse("adaptiv"), Err(format!("there is no kind \"adaptiv\" (meant: adaptive?): {all}")));
        assert_eq!(parse("futex"), Err(format!("there is no kind \"futex\": {all}")));
        assert_eq!(parse("rt-fair"), Ok(LockKind::RtFair));
    }

    #[test]
    fn only_unbounded_spinning_prints_a_warning() {
        let warned: Vec<LockKind> =
            LockKind::ALL.into_iter().filter(|&kind| warning(kind).is_some()).collect();
        assert_eq!(warned, [LockKind::Ttas, LockKind::Ticket, LockKind::Mcs]);
    }
}
