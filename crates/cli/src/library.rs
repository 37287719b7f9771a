//! The preload library that this binary carries inside itself, unpacked into the cache folder.

use crate::cache::{self, CachedFile};
use crate::error::Error;
use std::path::PathBuf;

/// The library's bytes, as build.rs had them built.
static BYTES: &[u8] = include_bytes!(env!("UNSPIN_PRELOAD_FILE"));
/// SHA-256 of the bytes: another build is another file, and programs that run keep theirs.
const HASH: &str = env!("UNSPIN_PRELOAD_HASH");

/// How its file name begins.
pub const NAME: &str = "libunspin_preload";

/// The path of the unpacked library. Its contents are compared with what we carry at every use, so neither a
/// half-written nor an altered file is ever preloaded.
pub fn unpack() -> Result<PathBuf, Error> {
    let name = format!("{NAME}-{}.so", &HASH[..32]);
    cache::keep(&CachedFile { what: "the preload library", name: &name, bytes: BYTES, mode: 0o755 })
}
