//! Reads the environment without allocating: hooks run inside allocators and before any constructor.

use core::ffi::{CStr, c_char};
use unspin_wire::environment::{STATUS, SUMMARY};

unsafe extern "C" {
    /// libc's own name of `environ`: a program may define a variable `environ`, but no name that begins like this one.
    static __environ: *const *const c_char;
}

/// The value of `name`, or `None` if it is unset or empty.
pub fn value(name: &str) -> Option<&'static [u8]> {
    // SAFETY: libc keeps `__environ` null or pointing to a null-terminated array of C strings, from before the first
    // constructor on. If another thread of the program changes the environment at the same time, that is a race, as
    // with every getenv(3); this function is called at the start only.
    unsafe {
        let mut entry = __environ;
        while !entry.is_null() && !(*entry).is_null() {
            if let Some(value) = value_in(CStr::from_ptr(*entry).to_bytes(), name) {
                return Some(value).filter(|v| !v.is_empty());
            }
            entry = entry.add(1);
        }
    }
    None
}

/// The value of a variable as a C string.
pub fn value_as_c_string(name: &str) -> Option<&'static CStr> {
    // SAFETY: a value ends where its entry ends, and the entry is a C string.
    value(name).map(|value| unsafe { CStr::from_ptr(value.as_ptr().cast()) })
}

/// The value of a variable as a number, if it is one.
pub fn number(name: &str) -> Option<u64> {
    parse_number(value(name)?)
}

fn parse_number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Whether the user wants a line about what was replaced when the program ends.
pub fn wants_summary() -> bool {
    is_on(SUMMARY)
}

/// Whether the user wants a tally that others can read.
pub fn wants_status() -> bool {
    is_on(STATUS)
}

fn is_on(name: &str) -> bool {
    value(name).is_some_and(|value| value != b"0")
}

/// The value of one `NAME=value` entry, if its name is `name`.
fn value_in<'e>(entry: &'e [u8], name: &str) -> Option<&'e [u8]> {
    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_whole() {
        assert_eq!(value_in(b"UNSPIN_SYSV=rcu", "UNSPIN_SYSV"), Some(&b"rcu"[..]));
        assert_eq!(value_in(b"UNSPIN_SYSVX=rcu", "UNSPIN_SYSV"), None);
        assert_eq!(value_in(b"UNSPIN_SYSV", "UNSPIN_SYSV"), None);
    }

    #[test]
    fn cost_that_is_no_number_is_as_none() {
        assert_eq!([&b"31000"[..], b" 31000\n"].map(parse_number), [Some(31_000); 2]);
        assert_eq!([&b"fast"[..], b"-1", b"\xff", b"99999999999999999999"].map(parse_number), [None; 4]);
    }

    #[test]
    fn agrees_with_getenv() {
        let path = std::env::var_os("PATH").unwrap();
        assert_eq!(value("PATH"), Some(path.as_encoded_bytes()));
        assert_eq!(value_as_c_string("PATH").map(CStr::to_bytes), value("PATH"));
        assert_eq!(value("UNSPIN_NO_SUCH_VARIABLE"), None);
    }
}
