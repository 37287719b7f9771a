//! The C library of this process.

use core::ffi::CStr;

/// The version of glibc that this process runs with: `2.36`.
pub fn version() -> &'static str {
    // SAFETY: glibc returns a C string that is constant.
    unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_str().unwrap_or_default()
}

/// The major and the minor version in a text such as `2.36` or `2.41.9000`. None if it is another text.
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    parts.next()?.zip(parts.next()?)
}

/// Whether this process runs with a glibc that is older than the one with these numbers.
pub fn is_before(major: u32, minor: u32) -> bool {
    numbers(version()).is_some_and(|numbers| numbers < (major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order() {
        assert_eq!(numbers("2.36"), Some((2, 36)));
        assert_eq!(numbers("2.41.9000"), Some((2, 41)));
        for other in ["", "2", "2.", "strange", "2.x"] {
            assert_eq!(numbers(other), None, "{other:?}");
        }
        let (major, minor) = numbers(version()).unwrap();
        assert!(!is_before(major, minor) && is_before(major, minor + 1) && is_before(major + 1, 0));
    }

    #[test]
    fn version_has_two_numbers() {
        let (major, minor) = version().split_once('.').unwrap();
        assert_eq!(major, "2");
        assert!(minor.split('.').next().unwrap().parse::<u32>().is_ok_and(|minor| minor >= 17));
    }
}
