//! The two tiers of the tests: what every change must pass, and what runs at night.

/// `first` in the tests that every change must pass, `nightly` where `UNSPIN_TIER=nightly` is set (`ci/nightly.sh`): how many, how
/// large, how long.
///
/// A test that only the nightly tier runs at all is `#[ignore = "nightly: …"]`.
///
/// # Panics
/// If the variable has another value.
pub fn size<T>(first: T, nightly: T) -> T {
    match std::env::var("UNSPIN_TIER").as_deref() {
        Ok("nightly") => nightly,
        Ok(other) => panic!("UNSPIN_TIER is {other}: unset it, or set it to nightly"),
        Err(_) => first,
    }
}
