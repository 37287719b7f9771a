//! Functions with several callers: the caller's name says more than theirs.

use super::lookup::Chain;
use super::site;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The callers of each innermost function of a set of call chains.
#[derive(Debug, Default)]
pub struct Shared {
    callers: HashMap<String, HashSet<String>>,
}

impl Shared {
    /// For these chains.
    pub fn new(chains: impl Iterator<Item = Rc<Chain>>) -> Shared {
        let mut callers = HashMap::<String, HashSet<String>>::new();
        for chain in chains {
            let mut frames = site::visible(&chain.frames);
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
