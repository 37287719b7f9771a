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

    /// Whether values in both can be compared. Words are no units, so they may change; but not by a prefix, such as "ops" and
    /// "kops".
    pub fn compares_with(&self, other: &Unit) -> bool {
        // Units of other scripts are not known.
        let is_foreign = |word: &str| !word.is_ascii();
        match (self, other) {
            (Unit::Word(a), Unit::Word(b)) => a == b || !are_scales(a, b) && !is_foreign(a) && !is_foreign(b),
            (Unit::Word(word), Unit::Base(_)) | (Unit::Base(_), Unit::Word(word)) if is_foreign(word) => {
                false
            }
            (Unit::Word(word), Unit::Base(base)) | (Unit::Base(base), Unit::Word(word)) => {
                base.is_empty() && !SCALES.contains(&word.to_lowercase().as_str())
            }
            _ => self.name() == other.name(),
        }
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

/// Words that scale the number before them.
const SCALES: [&str; 9] =
    ["thousand", "million", "billion", "trillion", "lakh", "crore", "dozen", "percent", "per"];

/// Prefixes of units, the longer ones first.
const PREFIXES: [&str; 22] = [
    "kilo", "mega", "giga", "tera", "milli", "micro", "nano", "kibi", "mebi", "gibi", "ki", "Ki", "Mi", "Gi",
    "k", "K", "M", "G", "T", "P", "m", "u",
];

/// Whether two different words may be scales of one unit: "kpps" and "Mpps", "pps" and "kpps", "million" and "thousand".
fn are_scales(a: &str, b: &str) -> bool {
    let is_scale = |word: &str| SCALES.contains(&word.to_lowercase().as_str());
    let stems = |word: &str| {
        let stripped = PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix));
        stripped.filter(|stem| stem.len() > 1).chain([word]).map(str::to_lowercase).collect::<Vec<_>>()
    };
    let (of_a, of_b) = (stems(a), stems(b));
    is_scale(a) || is_scale(b) || of_a.iter().any(|stem| of_b.contains(stem))
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
    // "MS" may be another unit; "Milliseconds" is not.
    let lower = if word.len() > 3 { word.to_lowercase() } else { word.to_owned() };
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
    fn words_that_differ_by_a_prefix_do_not_compare() {
        let word = |word: &str| Unit::Word(word.into());
        assert!(!word("kthings").compares_with(&word("things")));
        assert!(!word("things").compares_with(&word("Mthings")));
        assert!(word("better").compares_with(&word("worse")));
        assert!(word("run").compares_with(&word("runs")));
        for (one, other) in [("kpps", "Mpps"), ("MFLOPS", "GFLOPS"), ("million", "thousand"), ("per", "runs")]
        {
            assert!(!word(one).compares_with(&word(other)), "{one}, {other}");
        }
        // Issue 25: "12 мс" and "12 с".
        assert!(!word("мс").compares_with(&word("с")) && word("мс").compares_with(&word("мс")));
        assert!(!word("毫秒").compares_with(&Unit::NONE));
        assert!(!word("million").compares_with(&Unit::NONE));
        assert!(word("runs").compares_with(&Unit::NONE));
        assert!(!Unit::Base("s".into()).compares_with(&Unit::NONE));
    }
}
