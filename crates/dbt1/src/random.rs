//! Random numbers and texts as TPC-W defines them (clauses 2.1 and 4.6.2).

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014). The same seed gives the same numbers in every version of
/// this program, which a reused database relies on.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

/// The 64 characters of random texts.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";

/// The increment of SplitMix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// A generator. Different seeds or streams give independent numbers.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random { state: seed };
        let mixed = random.next();
        Random { state: mixed ^ stream.wrapping_mul(GOLDEN).rotate_left(17) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Another generator, with other numbers.
    pub fn split(&mut self) -> Random {
        Random::new(self.next(), 0)
    }

    /// A number in `least..=greatest`. The bias of the multiplication is at most 2^-32 for the ranges used here.
    pub fn between(&mut self, least: i64, greatest: i64) -> i64 {
        let count = (greatest - least + 1) as u128;
        least + ((u128::from(self.next()) * count) >> 64) as i64
    }

    /// A number in `0..count`, as an index.
    pub fn index(&mut self, count: usize) -> usize {
        self.between(0, count as i64 - 1) as usize
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// Whether something happens that has this probability in per cent.
    pub fn happens(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// A negative-exponential number with mean 1 (clause 2.1.15).
    pub fn exponential(&mut self) -> f64 {
        // 53 bits, as a double has; never 0.
        let unit = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln()
    }

    /// The non-uniform number NURand(A, x, y) (clause 2.1.13).
    pub fn non_uniform(&mut self, a: i64, x: i64, y: i64) -> i64 {
        (self.between(0, a) | self.between(x, y)) % (y - x + 1) + x
    }

    /// A text of random characters with a length in this range: a-string.
    pub fn text(&mut self, shortest: i64, longest: i64) -> String {
        let length = self.between(shortest, longest) as usize;
        let mut text = String::with_capacity(length);
        let mut bits = 0;
        for index in 0..length {
            // Ten characters of six bits from each number.
            if index % 10 == 0 {
                bits = self.next();
            }
            text.push(char::from(CHARACTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
        text
    }

    /// A text of random digits with a length in this range: n-string.
    pub fn digits(&mut self, shortest: i64, longest: i64) -> String {
        let length = self.between(shortest, longest);
        (0..length).map(|_| char::from(b'0' + self.between(0, 9) as u8)).collect()
    }
}

/// The two letters for each digit (clause 4.6.2.8).
const SYLLABLES: [&str; 10] = ["BA", "OG", "AL", "RI", "RE", "SE", "AT", "UL", "IN", "NG"];

/// DigSyl(D, N): the digits of a number as syllables, with at least `digits` digits (0: no leading zeros).
pub fn syllables(number: i64, digits: usize) -> String {
    let decimal = format!("{number:0digits$}");
    decimal.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_are_those_of_the_specification() {
        assert_eq!(syllables(0, 0), "BA");
        assert_eq!(syllables(1234, 0), "OGALRIRE");
        assert_eq!(syllables(567_890, 7), "BASEATULINNGBA");
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1, 2);
        let drawn: Vec<i64> = (0..2000).map(|_| random.between(-3, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-3), Some(&5)));
        let drawn: Vec<i64> = (0..20_000).map(|_| random.non_uniform(63, 1, 100)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&100)));
    }

    #[test]
    fn think_times_have_mean_one() {
        let mut random = Random::new(3, 4);
        let mean = (0..100_000).map(|_| random.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn equal_seeds_give_equal_texts_and_streams_differ() {
        let text = |seed, stream| Random::new(seed, stream).text(20, 40);
        assert_eq!(text(7, 1), text(7, 1));
        assert_ne!(text(7, 1), text(7, 2));
        assert_ne!(text(7, 1), text(8, 1));
        assert!((20..=40).contains(&text(7, 1).len()));
        assert_eq!(Random::new(9, 9).digits(16, 16).len(), 16);
    }
}
