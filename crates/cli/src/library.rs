//! The preload library. It is embedded in this binary and unpacked into the cache folder.

use crate::cache::{self, CachedFile};
use crate::error::Error;
use std::path::PathBuf;

/// The library's bytes, built by build.rs.
static BYTES: &[u8] = include_bytes!(env!("UNSPIN_PRELOAD_FILE"));
/// SHA-256 of the bytes. Each build has a file of its own, so running programs keep theirs.
const HASH: &str = env!("UNSPIN_PRELOAD_HASH");

/// Prefix of its file name.
pub const NAME: &str = "libunspin_preload";

/// The path of the unpacked library. Its contents are compared with the embedded bytes at every use, so a
/// half-written or altered file is never preloaded.
pub fn unpack() -> Result<PathBuf, Error> {
    let name = format!("{NAME}-{}.so", &HASH[..32]);
    cache::keep(&CachedFile { what: "the preload library", name: &name, bytes: BYTES, mode: 0o755 })
}
