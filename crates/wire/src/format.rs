//! What writer and reader of a recording agree upon before they read its header.

/// Version of the file format that this crate writes. Version 3 adds rows for waits for descriptors, joins
/// and futexes; a reader of version 2 would report these as locks. Version 5 adds holds that stand for several, level
/// `auto`, and rows about the holders of locks.
pub const VERSION: u64 = 5;
/// The oldest version that this crate reads. It writes into recordings of [`VERSION`] only.
pub(crate) const OLDEST: u64 = 4;
/// The first version in which a row with histograms says for how many holds the timed ones stand.
pub(crate) const WEIGHTS_SINCE: u64 = 5;
/// The maximum number of pages of a recording: 64 GiB of address space, sparse.
pub const MAX_PAGES: u64 = 1 << 24;
/// Pages of the smallest recording.
pub(crate) const MIN_PAGES: u64 = 8;
