//! What the command lines of `unspin` and `unspin-lab` have in common: how a time is written, and which option an unknown one
//! abbreviates.

use std::time::Duration;

/// A time with a unit; a number without unit is in seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    let parsed = seconds.or_else(|| humantime::parse_duration(text).ok());
    // A clock has no moment that is much later.
    const AT_MOST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);
    parsed
        .filter(|d| !d.is_zero())
        .map(|d| d.min(AT_MOST))
        .ok_or_else(|| "give a time such as 500ms, 90s or 5m".into())
}

/// The one option that has the name as a whole word: `time-budget` for `budget`. Clap looks for similar letters, and finds
/// `quiet`. None if no option has the word, or several have it.
pub fn find_abbreviated<'o>(name: &str, options: impl IntoIterator<Item = &'o str>) -> Option<&'o str> {
    let mut with = options.into_iter().filter(|option| option.split('-').any(|word| word == name));
    let first = with.next()?;
    with.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_with_units() {
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(std::time::Instant::now().checked_add(parse_duration("1e19").unwrap()).is_some());
        for bad in ["", "0", "-1", "soon", "1e300"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn word_of_several_options_abbreviates_none() {
        let options = ["time-budget", "time-limit"];
        assert_eq!(find_abbreviated("budget", options), Some("time-budget"));
        assert_eq!(find_abbreviated("time", options), None);
        assert_eq!(find_abbreviated("quiet", options), None);
    }
}
