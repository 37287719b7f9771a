//! The two words that identify threads in shared memory.

use core::fmt;
use unspin_sys::process::Identity;

/// A registered thread: a slot index and a generation, which tells the successive owners of the slot apart. One word,
/// never zero, below 2^61, so it fits into a lock word or a claim beside three state bits.
///
/// Bits 0..16 are the index, bits 16..61 the generation. A generation is used once, so a word that a dead thread left
/// behind is never mistaken for its successor's. 2^45 registrations exceed the lifetime of any machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParticipantId(u64);

impl ParticipantId {
    /// The number of slots that an index can address.
    pub const SLOTS: usize = 1 << 16;
    const GENERATIONS: u64 = 1 << 45;

    /// `generation` wraps to its range.
    pub(crate) fn new(index: usize, generation: u64) -> ParticipantId {
        debug_assert!(index < Self::SLOTS);
        ParticipantId((generation % Self::GENERATIONS) << 16 | index as u64)
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

    /// Unpacks [`word`](ParticipantId::word); `None` if the word is no participant.
    pub fn from_word(word: u64) -> Option<ParticipantId> {
        (word >> 61 == 0 && word >> 16 != 0).then_some(ParticipantId(word))
    }
}

impl fmt::Debug for ParticipantId {
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
pub struct PackedIdentity(u64);

const TID: u32 = 22;
const START: u32 = 12;
const IMAGE: u32 = 11;
const NAMESPACE: u32 = 16;

impl PackedIdentity {
    /// The packed form of `identity`.
    pub fn of(identity: &Identity) -> PackedIdentity {
        // The stack position is random in steps of 16 bytes and of pages: both take part. /proc shows 0 or 1 to readers
        // without permission.
        let image = if identity.image > 1 { (identity.image >> 4) ^ (identity.image >> 12) } else { 0 };
        let tid = u64::from(identity.tid) & ((1 << TID) - 1);
        let start = fold(identity.start_time, START);
        let (image, namespace) = (fold(image, IMAGE), fold(identity.namespace, NAMESPACE));
        PackedIdentity(tid | start << TID | image << (TID + START) | namespace << (TID + START + IMAGE))
    }

    /// Id of the claiming thread, in its own pid namespace.
    pub fn tid(self) -> u32 {
        self.field(0, TID) as u32
    }

    /// Whether `identity` can be the claimer.
    pub fn matches(self, identity: &Identity) -> bool {
        let other = PackedIdentity::of(identity);
        let same = |at, bits| may_be_same(self.field(at, bits), other.field(at, bits));
        self.tid() == other.tid()
            && same(TID, START)
            && same(TID + START, IMAGE)
            && self.may_share_namespace(identity)
    }

    /// Whether the claimer can live in the pid namespace of `identity`.
    pub fn may_share_namespace(self, identity: &Identity) -> bool {
        let at = TID + START + IMAGE;
        may_be_same(self.field(at, NAMESPACE), PackedIdentity::of(identity).field(at, NAMESPACE))
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn from_word(word: u64) -> PackedIdentity {
        PackedIdentity(word)
    }

    fn field(self, at: u32, bits: u32) -> u64 {
        self.0 >> at & ((1 << bits) - 1)
    }
}

/// Maps a known (nonzero) value to 1..2^bits - 1, and unknown (0) to 0.
fn fold(value: u64, bits: u32) -> u64 {
    if value == 0 { 0 } else { 1 + value % ((1 << bits) - 1) }
}

fn may_be_same(a: u64, b: u64) -> bool {
    a == 0 || b == 0 || a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participant_id_survives_packing() {
        let p = ParticipantId::new(ParticipantId::SLOTS - 1, ParticipantId::GENERATIONS - 1);
        assert_eq!((p.index(), p.generation()), (65535, (1 << 45) - 1));
        assert_eq!(ParticipantId::from_word(p.word()), Some(p));
        assert_eq!(ParticipantId::from_word(0), None);
        assert_eq!(ParticipantId::from_word(7), None, "generation 0 is nobody");
        assert_eq!(ParticipantId::from_word(p.word() | 1 << 61), None);
    }

    #[test]
    fn packed_identity_distinguishes_thread_start_image_namespace() {
        let identity = Identity {
            pid: 7,
            tid: 4_194_303,
            start_time: 99,
            image: 0x7ffd_1234_5670,
            namespace: 0xf000_0003,
        };
        let claim = PackedIdentity::of(&identity);
        assert_eq!(claim.tid(), identity.tid);
        assert!(claim.matches(&identity));
        assert!(claim.matches(&Identity { pid: 0, image: 0, ..identity }), "what is unknown matches");
        assert!(!claim.matches(&Identity { tid: 8, ..identity }));
        assert!(!claim.matches(&Identity { start_time: 100, ..identity }));
        assert!(!claim.matches(&Identity { image: identity.image + 16, ..identity }));
        assert!(!claim.matches(&Identity { image: identity.image + 4096, ..identity }));
        assert!(!claim.matches(&Identity { namespace: identity.namespace + 1, ..identity }));
        assert_eq!(claim.word() >> 61, 0);
    }
}
