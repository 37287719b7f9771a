//! The paths of the default arenas.

use std::path::Path;
use unspin_sys::creds::Creds;

/// The folder of the default arenas, and the prefix of their names.
pub(crate) const FOLDER: &str = "/dev/shm";
pub(crate) const PREFIX: &str = "unspin-sysv-";

/// The prefix of the paths of a user's default arenas.
pub(crate) fn prefix(uid: u32) -> String {
    format!("{FOLDER}/{PREFIX}{uid}-")
}

/// Whether the path is that of a default arena of the calling user, for any engine and namespace. Every user may write
/// to the folder, so another user may have put a file there.
pub(crate) fn is_usual(path: &Path) -> bool {
    let uid = Creds::current().uid;
    path.as_os_str().as_encoded_bytes().starts_with(prefix(uid).as_bytes())
}
