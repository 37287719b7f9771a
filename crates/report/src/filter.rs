//! Filters rows.

use crate::report::MeterReport;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Returns whether a name is wanted.
pub type Pattern<'a> = &'a dyn Fn(&str) -> bool;

/// The rows to keep. The default keeps all.
#[derive(Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Keeps locks of at least this utilisation; a fraction of 1.
    pub min_util: f64,
    /// Keeps locks of at least this contention; a fraction of 1.
    pub min_con: f64,
    /// Keeps locks for which at least this many seconds were lost, and waits of at least this many seconds.
    pub min_lost: f64,
    /// Keeps locks and waits with a matching name.
    pub lock: Option<Pattern<'a>>,
    /// Keeps locks and waits with a matching caller, and of their callers only the matching ones.
    pub caller: Option<Pattern<'a>>,
}

impl fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("min_util", &self.min_util)
            .field("min_con", &self.min_con)
            .field("min_lost", &self.min_lost)
            .field("lock", &self.lock.is_some())
            .field("caller", &self.caller.is_some())
            .finish()
    }
}

/// How much a filter has left out.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LeftOut {
    /// Rows of locks.
    pub locks: u64,
    /// Seconds lost for these locks.
    pub lost: f64,
    /// Rows of waits.
    pub waits: u64,
    /// Callers of the remaining locks and waits.
    pub callers: u64,
}

impl LeftOut {
    /// Whether nothing was left out.
    pub fn is_nothing(&self) -> bool {
        *self == LeftOut::default()
    }
}

impl MeterReport {
    /// Removes the rows that the filter does not keep, and records how much that was. The totals do not change. The
    /// row of a lock does not change if only some of its callers are removed.
    pub fn filter(&mut self, filter: &Filter<'_>) {
        let mut left = self.left_out;
        let named = |name: &str| filter.lock.is_none_or(|wanted| wanted(name));
        let called = |name: &str, place: &Option<String>| match filter.caller {
            Some(wanted) => wanted(name) || place.as_deref().is_some_and(wanted),
            None => true,
        };
        self.locks.retain_mut(|lock| {
            let row = &lock.row;
            let stays = named(&row.name)
                && row.util >= filter.min_util
                && row.con >= filter.min_con
                && row.lost >= filter.min_lost
                && lock.callers().any(|(_, caller)| called(&caller.row.name, &caller.place));
            if !stays {
                left.locks += 1;
                left.lost += row.lost;
                return false;
            }
            for one in &mut lock.uses {
                let before = one.callers.len();
                one.callers.retain(|caller| called(&caller.row.name, &caller.place));
                left.callers += (before - one.callers.len()) as u64;
            }
            true
        });
        self.waits.retain_mut(|wait| {
            let stays = named(&wait.row.name)
                && wait.row.waited >= filter.min_lost
                && wait.callers.iter().any(|caller| called(&caller.row.name, &caller.place));
            if stays {
                let before = wait.callers.len();
                wait.callers.retain(|caller| called(&caller.row.name, &caller.place));
                left.callers += (before - wait.callers.len()) as u64;
            } else {
                left.waits += 1;
            }
            stays
        });
        self.left_out = left;
    }
}
