//! Numbers as text: as Lockmeter printed them, and as our own table does.

/// A share as the 2001 program printed it: 5 characters up to 9999 %. The choice of digits is made before
/// rounding, as it was there.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 99.9 || percent == 0.0 {
        format!("{percent:4.0}%")
    } else if percent > 1.0 {
        format!("{percent:4.1}%")
    } else {
        format!("{percent:4.2}%")
    }
}

/// A time as the 2001 program printed it: 6 characters up to 10 s. It kept times in single precision.
pub(crate) fn lockmeter_time(seconds: f64) -> String {
    let us = f64::from((seconds * 1e6) as f32);
    if us < 10.0 {
        format!("{us:4.1}us")
    } else if us < 10_000.0 {
        format!("{us:4.0}us")
    } else {
        format!("{:4.0}ms", us / 1000.0)
    }
}

/// Units of [`time`]: the seconds that one is, and its name.
const UNITS: [(f64, &str); 3] = [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")];

/// A time from nanoseconds to years in at most 5 characters: two digits at least, three at most.
pub(crate) fn time(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0".into();
    }
    for (unit, name) in UNITS {
        let value = seconds / unit;
        // The limits are where rounding would need a digit more.
        if value < 9.95 && name != "ns" {
            return format!("{value:.1}{name}");
        }
        if value < 999.5 {
            return format!("{value:.0}{name}");
        }
    }
    let (hours, days) = (seconds / 3600.0, seconds / 86400.0);
    match seconds {
        s if s < 9.995 => format!("{s:.2}s"),
        s if s < 99.95 => format!("{s:.1}s"),
        s if s < 9999.5 => format!("{s:.0}s"),
        _ if hours < 99.95 => format!("{hours:.1}h"),
        _ if days < 9999.5 => format!("{days:.0}d"),
        _ => ">27y".into(),
    }
}

/// A plain number of three significant digits, at most 5 characters up to 99999.
pub(crate) fn number(n: f64) -> String {
    match n {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

/// A count in at most 10 characters.
pub(crate) fn count(n: u64) -> String {
    match n {
        0..10_000_000_000 => n.to_string(),
        10_000_000_000..10_000_000_000_000 => format!("{:.2}e9", n as f64 / 1e9),
        _ => format!("{:.2e}", n as f64),
    }
}

/// A share as report 003's headline has it: `76.3 %`, `6.85 %`.
pub(crate) fn spoken_percent(share: f64) -> String {
    format!("{} %", number(share * 100.0).trim_end_matches(".00"))
}
