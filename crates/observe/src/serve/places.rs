//! A bounded number of places.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Places, some of which are taken.
pub struct Places {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// A place, until it is dropped.
pub struct Place(Arc<AtomicUsize>);

impl Places {
    /// So many, all free.
    pub fn new(most: usize) -> Places {
        Places { taken: Arc::default(), most }
    }

    /// A free place, if there is one.
    pub fn take(&self) -> Option<Place> {
        let place = Place(Arc::clone(&self.taken));
        (self.taken.fetch_add(1, Ordering::SeqCst) < self.most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_take_a_place_and_leave_it() {
        let places = Places::new(32);
        let mut taken: Vec<Place> = (0..32).filter_map(|_| places.take()).collect();
        assert_eq!(taken.len(), 32);
        assert!(places.take().is_none() && places.take().is_none());
        taken.pop();
        assert!(places.take().is_some(), "a refused one has left, too");
    }
}
