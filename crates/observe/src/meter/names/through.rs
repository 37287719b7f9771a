//! The callers of wrappers, which lock on behalf of others.

use std::collections::{BTreeMap, HashMap};

/// Maximum number of callers of a wrapper that are named.
const NAMED_MAX: usize = 1;

/// A lock by name and origin, and the wrapper that uses it.
type WrapperUse = (String, Option<String>, String);

/// The callers that used each lock through each wrapper, as far as known: stacks are copied only at the first use of a
/// lock, and at the first use by a caller.
#[derive(Debug, Default)]
pub struct Through {
    seen: HashMap<WrapperUse, BTreeMap<String, u64>>,
}

impl Through {
    /// Adds a caller that was seen at this time.
    pub fn add(&mut self, lock: String, origin: Option<String>, caller: String, outer: String, when: u64) {
        let seen = self.seen.entry((lock, origin, caller)).or_default().entry(outer).or_insert(when);
        *seen = when.min(*seen);
    }

    /// `first seen from Cache::get (cache.cc:31) and 3 more`
    pub fn describe(&self, lock: &str, origin: &Option<String>, caller: &str) -> Option<String> {
        let seen = self.seen.get(&(lock.to_owned(), origin.clone(), caller.to_owned()))?;
        let mut outers: Vec<(&str, u64)> = seen.iter().map(|(outer, &when)| (outer.as_str(), when)).collect();
        outers.sort_by_key(|&(_, when)| when);
        let named: Vec<&str> = outers.iter().take(NAMED_MAX).map(|&(outer, _)| outer).collect();
        let more = match outers.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("first seen from {}{more}", named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_callers_are_named() {
        let mut through = Through::default();
        for (outer, when) in [("late", 9), ("second", 2), ("third", 3), ("first", 4), ("first", 1)] {
            through.add("lock".into(), None, "Mutex::Lock+0x8".into(), outer.into(), when);
        }
        let said = through.describe("lock", &None, "Mutex::Lock+0x8");
        assert_eq!(said.as_deref(), Some("first seen from first and 3 more"));
        assert_eq!(through.describe("lock", &None, "Mutex::TryLock+0x8"), None);
    }
}
