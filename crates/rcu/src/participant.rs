//! The two words that identify threads in shared memory.

use core::fmt;
use unspin_sys::process::Identity;

/// A registered thread: a slot index and a generation, which tells the successive owners of the slot apart. One word,
/// never zero, below 2^61, so it fits into a lock word or a claim beside three state bits.
///
/// Bits 0..16 are the index, bits 16..61 the generation. A generation is used once, so a word that a dead thread left
/// behind is never mistaken for its successor's. 2^45 registrations exceed the lifetime of any machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Participant(u64);

impl Participant {
    /// The number of slots that an index can address.
    pub const SLOTS: usize = 1 << 16;
    const GENERATIONS: u64 = 1 << 45;

    /// `generation` wraps to its range.
    pub(crate) fn new(index: usize, generation: u64) -> Participant {
        debug_assert!(index < Self::SLOTS);
        Participant((generation % Self::GENERATIONS) << 16 | index as u64)
    }

    /// Index of the slot.
    pub fn index(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// How many threads had the slot before, plus one.
    pub fn generation(self) -> u64 {
        self.0 >> 16
    }

    /// The packed form, for storage in shared memory.
    pub fn word(self) -> u64 {
        self.0
    }

    /// Unpacks [`word`](Participant::word); `None` if the word is no participant.
    pub fn from_word(word: u64) -> Option<Participant> {
        (word >> 61 == 0 && word >> 16 != 0).then_some(Participant(word))
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "participant {} (generation {})", self.index(), self.generation())
    }
}

/// An [`Identity`] hashed into 61 bits. One compare-and-swap both takes something and records which thread took it, so
/// the thread is identifiable even if it dies one instruction later.
///
/// | bits | content | effect of a collision with another thread |
/// |---|---|---|
/// | 0..22 | thread id (`PID_MAX_LIMIT` is 2^22) | cannot collide |
/// | 22..34 | start time | a dead claimer counts as alive until the other thread ends: one slot stays taken |
/// | 34..45 | image | the same |
/// | 45..61 | pid namespace | a claimer may be looked up in the wrong namespace and be considered dead |
///
/// Start time and image collide only after the thread id was reused, with a probability of 2^-23, and cost only a slot.
/// The namespace collides only if the inode numbers of two namespaces differ by a multiple of 65535; the kernel assigns
/// the lowest free number. Zero in a field means unknown and matches any value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim(u64);

const TID: u32 = 22;
const START: u32 = 12;
const IMAGE: u32 = 11;
const NAMESPACE: u32 = 16;

impl Claim {
    /// The claim of `who`.
    pub fn of(who: &Identity) -> Claim {
        // The stack position is random in steps of 16 bytes and of pages: both take part. /proc shows 0 or 1 to readers
        // without permission.
        let image = if who.image > 1 { (who.image >> 4) ^ (who.image >> 12) } else { 0 };
        let tid = u64::from(who.tid) & ((1 << TID) - 1);
        let start = fold(who.start_time, START);
        let (image, namespace) = (fold(image, IMAGE), fold(who.namespace, NAMESPACE));
        Claim(tid | start << TID | image << (TID + START) | namespace << (TID + START + IMAGE))
    }

    /// Id of the claiming thread, in its own pid namespace.
    pub fn tid(self) -> u32 {
        self.field(0, TID) as u32
    }

    /// Whether `who` can be the claimer.
    pub fn agrees(self, who: &Identity) -> bool {
        let other = Claim::of(who);
        let same = |at, bits| agree(self.field(at, bits), other.field(at, bits));
        self.tid() == other.tid() && same(TID, START) && same(TID + START, IMAGE) && self.same_namespace(who)
    }

    /// Whether the claimer can live in the pid namespace of `who`.
    pub fn same_namespace(self, who: &Identity) -> bool {
        let at = TID + START + IMAGE;
        agree(self.field(at, NAMESPACE), Claim::of(who).field(at, NAMESPACE))
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn from_word(word: u64) -> Claim {
        Claim(word)
    }

    fn field(self, at: u32, bits: u32) -> u64 {
        self.0 >> at & ((1 << bits) - 1)
    }
}

/// Maps a known (nonzero) value to 1..2^bits - 1, and unknown (0) to 0.
fn fold(value: u64, bits: u32) -> u64 {
    if value == 0 { 0 } else { 1 + value % ((1 << bits) - 1) }
}

fn agree(a: u64, b: u64) -> bool {
    a == 0 || b == 0 || a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_survive_packing() {
        let p = Participant::new(Participant::SLOTS - 1, Participant::GENERATIONS - 1);
        assert_eq!((p.index(), p.generation()), (65535, (1 << 45) - 1));
        assert_eq!(Participant::from_word(p.word()), Some(p));
        assert_eq!(Participant::from_word(0), None);
        assert_eq!(Participant::from_word(7), None, "generation 0 is nobody");
        assert_eq!(Participant::from_word(p.word() | 1 << 61), None);
    }

    #[test]
    fn claims_tell_threads_starts_images_and_namespaces_apart() {
        let who = Identity {
            pid: 7,
            tid: 4_194_303,
            start_time: 99,
            image: 0x7ffd_1234_5670,
            namespace: 0xf000_0003,
        };
        let claim = Claim::of(&who);
        assert_eq!(claim.tid(), who.tid);
        assert!(claim.agrees(&who));
        assert!(claim.agrees(&Identity { pid: 0, image: 0, ..who }), "what is unknown agrees");
        assert!(!claim.agrees(&Identity { tid: 8, ..who }));
        assert!(!claim.agrees(&Identity { start_time: 100, ..who }));
        assert!(!claim.agrees(&Identity { image: who.image + 16, ..who }));
        assert!(!claim.agrees(&Identity { image: who.image + 4096, ..who }));
        assert!(!claim.agrees(&Identity { namespace: who.namespace + 1, ..who }));
        assert_eq!(claim.word() >> 61, 0);
    }
}
