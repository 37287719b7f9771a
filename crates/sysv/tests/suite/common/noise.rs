//! Numbers at random that are the same each time: a child of fork must not ask the system for any.

/// xorshift64 (Marsaglia, "Xorshift RNGs", 2003), from a seed that is not 0.
pub struct Noise(pub u64);

impl Noise {
    /// Any number but 0.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
