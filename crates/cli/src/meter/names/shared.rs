//! Functions that several others come through: what they are called says less than who called them.

use super::site;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use unspin_symbols::Frame;

/// For each innermost function of a set of call chains, who calls it.
#[derive(Debug, Default)]
pub struct Shared {
    callers: HashMap<String, HashSet<String>>,
}

impl Shared {
    /// Of these chains, innermost frame first.
    pub fn new(chains: impl Iterator<Item = Rc<[Frame]>>) -> Shared {
        let mut callers = HashMap::<String, HashSet<String>>::new();
        for chain in chains {
            let mut frames = site::visible(&chain);
            if let (Some(inner), Some(outer)) = (frames.next(), frames.next()) {
                callers.entry(inner.short.clone()).or_default().insert(outer.short.clone());
            }
        }
        Shared { callers }
    }

    /// Whether more than one function calls it.
    pub fn contains(&self, function: &str) -> bool {
        self.callers.get(function).is_some_and(|callers| callers.len() > 1)
    }
}
