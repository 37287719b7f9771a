//! Units of figures, and the base unit to which each is converted.
//!
//! A unit that means one thing in one program and another in the next is kept as it is: it has no other base unit than itself.
//! So figures in MB are compared with figures in MB, and a run that prints KB instead is refused, whether 1000 or 1024 was meant.

use std::fmt;

/// The unit of a figure after its conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A base unit; empty for a bare number.
    Base(String),
    /// A bare number, and the word that follows it: "7 transactions".
    Word(String),
}

/// A unit and the number of base units that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// One of this unit is so many base units.
    pub factor: f64,
    /// The base unit.
    pub base: String,
}

impl Unit {
    /// No unit.
    pub const NONE: Unit = Unit::Base(String::new());

    /// The unit as it is printed after a value.
    pub fn name(&self) -> &str {
        match self {
            Unit::Base(name) => name,
            Unit::Word(_) => "",
        }
    }

    /// Whether values in both can be compared. A word may be a unit that is not known, so it must be the same; "run" and "runs" are.
    pub fn compares_with(&self, other: &Unit) -> bool {
        let (Unit::Base(a) | Unit::Word(a), Unit::Base(b) | Unit::Word(b)) = (self, other);
        a == b || singular(a) == singular(b)
    }

    /// Whether it leaves no other unit to be stated elsewhere, as a number of requests may.
    pub fn is_complete(&self) -> bool {
        let is_counted = |base: &str| COUNTED_THINGS.contains(&base);
        matches!(self, Unit::Base(base) if !base.is_empty() && !is_counted(base))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Base(name) if name.is_empty() => f.write_str("no unit"),
            Unit::Base(name) | Unit::Word(name) => f.write_str(name),
        }
    }
}

/// Words that scale a number.
const SCALES: [&str; 40] = [
    "tens",
    "dozen",
    "dozens",
    "hundred",
    "hundreds",
    "thousand",
    "thousands",
    "million",
    "millions",
    "billion",
    "billions",
    "trillion",
    "lakh",
    "lakhs",
    "crore",
    "mil",
    "mln",
    "mn",
    "bn",
    "tn",
    "tsd",
    "mio",
    "mrd",
    "percent",
    "permille",
    "ppm",
    "ppb",
    "pico",
    "nano",
    "micro",
    "milli",
    "centi",
    "deci",
    "kilo",
    "mega",
    "giga",
    "tera",
    "kibi",
    "mebi",
    "gibi",
];

/// Symbols of other units that take prefixes.
const PHYSICAL: [&str; 9] = ["W", "Wh", "J", "V", "A", "Pa", "Hz", "eV", "FLOPS"];

/// Other names of times and their abbreviations, which are not converted.
const OTHER_TIMES: [&str; 26] = [
    "week",
    "weeks",
    "fortnight",
    "fortnights",
    "month",
    "months",
    "year",
    "years",
    "jiffy",
    "jiffies",
    "tick",
    "ticks",
    "cycle",
    "cycles",
    "clocks",
    "nanos",
    "mcs",
    "mls",
    "mks",
    "std",
    "sek",
    "sekunden",
    "minuten",
    "stunden",
    "ks",
    "fs",
];

/// Whether a word in small letters scales a number.
pub fn is_scale(lower: &str) -> bool {
    SCALES.contains(&lower)
}

/// Whether it is the symbol of a unit that is not converted, or its name.
pub fn is_physical(word: &str) -> bool {
    let stripped = ["n", "u", "µ", "m", "k", "K", "M", "G", "T", "h", ""]
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix));
    stripped.into_iter().any(|stem| PHYSICAL.contains(&stem)) && word != "A" && word != "V"
        || is_other_time(word)
}

/// Whether it names a time that is not converted.
pub fn is_other_time(word: &str) -> bool {
    OTHER_TIMES.contains(&word.to_lowercase().as_str())
}

/// Names of times, in seconds. `m` is not among them: it stands for minutes, for milli and for metres.
const TIMES: [(f64, &[&str]); 8] = [
    (1e-12, &["ps"]),
    (1e-9, &["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"]),
    (1e-6, &["us", "µs", "μs", "usec", "usecs", "µsec", "micros", "microsecond", "microseconds"]),
    (1e-3, &["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"]),
    (1.0, &["s", "sec", "secs", "second", "seconds"]),
    (60.0, &["min", "mins", "minute", "minutes"]),
    (3600.0, &["h", "hr", "hrs", "hour", "hours"]),
    (86_400.0, &["d", "day", "days"]),
];

/// Units that the prefixes of a thousand multiply. One name means one thing.
const COUNTED: [(&str, &[&str]); 8] = [
    ("bit", &["bit", "bits"]),
    ("bit/s", &["bps"]),
    ("Hz", &["Hz"]),
    ("ops", &["op", "ops"]),
    ("tps", &["tps", "TPS"]),
    ("qps", &["qps", "QPS", "rps", "RPS"]),
    ("iops", &["iops", "IOPS"]),
    ("requests", &["req", "reqs", "requests"]),
];

/// The base units of what is counted.
const COUNTED_THINGS: [&str; 5] = ["ops", "tps", "qps", "iops", "requests"];

const BYTES: [&str; 3] = ["B", "byte", "bytes"];

const THOUSANDS: [(&str, f64); 5] = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

const BINARY: [(&str, f64); 5] = [
    ("Ki", 1024.0),
    ("ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
];

/// Multiples of 1000 or of 1024, depending on the program. `m` is here for its other meanings.
const KEPT: [&str; 6] = ["m", "K", "M", "G", "T", "P"];

/// The seconds of a unit of time; also of `m`, which is minutes in a time of several parts.
pub fn seconds_of_part(word: &str) -> Option<f64> {
    if word == "m" { Some(60.0) } else { seconds(word) }
}

/// Whether it is the name of a unit of time.
pub fn is_time(word: &str) -> bool {
    seconds(word).is_some()
}

fn seconds(word: &str) -> Option<f64> {
    // "MS" may be another unit; "Milliseconds" and "Min" are not.
    let is_known = word.len() > 3 || ["Min", "Sec", "Hrs", "Day", "Hr"].contains(&word);
    let lower = if is_known { word.to_lowercase() } else { word.to_owned() };
    TIMES.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(seconds, _)| *seconds)
}

/// The unit of this name; a rate such as `MiB/s` or `ms/op`, too.
pub fn known(word: &str) -> Option<Known> {
    let Some((above, below)) = word.split_once('/') else { return simple(word) };
    let above = match (above, simple(above)) {
        ("", _) => Known { factor: 1.0, base: String::new() },
        (_, Some(known)) => known,
        (word, None) => Known { factor: 1.0, base: word.to_owned() },
    };
    Some(match seconds(below) {
        Some(seconds) => Known { factor: above.factor / seconds, base: format!("{}/s", above.base) },
        None => Known { base: format!("{}/{below}", above.base), ..above },
    })
}

/// The unit of this name in brackets, where other things may stand, too: "(avg/stddev)" is no rate.
pub fn bracketed(word: &str) -> Option<Known> {
    let is_rate = |(above, below): (&str, &str)| simple(above).is_some() || seconds(below).is_some();
    known(word).filter(|_| word.split_once('/').is_none_or(is_rate))
}

fn simple(word: &str) -> Option<Known> {
    let known = |factor: f64, base: &str| Some(Known { factor, base: base.to_owned() });
    if let Some(seconds) = seconds(word) {
        return known(seconds, "s");
    }
    if matches!(word, "%" | "percent" | "x") {
        return known(1.0, if word == "x" { "x" } else { "%" });
    }
    if KEPT.contains(&word) {
        return known(1.0, word);
    }
    if word == "k" {
        return known(1e3, "");
    }
    if let Some((prefix, factor)) = BINARY.iter().find(|(prefix, _)| word.starts_with(prefix)) {
        let rest = &word[prefix.len()..];
        let base = if rest.is_empty() { Some("") } else { base_of_bytes(rest).or_else(|| counted(rest)) };
        return base.and_then(|base| known(*factor, base));
    }
    if let Some(base) = base_of_bytes(word).or_else(|| counted(word)) {
        return known(1.0, base);
    }
    let (prefix, factor) = THOUSANDS.iter().find(|(prefix, _)| word.starts_with(prefix))?;
    let rest = &word[prefix.len()..];
    if base_of_bytes(rest).is_some() {
        return known(1.0, &format!("{}B", prefix.to_uppercase()));
    }
    counted(rest).and_then(|base| known(*factor, base))
}

/// B for bytes, also in "KBytes".
fn base_of_bytes(word: &str) -> Option<&'static str> {
    (BYTES.contains(&word) || ["Byte", "Bytes"].contains(&word)).then_some("B")
}

/// Whether it names what is counted, such as requests and bytes, with or without a prefix. Of a time it makes a rate.
pub fn is_counted(word: &str) -> bool {
    known(word).is_some_and(|known| !known.base.is_empty() && known.base != "s")
}

fn counted(word: &str) -> Option<&'static str> {
    COUNTED.iter().find(|(_, names)| names.contains(&word)).map(|(base, _)| *base)
}

/// A word without the "s" of its plural. Shorter ones are units: "ms".
pub fn singular(word: &str) -> &str {
    let is_long = |rest: &&str| rest.rsplit('_').next().is_some_and(|last| last.len() > 2);
    word.strip_suffix('s').filter(is_long).unwrap_or(word)
}

/// Letters, with a rate behind a stroke.
pub fn leading_word(text: &str) -> &str {
    let letters = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '%')).unwrap_or(text.len());
    let above = letters(text);
    match text[above..].strip_prefix('/') {
        Some(below) if below.starts_with(char::is_alphabetic) => &text[..above + 1 + letters(below)],
        _ => &text[..above],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_converted_to_one_base_unit() {
        let cases = [
            ("ns", 1e-9, "s"),
            ("µs", 1e-6, "s"),
            ("us", 1e-6, "s"),
            ("msec", 1e-3, "s"),
            ("seconds", 1.0, "s"),
            ("min", 60.0, "s"),
            ("h", 3600.0, "s"),
            ("k", 1e3, ""),
            ("Mi", 1_048_576.0, ""),
            ("KiB", 1024.0, "B"),
            ("bytes", 1.0, "B"),
            ("kbit", 1e3, "bit"),
            ("Gbits/sec", 1e9, "bit/s"),
            ("Mbps", 1e6, "bit/s"),
            ("MiB/s", 1_048_576.0, "B/s"),
            ("/s", 1.0, "/s"),
            ("k/s", 1e3, "/s"),
            ("req/min", 1.0 / 60.0, "requests/s"),
            ("ns/op", 1e-9, "s/op"),
            ("kops", 1e3, "ops"),
            ("Mops/s", 1e6, "ops/s"),
            ("GHz", 1e9, "Hz"),
            ("%", 1.0, "%"),
        ];
        for (word, factor, base) in cases {
            assert_eq!(known(word), Some(Known { factor, base: base.into() }), "{word}");
        }
    }

    #[test]
    fn unit_with_two_meanings_is_its_own_base_unit() {
        let cases = [
            ("m", "m"),
            ("K", "K"),
            ("M", "M"),
            ("KB", "KB"),
            ("kB", "KB"),
            ("MB", "MB"),
            ("MBytes", "MB"),
            ("GB/s", "GB/s"),
            ("MB/sec", "MB/s"),
        ];
        for (word, base) in cases {
            assert_eq!(known(word), Some(Known { factor: 1.0, base: base.into() }), "{word}");
        }
    }

    #[test]
    fn other_words_are_no_units() {
        for word in ["transactions", "x1f", "", "mss", "kk", "of", "Mx"] {
            assert_eq!(known(word), None, "{word}");
        }
    }

    #[test]
    fn only_equal_words_compare() {
        let word = |word: &str| Unit::Word(word.into());
        assert!(word("run").compares_with(&word("runs")) && word("мс").compares_with(&word("мс")));
        assert!(word("request").compares_with(&Unit::Base("requests".into())));
        for (one, other) in [
            ("kpps", "Mpps"),
            ("kthings", "things"),
            ("MFLOPS", "GFLOPS"),
            ("million", "thousand"),
            ("better", "worse"),
            ("m", "ms"),
            // Issue 25: "12 мс" and "12 с".
            ("мс", "с"),
            // Issue 25: powers, and units of other languages.
            ("mW", "W"),
            ("J", "kJ"),
            ("hPa", "kPa"),
            ("bn", "mn"),
            ("Mio", "Tsd"),
            ("hundred", "tens"),
            ("mcs", "mls"),
            ("weeks", "fortnights"),
            ("jiffies", "ticks"),
        ] {
            assert!(!word(one).compares_with(&word(other)), "{one}, {other}");
            assert!(!word(one).compares_with(&Unit::NONE), "{one}");
        }
        assert!(!Unit::Base("s".into()).compares_with(&Unit::NONE));
    }
}
