//! The kinds of lock, by their names on the command line.

use std::fmt::Display;
use std::str::FromStr;
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_wire::plan::{self, LockFamily};

/// A kind of lock, of any family.
pub type AnyKind = plan::AnyKind<LockKind, RwLockKind, SpinKind>;

/// The kinds of one family.
pub trait KindOfFamily: Copy + Eq + Display + FromStr + 'static {
    /// The family.
    const FAMILY: LockFamily;
    /// All kinds; the control first.
    const ALL: &'static [Self];
    /// libc's own, the control.
    const LIBCS: Self;

    /// As a kind of any family.
    fn any(self) -> AnyKind;

    /// The name on command lines and in plans.
    fn name(self) -> &'static str;

    /// What a list of kinds adds in brackets to the name.
    fn note(self) -> Option<&'static str>;

    /// Whether its waiters spin without a limit.
    fn is_experimental(self) -> bool {
        false
    }
}

impl KindOfFamily for LockKind {
    const FAMILY: LockFamily = LockFamily::Mutex;
    const ALL: &'static [LockKind] = &LockKind::ALL;
    const LIBCS: LockKind = LockKind::System;

    fn any(self) -> AnyKind {
        AnyKind::Mutex(self)
    }

    fn name(self) -> &'static str {
        LockKind::name(self)
    }

    fn note(self) -> Option<&'static str> {
        LockKind::note(self)
    }

    fn is_experimental(self) -> bool {
        LockKind::is_experimental(self)
    }
}

impl KindOfFamily for RwLockKind {
    const FAMILY: LockFamily = LockFamily::RwLock;
    const ALL: &'static [RwLockKind] = &RwLockKind::ALL;
    const LIBCS: RwLockKind = RwLockKind::System;

    fn any(self) -> AnyKind {
        AnyKind::RwLock(self)
    }

    fn name(self) -> &'static str {
        RwLockKind::name(self)
    }

    fn note(self) -> Option<&'static str> {
        RwLockKind::note(self)
    }
}

impl KindOfFamily for SpinKind {
    const FAMILY: LockFamily = LockFamily::Spin;
    const ALL: &'static [SpinKind] = &SpinKind::ALL;
    const LIBCS: SpinKind = SpinKind::System;

    fn any(self) -> AnyKind {
        AnyKind::Spin(self)
    }

    fn name(self) -> &'static str {
        SpinKind::name(self)
    }

    fn note(self) -> Option<&'static str> {
        SpinKind::note(self)
    }
}

/// Parses a kind of a family, of the command line.
pub fn parse<K: KindOfFamily>(name: &str) -> Result<K, String> {
    parse_for(name, |family| family.option().to_owned())
}

/// Parses a kind of this family, of a plan file.
pub fn parse_in_table(family: LockFamily, name: &str) -> Result<AnyKind, String> {
    let table = |family: LockFamily| format!("[[{}]]", family.table());
    match family {
        LockFamily::Mutex => parse_for(name, table).map(LockKind::any),
        LockFamily::RwLock => parse_for(name, table).map(RwLockKind::any),
        LockFamily::Spin => parse_for(name, table).map(SpinKind::any),
    }
}

/// Whether a family has a kind of this name.
pub fn is_known(name: &str) -> bool {
    LockFamily::ALL.into_iter().any(|family| AnyKind::named(family, name).is_some())
}

/// `place` says where the user writes the kinds of a family.
fn parse_for<K: KindOfFamily>(name: &str, place: impl Fn(LockFamily) -> String) -> Result<K, String> {
    name.parse().map_err(|_| {
        let others = LockFamily::ALL.into_iter().filter(|&family| AnyKind::named(family, name).is_some());
        let others: Vec<String> =
            others.map(|family| format!("of {}, for {}", family.noun(), place(family))).collect();
        let hint = match super::nearest::of(name, K::ALL.iter().map(|kind| kind.name())) {
            _ if !others.is_empty() => format!(" (it is a kind {})", others.join(", and ")),
            Some(near) => format!(" (meant: {near}?)"),
            None => String::new(),
        };
        let of_family = match K::FAMILY {
            LockFamily::Mutex => String::new(),
            family => format!(" of {}", family.noun()),
        };
        format!("there is no kind{of_family} {name:?}{hint}: {}", list(offer::<K>(), K::name))
    })
}

/// The kinds that the help and the messages offer: all but the experimental ones.
pub fn offer<K: KindOfFamily>() -> impl Iterator<Item = K> {
    K::ALL.iter().copied().filter(|kind| !kind.is_experimental())
}

/// The kinds that the help offers beside the control.
pub fn offer_candidates<K: KindOfFamily>() -> impl Iterator<Item = K> {
    offer().filter(|&kind| kind != K::LIBCS)
}

/// These kinds in one line, each in the words of `describe`.
pub fn list<K, T: AsRef<str>>(kinds: impl Iterator<Item = K>, describe: impl Fn(K) -> T) -> String {
    let words: Vec<T> = kinds.map(describe).collect();
    words.iter().map(T::as_ref).collect::<Vec<_>>().join(", ")
}

/// The name, and in brackets what the help adds.
pub fn describe<K: KindOfFamily>(kind: K) -> String {
    kind.note().map_or(kind.name().to_owned(), |note| format!("{kind} ({note})"))
}

/// The name, alone if it is of one family only: `adaptive`, `rw-fair`, but `spin adaptive`.
pub fn label(kind: AnyKind) -> String {
    let name = kind.to_string();
    match kind.family().word() {
        Some(word) if name.parse::<LockKind>().is_ok() => format!("{word} {name}"),
        _ => name,
    }
}

/// What the lock does while threads wait for it, for readers who do not know its name.
pub fn summary(kind: AnyKind) -> &'static str {
    match kind {
        AnyKind::Mutex(kind) => kind.summary(),
        AnyKind::RwLock(kind) => kind.summary(),
        AnyKind::Spin(kind) => kind.summary(),
    }
}

/// Whether it is libc's own, the control.
pub fn is_libcs(kind: AnyKind) -> bool {
    matches!(
        kind,
        AnyKind::Mutex(LockKind::LIBCS) | AnyKind::RwLock(RwLockKind::LIBCS) | AnyKind::Spin(SpinKind::LIBCS)
    )
}

/// The control of a family.
pub fn libcs(family: LockFamily) -> AnyKind {
    match family {
        LockFamily::Mutex => LockKind::LIBCS.any(),
        LockFamily::RwLock => RwLockKind::LIBCS.any(),
        LockFamily::Spin => SpinKind::LIBCS.any(),
    }
}

/// A warning for the user before a program runs with this kind, if there is one.
pub fn warning(kind: AnyKind) -> Option<String> {
    matches!(kind, AnyKind::Mutex(kind) if kind.is_experimental()).then(|| {
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
        let parse_mutex = parse::<LockKind>;
        let all = "system, pi, fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive";
        assert_eq!(
            parse_mutex("adaptiv"),
            Err(format!("there is no kind \"adaptiv\" (meant: adaptive?): {all}"))
        );
        assert_eq!(parse_mutex("futex"), Err(format!("there is no kind \"futex\": {all}")));
        assert_eq!(parse_mutex("tickt"), Err(format!("there is no kind \"tickt\" (meant: ticket?): {all}")));
        assert_eq!(parse_mutex("rt-fair"), Ok(LockKind::RtFair));
    }

    #[test]
    fn kind_of_another_family_is_refused() {
        let refused = parse::<RwLockKind>("rw-biasd").unwrap_err();
        let known = "there is no kind of read-write lock \"rw-biasd\" (meant: rw-biased?): system, rw-fair, ";
        assert!(refused.starts_with(known), "{refused}");
        assert_eq!(
            parse::<SpinKind>("rw-fair").unwrap_err(),
            "there is no kind of spin lock \"rw-fair\" (it is a kind of read-write lock, for --rwlock): system, adaptive"
        );
        let refused = parse::<LockKind>("rw-fair").unwrap_err();
        assert!(
            refused.starts_with(
                "there is no kind \"rw-fair\" (it is a kind of read-write lock, for --rwlock): system, "
            ),
            "{refused}"
        );
        let refused = parse_in_table(LockFamily::RwLock, "adaptive").unwrap_err();
        assert!(
            refused.starts_with(
                "there is no kind of read-write lock \"adaptive\" (it is a kind of mutex, for [[mutex]], and of spin lock, \
                 for [[spin]]): system, "
            ),
            "{refused}"
        );
        assert_eq!(parse_in_table(LockFamily::Spin, "adaptive"), Ok(SpinKind::Adaptive.any()));
    }

    #[test]
    fn label_is_unique_among_all_families() {
        let labels = |kinds: Vec<AnyKind>| kinds.into_iter().map(label).collect::<Vec<_>>();
        let mut all = labels(LockKind::ALL.map(LockKind::any).into());
        all.extend(labels(RwLockKind::ALL.map(RwLockKind::any).into()));
        all.extend(labels(SpinKind::ALL.map(SpinKind::any).into()));
        for known in ["adaptive", "rw-biased", "rwlock system", "spin adaptive", "spin system"] {
            assert!(all.iter().any(|label| label == known), "{known} {all:?}");
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn only_unbounded_spinning_prints_a_warning() {
        let warned: Vec<LockKind> =
            LockKind::ALL.into_iter().filter(|&kind| warning(kind.any()).is_some()).collect();
        assert_eq!(warned, [LockKind::Ttas, LockKind::Ticket, LockKind::Mcs]);
        assert_eq!(warning(SpinKind::Adaptive.any()), None);
    }
}
