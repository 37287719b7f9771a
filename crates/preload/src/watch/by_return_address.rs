//! What is known about calls, by their return addresses.

use unspin_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// Number of return addresses that are remembered.
const KNOWN: usize = 1024;
/// Number of entries in which an address may be.
const WAYS: usize = 4;

/// A return address and what is known about it. The address is written last.
struct Known {
    address: AtomicU64,
    value: AtomicU64,
}

/// A word for each of some return addresses. If the entries of an address are taken, it is not remembered. No entry
/// changes until all are [forgotten](Self::forget).
pub struct ByReturnAddress {
    all: [Known; KNOWN],
    /// An entry is being taken.
    taking: AtomicBool,
}

impl ByReturnAddress {
    /// Nothing is known.
    pub const fn empty() -> ByReturnAddress {
        ByReturnAddress {
            all: [const { Known { address: AtomicU64::new(0), value: AtomicU64::new(0) } }; KNOWN],
            taking: AtomicBool::new(false),
        }
    }

    /// The word of a return address.
    #[inline(always)]
    pub fn get(&self, address: usize) -> Option<u64> {
        // Acquire: pairs with the Release in `remember`; an entry is taken once. Relaxed: ordered by that Acquire.
        let known = self.entries(address).find(|known| known.address.load(Acquire) == address as u64)?;
        Some(known.value.load(Relaxed))
    }

    /// The entries in which an address may be, in the order in which they are taken.
    #[inline(always)]
    fn entries(&self, address: usize) -> impl Iterator<Item = &Known> {
        let first = ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        (first..first + WAYS).map(|at| &self.all[at % KNOWN])
    }

    /// Sets the word of a return address that has none. One thread at a time does so; another one sets it another time.
    pub fn remember(&self, address: usize, value: u64) {
        // Acquire and Release: the thread that gets the flag sees what its last holder wrote.
        if self.taking.swap(true, Acquire) {
            return;
        }
        // Relaxed (all): written only while the flag is held. Another thread may have set the word meanwhile.
        let is_address = |known: &&Known, address| known.address.load(Relaxed) == address;
        let is_known = self.entries(address).any(|known| is_address(&known, address as u64));
        if let Some(known) = self.entries(address).find(|known| !is_known && is_address(known, 0)) {
            known.value.store(value, Relaxed);
            // Release: pairs with the Acquire in `get`.
            known.address.store(address as u64, Release);
        }
        // Release: pairs with the Acquire above.
        self.taking.store(false, Release);
    }

    /// To be called after code was unloaded: other code with other frames may be loaded at its addresses.
    pub fn forget(&self) {
        for known in &self.all {
            // Relaxed: before new code runs, the dynamic linker's own locks order this store.
            known.address.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_of_an_address_stays_until_all_are_forgotten() {
        let known = ByReturnAddress::empty();
        assert_eq!(known.get(0x1000), None);
        known.remember(0x1000, 7);
        known.remember(0x1000, 8);
        known.remember(0x2000, 9);
        assert_eq!((known.get(0x1000), known.get(0x2000), known.get(0x3000)), (Some(7), Some(9), None));
        known.forget();
        assert_eq!(known.get(0x1000), None);
        known.remember(0x1000, 8);
        assert_eq!(known.get(0x1000), Some(8));
    }

    #[test]
    fn addresses_without_an_entry_are_not_remembered() {
        let known = ByReturnAddress::empty();
        let addresses = (1..=2 * KNOWN).map(|n| n * 16);
        addresses.clone().for_each(|address| known.remember(address, address as u64));
        let found = addresses.filter_map(|address| known.get(address).map(|value| (address as u64, value)));
        let found: Vec<_> = found.collect();
        assert!((KNOWN / 2..=KNOWN).contains(&found.len()), "{}", found.len());
        assert!(found.iter().all(|(address, value)| address == value));
    }
}
