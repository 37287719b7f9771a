//! Why a search ended before any candidate was tried.

use crate::budget;
use crate::search::Unprovable;
use unspin_stats::effect;

/// The gain is too small to be worth a search: what to do all the same.
pub fn not_worth(bound: f64) -> String {
    format!(
        "Not searched: without these locks the program would be at most {bound:.2} times as fast. To judge a \
         candidate all the same, name it with --mutex, --rwlock, --spin or --waits."
    )
}

/// Why no candidate was tried, and what to do.
pub fn unprovable(found: &Unprovable, control: &str) -> [String; 2] {
    let next = match found.enough_s {
        Some(enough_s) => format!(
            "To search all the same, allow more time: --time-budget {}. On a quieter machine less is enough (--wait-for-quiet).",
            budget::duration(60.0 * (enough_s / 60.0).ceil()).replace(" min", "m").replace(" s", "s")
        ),
        None => "Measure on a quieter machine (--wait-for-quiet); here no number of rounds is enough.".into(),
    };
    [
        format!(
            "Not searched: without these locks and waits the program would be at most {:.2} times as fast, and differences \
             below {} cannot be proven here, measured by {} runs of {control}.",
            found.bound,
            effect(found.floor),
            found.runs
        ),
        next,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gain_below_the_noise_is_said_with_what_would_prove_it() {
        let found = Unprovable { bound: 1.03, floor: 1.1, runs: 5, rounds: 8, enough_s: Some(100.0) };
        let [why, next] = unprovable(&found, "system");
        assert!(
            why.starts_with(
                "Not searched: without these locks and waits the program would be at most 1.03 times"
            ),
            "{why}"
        );
        assert!(next.contains("--time-budget 120s"), "{next}");
        let [_, next] = unprovable(&Unprovable { enough_s: None, ..found }, "system");
        assert!(next.contains("quieter machine"), "{next}");
    }
}
