//! The checksum of a saved recording. It finds accidents, such as a file that was overwritten in part, not forgery.

use crate::pages::BYTES;

/// 2⁶⁴ divided by the golden ratio: an odd number whose bits look random (Knuth, The Art of Computer Programming, 6.4).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of the pages so far.
#[derive(Default)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// Adds a page. Each step can be undone if the word is known, so a change of one word always changes the sum.
    pub fn add(&mut self, page: &[u8; BYTES]) {
        let (words, _) = page.as_chunks::<8>();
        for word in words {
            self.0 = (self.0 ^ u64::from_ne_bytes(*word)).wrapping_mul(MULTIPLIER).rotate_left(29);
        }
    }

    /// The sum. It is never 0.
    pub fn finish(self) -> u64 {
        self.0.max(1)
    }
}
