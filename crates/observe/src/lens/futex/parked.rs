//! Rows for the threads that parking_lot parks.
//!
//! parking_lot parks each thread at a futex of its own, whatever lock the thread waits for. So a row for each futex would be
//! a row for each thread, without a name. Their waits have a row for each call site instead.

use super::folded::{Folded, name};
use super::futex_use::Futex;
use super::origin;
use crate::lens::callers::UserFrame;
use crate::lens::spaces::SpaceId;
use std::collections::BTreeMap;
use unspin_report::next::lens::futex::FutexOrigin;

/// What a row is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowOf {
    /// A futex.
    Futex(Futex),
    /// Threads of a process that parking_lot parked at one call site.
    ParkedAt(SpaceId, String),
}

/// Divides the waits of futexes at which parking_lot parks threads by their callers. The wakes of such a futex go to the
/// caller that waited longest there: a wake does not tell which wait it ends.
pub fn by_call_site(futexes: BTreeMap<Futex, Folded>) -> BTreeMap<RowOf, Folded> {
    let mut rows = BTreeMap::<RowOf, Folded>::new();
    for (futex, folded) in futexes {
        let longest = folded.longest().to_vec();
        let Some(space) = parks_threads(&futex, &folded) else {
            rows.insert(RowOf::Futex(futex), folded);
            continue;
        };
        let row = |frames: &[UserFrame]| RowOf::ParkedAt(space, name(frames));
        for (frames, waits) in folded.waits {
            rows.entry(row(&frames)).or_default().waits.entry(frames).or_default().merge(&waits);
        }
        let woken = rows.entry(row(&longest)).or_default();
        for (frames, wakes) in folded.wakes {
            woken.wakes.entry(frames).or_default().merge(&wakes);
        }
    }
    rows
}

/// The process of the threads that parking_lot parks at this futex; none if it is another one.
pub fn parks_threads(futex: &Futex, folded: &Folded) -> Option<SpaceId> {
    match futex {
        Futex::Private(space, _) if origin::of(folded.longest()) == FutexOrigin::ParkingLot => Some(*space),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::futex::sums::{FutexWaits, FutexWakes};

    fn frames(functions: &[&str]) -> Vec<UserFrame> {
        let frame = |function: &&str| UserFrame {
            place: format!("{function}+0x1"),
            function: (*function).into(),
            module: if *function == "syscall" { "libc.so.6" } else { "program" }.into(),
        };
        functions.iter().map(frame).collect()
    }

    fn waits(wait_ns: u64) -> FutexWaits {
        FutexWaits { waits: 1, woken: 1, wait_ns, ..FutexWaits::default() }
    }

    #[test]
    fn threads_that_parking_lot_parks_share_the_row_of_their_call_site() {
        let space = SpaceId(0);
        let park = |caller| frames(&["syscall", "parking_lot::raw_mutex::RawMutex::lock_slow", caller]);
        let mut futexes = BTreeMap::<Futex, Folded>::new();
        for thread in 0..3 {
            let folded = futexes.entry(Futex::Private(space, 0x1000 * thread)).or_default();
            folded.waits.insert(park("work"), waits(100));
            folded.waits.insert(park("log"), waits(10));
            folded.wakes.insert(frames(&["syscall", "release"]), FutexWakes::one(1));
        }
        let other = Futex::Private(space, 0x9000);
        futexes
            .entry(other.clone())
            .or_default()
            .waits
            .insert(frames(&["std::sys::futex", "work"]), waits(5));
        let rows = by_call_site(futexes);
        assert_eq!(rows.len(), 3, "{:?}", rows.keys());
        assert_eq!(rows[&RowOf::Futex(other)].waits.len(), 1);
        let of = |name: &str| {
            let is_named =
                |row: &&RowOf| matches!(row, RowOf::ParkedAt(_, caller) if caller.starts_with(name));
            &rows[rows.keys().find(is_named).expect("it has a row")]
        };
        assert_eq!(of("work").waits.values().map(|waits| waits.waits).sum::<u64>(), 3);
        assert_eq!(of("work").wakes.values().map(|wakes| wakes.woken).sum::<u64>(), 3);
        assert_eq!(of("log").waits.values().map(|waits| waits.wait_ns).sum::<u64>(), 30);
        assert!(of("log").wakes.is_empty());
    }
}
