//! Keys.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// ftok(3): a key made of a file that programs know, and a number for their purpose. As in the C library, the same file
/// and number give the same key while the file exists, and two files may give the same key by chance.
///
/// ```
/// use unspin_sysv::typed::ftok;
///
/// # fn main() -> std::io::Result<()> {
/// let file = tempfile::NamedTempFile::new()?;
/// assert_eq!(ftok(file.path(), b'Q')?, ftok(file.path(), b'Q')?);
/// assert_ne!(ftok(file.path(), b'Q')?, ftok(file.path(), b'S')?);
/// # Ok(())
/// # }
/// ```
pub fn ftok(path: impl AsRef<Path>, project: u8) -> io::Result<i32> {
    let file = std::fs::metadata(path)?;
    // glibc's sysvipc/ftok.c: 16 bits of the inode, 8 of the device, 8 of the project.
    Ok(file.ino() as i32 & 0xFFFF | (file.dev() as i32 & 0xFF) << 16 | i32::from(project) << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn ftok_equals_c_library() {
        for path in ["/", "/proc/self/exe", "/dev/null"] {
            let name = CString::new(Path::new(path).as_os_str().as_bytes()).unwrap();
            // SAFETY: a NUL-terminated string.
            let right = unsafe { libc::ftok(name.as_ptr(), 0x7A) };
            assert_eq!(ftok(path, 0x7A).unwrap(), right, "{path}");
        }
        assert!(ftok("/no/such/file", 1).is_err());
    }
}
