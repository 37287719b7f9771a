//! Suggestions for unknown names.

/// Minimum similarity of two names, at most 1. A missing letter, or two swapped ones, in a name of six letters give
/// 0.83.
const ALIKE: f64 = 0.7;

/// The name that is most similar to the text, if one is similar enough.
pub fn of<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    several(written, names, 1).pop()
}

/// Some similar names, the most similar first.
pub fn several<'n>(written: &str, names: impl IntoIterator<Item = &'n str>, at_most: usize) -> Vec<&'n str> {
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(written, name);
    let mut alike: Vec<(f64, &str)> = names.into_iter().map(|name| (likeness(name), name)).collect();
    alike.retain(|&(likeness, _)| likeness >= ALIKE);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.dedup_by_key(|&mut (_, name)| name);
    alike.into_iter().take(at_most).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_error_finds_the_nearest_name() {
        let names = ["cache_lock", "log_lock", "lock"];
        assert_eq!(of("cahce_lock", names), Some("cache_lock"));
        assert_eq!(of("cachelock", names), Some("cache_lock"));
        assert_eq!(of("table", names), None);
        assert_eq!(several("clog_lock", names, 3), ["log_lock"]);
    }
}
