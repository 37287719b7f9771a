//! The target folder of the test program that runs.

use std::path::PathBuf;

/// The target directory of this workspace: the test program is at `PROFILE/deps/NAME` in it.
pub fn target_directory() -> PathBuf {
    let program = std::env::current_exe().expect("/proc is mounted");
    program.ancestors().nth(3).expect("a test program lies in target/PROFILE/deps").to_path_buf()
}
