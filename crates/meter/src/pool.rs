//! Who has which table: a counter of those never used, and a list of those given back.
//!
//! A table that was given back keeps its counts; its next owner adds to them. The list is a Treiber stack
//! whose top carries a version, so that a table popped and pushed again in between is noticed. A process
//! killed between pop and use leaves one table unused, nothing else. Numbers read from the shared words are
//! checked before they are followed.

use unspin_sync::atomic::{AtomicU64, Ordering::*};

/// Takes the next table that nobody has used, of `tables`, after `prepare` has made it ready: whoever sees
/// the counter past a table can rely on it. Contenders may prepare the same table; one of them gets it.
pub(crate) fn next<E>(
    counter: &AtomicU64,
    tables: u32,
    prepare: impl Fn(u32) -> Result<(), E>,
) -> Option<u32> {
    // Relaxed: a guess that the exchange below checks.
    let mut seen = counter.load(Relaxed);
    loop {
        let index = u32::try_from(seen).ok().filter(|&index| index < tables)?;
        prepare(index).ok()?;
        // Relaxed: what is handed out is a number and a page of zeroes, which no store of ours made.
        match counter.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
            Ok(_) => return Some(index),
            Err(now) => seen = now,
        }
    }
}

/// Takes a table off the list. `link` is the list word of a table, none for a number that is no table's.
pub(crate) fn pop<'w>(top: &AtomicU64, link: impl Fn(u32) -> Option<&'w AtomicU64>) -> Option<u32> {
    // Acquire (also on failure): pairs with the Release in `push`: the former owner's counts and link are
    // seen before they are touched.
    let mut seen = top.load(Acquire);
    loop {
        let index = (seen as u32).checked_sub(1)?;
        // Relaxed: ordered by the load of the top; if the table has been taken meanwhile, the version in the
        // top has changed and the exchange below fails.
        let below = link(index)?.load(Relaxed) as u32;
        // Acquire: as above.
        match top.compare_exchange(seen, version_after(seen) | u64::from(below), Acquire, Acquire) {
            Ok(_) => return Some(index),
            Err(now) => seen = now,
        }
    }
}

/// Puts a table on the list; it must be the caller's.
pub(crate) fn push(top: &AtomicU64, link: &AtomicU64, index: u32) {
    // Relaxed: the exchange below checks it.
    let mut seen = top.load(Relaxed);
    loop {
        // Relaxed: published by the exchange below.
        link.store(u64::from(seen as u32), Relaxed);
        // Release: pairs with the Acquire in `pop`. Relaxed on failure: only tried again.
        match top.compare_exchange(seen, version_after(seen) | u64::from(index + 1), Release, Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

/// The top's upper half, one up.
fn version_after(top: u64) -> u64 {
    ((top >> 32).wrapping_add(1)) << 32
}
