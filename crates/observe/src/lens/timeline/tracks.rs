//! The waits of all lenses, by track.

use super::lens_timeline::{LensTimeline, NamedWait};
use super::longest::LeftOutWaits;
use super::track::Track;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tracks of a file: with some thousand, a viewer is slow.
pub const TRACKS_MAX: usize = 1000;

/// The waits of one track, each with the index of its lens.
pub type TrackWaits<'t> = Vec<(usize, &'t NamedWait)>;

/// The tracks with most time waited.
pub struct Tracks<'t> {
    pub tracks: BTreeMap<Track, TrackWaits<'t>>,
    /// Tracks that there was no room for.
    pub left_out: usize,
    /// Their waits.
    pub left_out_waits: LeftOutWaits,
}

impl<'t> Tracks<'t> {
    /// Of these lenses, at most so many.
    pub fn of(lenses: &'t [LensTimeline], most: usize) -> Tracks<'t> {
        let mut tracks = BTreeMap::<Track, TrackWaits<'t>>::new();
        for (lens, waits) in lenses.iter().enumerate() {
            for wait in &waits.waits {
                tracks.entry(wait.track).or_default().push((lens, wait));
            }
        }
        let mut by_time: Vec<(Reverse<u64>, Track)> =
            tracks.iter().map(|(&track, waits)| (Reverse(total(waits)), track)).collect();
        by_time.sort();
        let others = by_time.get(most..).unwrap_or_default();
        let mut left_out_waits = LeftOutWaits::default();
        for (_, track) in others {
            for (_, wait) in tracks.remove(track).unwrap_or_default() {
                left_out_waits.add(wait.ns());
            }
        }
        for waits in tracks.values_mut() {
            waits.sort_by_key(|(lens, wait)| (wait.start, *lens));
        }
        Tracks { tracks, left_out: others.len(), left_out_waits }
    }

    /// Number of waits.
    pub fn waits(&self) -> usize {
        self.tracks.values().map(Vec::len).sum()
    }
}

/// Nanoseconds waited in a track. Where several lenses see one wait, it counts several times.
pub fn total(waits: &TrackWaits<'_>) -> u64 {
    waits.iter().map(|(_, wait)| wait.ns()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lens, wait};
    use super::*;

    #[test]
    fn tracks_with_least_time_are_left_out_and_counted() {
        let waits = [(1, 0, 10), (2, 5, 30), (3, 0, 20), (1, 20, 25)];
        let waits = waits.map(|(tid, start, end)| wait(Track::Thread(7, tid), start, end));
        let lenses = [lens(waits.to_vec())];
        let tracks = Tracks::of(&lenses, 2);
        let kept: Vec<Track> = tracks.tracks.keys().copied().collect();
        assert_eq!(kept, [Track::Thread(7, 2), Track::Thread(7, 3)]);
        let left_out = LeftOutWaits { waits: 2, ns: 15, max_ns: 10 };
        assert_eq!((tracks.left_out, tracks.left_out_waits, tracks.waits()), (1, left_out, 2));
    }
}
