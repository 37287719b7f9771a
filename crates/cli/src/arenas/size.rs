//! Sizes as text.

/// A size in bytes, without a letter.
pub fn exact(bytes: u64) -> String {
    bytes.to_string()
}

const LETTERS: [char; 7] = ['B', 'K', 'M', 'G', 'T', 'P', 'E'];

/// A size with one decimal and a letter for the power of 1024: 512B, 1.5K, 16E. Rounded like
/// `size_to_human_string` of util-linux: truncated to thousandths, then rounded to the nearest tenth.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: what util-linux 2.38 prints for segments of these sizes.
    #[test]
    fn human_size_is_rounded_as_util_linux_rounds_it() {
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
}
