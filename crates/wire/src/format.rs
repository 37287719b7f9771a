//! What writer and reader of a recording agree upon before they read its header.

/// Version of the file format that this crate writes and reads. Version 3 adds rows for waits for descriptors, joins
/// and futexes; a reader of version 2 would report these as locks.
pub const VERSION: u64 = 4;
/// The maximum number of pages of a recording: 64 GiB of address space, sparse.
pub const MAX_PAGES: u64 = 1 << 24;
/// Pages of the smallest recording.
pub(crate) const MIN_PAGES: u64 = 8;
