//! The C library of this process.

use core::ffi::CStr;

/// The version of glibc that this process runs with: `2.36`.
pub fn version() -> &'static str {
    // SAFETY: glibc returns a C string that is constant.
    unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_has_two_numbers() {
        let (major, minor) = version().split_once('.').unwrap();
        assert_eq!(major, "2");
        assert!(minor.split('.').next().unwrap().parse::<u32>().is_ok_and(|minor| minor >= 17));
    }
}
