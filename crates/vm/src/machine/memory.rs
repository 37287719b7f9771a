//! How much memory a guest gets.

use unspin_launch::error::Error;

/// Bytes of a MiB.
pub const MIB: u64 = 1 << 20;

/// What a kernel and a command without large data need.
const PLENTY: u64 = 1024 * MIB;
/// With less a kernel does not reach its first process.
const LEAST: u64 = 192 * MIB;

/// The memory for an initramfs of this size: what was asked for, if that suffices.
///
/// While the kernel unpacks the initramfs, it is there twice: as archive and as files. And the files may take half of the memory
/// only (Documentation/filesystems/tmpfs.rst).
pub fn choose(asked: Option<u64>, initramfs: u64) -> Result<u64, Error> {
    let files = initramfs.next_multiple_of(MIB);
    let needed = LEAST + 2 * files + files / 2;
    match asked {
        None => Ok(PLENTY + 3 * files),
        Some(bytes) if bytes < needed => Err(Error::Usage(format!(
            "--memory {}M: the kernel and the files of the command need {}M at least",
            bytes / MIB,
            needed / MIB
        ))),
        Some(bytes) => Ok(bytes.next_multiple_of(MIB)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_files() {
        assert_eq!(choose(None, 0).unwrap(), PLENTY);
        assert_eq!(choose(None, 200 * MIB).unwrap(), PLENTY + 600 * MIB);
        assert_eq!(choose(Some(900 * MIB), 200 * MIB).unwrap(), 900 * MIB);
    }

    #[test]
    fn too_little_memory_is_refused_with_the_least() {
        let refused = choose(Some(64 * MIB), 8 * MIB).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--memory 64M: the kernel and the files of the command need 212M at least"
        );
        assert_eq!(refused.code(), 2);
    }
}
