//! Sizes as util-linux writes and reads them.

/// In what sizes are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// What each line of util-linux's output has always had: bytes, kbytes or pages.
    Usual,
    /// Bytes everywhere.
    Bytes,
    /// One decimal and a letter.
    Human,
}

const LETTERS: [char; 7] = ['B', 'K', 'M', 'G', 'T', 'P', 'E'];

/// A size with one decimal and a letter for the power of 1024: 512B, 1.5K, 16E. Rounded as
/// `size_to_human_string` of util-linux rounds: to thousandths by cutting off, from there to the nearest tenth.
pub fn human(bytes: u64) -> String {
    let power = (bytes.max(1).ilog2() / 10) as usize;
    let one = 1_u128 << (10 * power);
    let thousandths = u128::from(bytes) % one * 1000 / one;
    let tenths = u128::from(bytes) / one * 10 + (thousandths + 50) / 100;
    let letter = LETTERS[power];
    match tenths % 10 {
        0 => format!("{}{letter}", tenths / 10),
        tenth => format!("{}.{tenth}{letter}", tenths / 10),
    }
}

/// Reads a number of bytes: 4096, 0x1000, 1M and 1MiB (1024²), 1MB (1000²), 1.5G. With the letters of ipcmk(1): K M G T
/// P E Z Y, of either case.
pub fn parse(text: &str) -> Result<usize, String> {
    let wrong = || "give a number of bytes such as 4096, 64K, 1.5MiB or 2GB".to_owned();
    let too_large = || "is more than can be addressed".to_owned();
    let text = text.trim_ascii_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let (base, rest) = match text.strip_prefix("0x") {
        Some(hex) => (16, hex),
        None if text.starts_with('0') => (8, text),
        None => (10, text),
    };
    let (digits, rest) = split(rest, base);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), |rest| split(rest, 10));
    let one = scale(suffix).ok_or_else(wrong)?;
    if one == 1 && rest.starts_with('.') {
        return Err(wrong());
    }
    let whole = u128::from_str_radix(digits, base).map_err(|_| wrong())?;
    let whole = whole.checked_mul(one).ok_or_else(too_large)?;
    // Beyond the twelfth digit are parts of a byte up to a petabyte.
    let (sum, places) = fraction
        .bytes()
        .take(12)
        .fold((0, 1), |(sum, n), digit| (sum * 10 + u128::from(digit - b'0'), n * 10));
    let part = sum * (one / places) + sum * (one % places) / places;
    usize::try_from(whole.saturating_add(part)).map_err(|_| too_large())
}

/// The digits that a text begins with, and the rest.
fn split(text: &str, base: u32) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len()))
}

/// What a suffix multiplies with: nothing, a letter, a letter and `iB`, or a letter and `B`, which makes it decimal.
fn scale(suffix: &str) -> Option<u128> {
    let Some(first) = suffix.chars().next() else { return Some(1) };
    let power = "KMGTPEZY".find(first.to_ascii_uppercase())? as u32 + 1;
    match &suffix[1..] {
        "" | "iB" | "ib" => Some(1024_u128.pow(power)),
        "B" | "b" => Some(1000_u128.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: what util-linux 2.38 prints for segments of these sizes.
    #[test]
    fn sizes_are_rounded_as_util_linux_rounds_them() {
        let cases = [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1075, "1K"),
            (1076, "1.1K"),
            (1536, "1.5K"),
            ((1 << 20) - 1, "1024K"),
            (1 << 20, "1M"),
            (u64::MAX - (1 << 24), "16E"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn sizes_have_suffixes_and_fractions() {
        let cases = [
            ("4096", 4096),
            ("+5", 5),
            (" 7", 7),
            ("0x10", 16),
            ("010", 8),
            ("1M", 1 << 20),
            ("1m", 1 << 20),
            ("1MiB", 1 << 20),
            ("2kB", 2000),
            ("1.5K", 1536),
            ("0.001MB", 1000),
            ("1.00000000000000000001K", 1024),
            ("15E", 15 << 60),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "-1", "++1", "1 ", "+ 1", "1x", "1.5", "1.", ".5K", "K", "1KiBs", "1 K", "0x", "08", "16E",
            "9Y", "1\u{e4}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
