//! The value of `--mutex`: a kind, for all mutexes or for one.

use super::entry::{Entry, Which};
use super::kind;
use super::lock_name::LockName;
use std::str::FromStr;
use unspin_locks::LockKind;

/// `adaptive`, or `adaptive@cache_lock`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The kind of lock.
    pub kind: LockKind,
    /// The lock that it replaces; none: all locks without a choice of their own.
    pub lock: Option<LockName>,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        let Some((kind, lock)) = text.split_once('@') else {
            return Ok(Choice { kind: kind::parse(text)?, lock: None });
        };
        let kind = kind::parse(kind)?;
        let lock = LockName::new(lock).ok_or_else(|| {
            format!("name a lock after the @, as `unspin meter` prints it: {kind}@cache_lock")
        })?;
        Ok(Choice { kind, lock: Some(lock) })
    }
}

impl From<&Choice> for Entry {
    fn from(choice: &Choice) -> Entry {
        let named = |(name, module)| Which::Named { name, module };
        let which = choice.lock.as_ref().map_or(Which::All, |lock| named(lock.split_file()));
        Entry { kind: choice.kind, which }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn lock_may_be_followed_by_its_file() {
        let entry = |text: &str| Entry::from(&text.parse::<Choice>().unwrap()).which;
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
