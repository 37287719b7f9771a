//! The value of `--mutex`, `--rwlock` or `--spin`: a kind, for all locks of the family or for one.

use super::entry::{Entry, Which};
use super::kind::{self, KindOfFamily};
use super::lock_name::LockName;
use std::str::FromStr;
use unspin_locks::LockKind;

/// `adaptive`, or `adaptive@cache_lock`. The family follows from the kind: `Choice<RwLockKind>` is a value of `--rwlock`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice<K = LockKind> {
    /// The kind of lock.
    pub kind: K,
    /// The lock that it replaces; none: all locks of the family without a choice of their own.
    pub lock: Option<LockName>,
}

impl<K: KindOfFamily> FromStr for Choice<K> {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice<K>, String> {
        let Some((kind, lock)) = text.split_once('@') else {
            return Ok(Choice { kind: kind::parse(text)?, lock: None });
        };
        let kind = kind::parse::<K>(kind)?;
        let lock = LockName::new(lock).ok_or_else(|| {
            format!("name a lock after the @, as `unspin meter` prints it: {kind}@cache_lock")
        })?;
        Ok(Choice { kind, lock: Some(lock) })
    }
}

impl<K: KindOfFamily> From<&Choice<K>> for Entry {
    fn from(choice: &Choice<K>) -> Entry {
        let named = |(name, module)| Which::Named { name, module };
        let which = choice.lock.as_ref().map_or(Which::All, |lock| named(lock.split_file()));
        Entry::new(choice.kind, which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_locks::{RwLockKind, SpinKind};

    #[test]
    fn choice_is_parsed_with_and_without_lock() {
        let choice = |text: &str| text.parse::<Choice>();
        assert_eq!(choice("steal"), Ok(Choice { kind: LockKind::Steal, lock: None }));
        let lock = LockName::new("cache_lock");
        assert_eq!(choice("rt-fair@cache_lock"), Ok(Choice { kind: LockKind::RtFair, lock }));
        // Names in Rust and versioned symbols may contain another @.
        assert_eq!(choice("mcs@a@b").unwrap().lock, LockName::new("a@b"));
    }

    #[test]
    fn each_family_has_kinds_of_its_own() {
        let choice = |text: &str| text.parse::<Choice<RwLockKind>>();
        let lock = LockName::new("rwlock first used in f");
        assert_eq!(
            choice("rw-biased@rwlock first used in f"),
            Ok(Choice { kind: RwLockKind::Biased, lock: lock.clone() })
        );
        let which = Which::Named { name: lock.unwrap(), module: None };
        let entry = Entry::from(&choice("rw-fair@rwlock first used in f").unwrap());
        assert_eq!(entry, Entry::new(RwLockKind::Fair, which));
        assert!(choice("rw-biased@").unwrap_err().starts_with("name a lock after the @"));
        assert!(choice("steal@a").unwrap_err().contains("\"steal\" (it is a kind of mutex, for --mutex)"));
        let spin = "adaptive".parse::<Choice<SpinKind>>().unwrap();
        assert_eq!(Entry::from(&spin), Entry::new(SpinKind::Adaptive, Which::All));
    }

    #[test]
    fn lock_may_be_followed_by_its_file() {
        let entry = |text: &str| Entry::from(&text.parse::<Choice<LockKind>>().unwrap()).which;
        let named = |name: &str, module: Option<&str>| Which::Named {
            name: LockName::new(name).unwrap(),
            module: module.map(Into::into),
        };
        assert_eq!(entry("steal@a in /opt/x y/z in /b"), named("a", Some("/opt/x y/z in /b")));
        let first = "mutex first used in push or pop";
        assert_eq!(entry(&format!("steal@{first}")), named(first, None));
        assert_eq!(entry(&format!("steal@{first} in /bin/x")), named(first, Some("/bin/x")));
        assert_eq!(entry("steal@a, static, a.c:3 in /bin/x"), named("a, static, a.c:3", Some("/bin/x")));
    }

    #[test]
    fn choice_without_name_is_refused() {
        assert!("adaptive@".parse::<Choice>().unwrap_err().starts_with("name a lock after the @"));
        assert!("@lock".parse::<Choice>().unwrap_err().starts_with("there is no kind \"\": system"));
    }
}
