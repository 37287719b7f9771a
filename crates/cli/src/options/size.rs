//! Sizes on the command line.

/// A number of bytes, with K, M, G or T for powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let plain = upper.trim_end_matches('B').trim_end_matches('I');
    let (digits, shift) = match plain.chars().last() {
        Some('K') => (&plain[..plain.len() - 1], 10),
        Some('M') => (&plain[..plain.len() - 1], 20),
        Some('G') => (&plain[..plain.len() - 1], 30),
        Some('T') => (&plain[..plain.len() - 1], 40),
        _ => (plain, 0),
    };
    let parsed = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    parsed.ok_or_else(|| "give a number of bytes such as 512M or 8G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_with_units() {
        for (text, expected) in
            [("4096", 4096), ("64k", 64 << 10), ("512M", 512 << 20), ("8GiB", 8 << 30), ("1tb", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "G", "-1", "many", "8.5G", "99999999999T", "é"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
