//! The digits of a figure: decimals, groups of thousands, exponents, and clock times.
//!
//! What can be read in two ways is refused. A single comma before three digits is such a case: `1,234` is 1234 in one country
//! and 1.234 in another, and a proof may not depend on which.

/// A number at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The number's value; of a clock time, in seconds.
    pub value: f64,
    /// A unit of its last digit.
    pub step: f64,
    /// The number's length in bytes.
    pub length: usize,
    /// How it is written.
    pub form: Form,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Digits only.
    Digits,
    /// With separators, or with an exponent.
    Decimal,
    /// `h:mm:ss` or `m:ss`.
    Clock,
}

/// The characters besides points, commas and colons that may stand between two digits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Nothing.
    Text,
    /// Nothing, and a comma ends the number.
    List,
    /// A space.
    Group,
}

/// Separators that only ever separate thousands: apostrophes, the underscore, and spaces that do not break a line.
pub const THOUSANDS: [char; 7] = ['\'', '’', '_', '\u{a0}', '\u{202f}', '\u{2009}', '\u{2007}'];

/// Reads the number. `text` begins with a sign, a digit, or a point before a digit.
pub fn number(text: &str, context: Context) -> Result<Number, String> {
    let (sign, unsigned) = match text.chars().next() {
        Some('-' | '−') => (-1.0, &text[text.chars().next().map_or(0, char::len_utf8)..]),
        Some('+') => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    let body = body(unsigned, context);
    let mut length = text.len() - unsigned.len() + body.len();
    if body.contains(':') {
        let seconds = body.rsplit(':').next().unwrap_or_default().replace(',', ".");
        return Ok(Number { value: sign * clock(body)?, step: step_of(&seconds), length, form: Form::Clock });
    }
    let mut digits = decimal(body)?;
    let mut form = if body.bytes().all(|b| b.is_ascii_digit()) { Form::Digits } else { Form::Decimal };
    if let Some(exponent) = exponent(&unsigned[body.len()..]) {
        digits.push_str(exponent);
        length += exponent.len();
        form = Form::Decimal;
    }
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(Number { value: sign * value, step: step_of(&digits), length, form })
        }
        _ => Err(format!("{body} is not a number that can be compared")),
    }
}

/// A unit of the last digit of a number as Rust writes it: 0.01 for "6.49", 1 for "12", 0.00001 for "1.50e-3". The distance of
/// neighbouring numbers with as many digits.
///
/// Python and JavaScript print 3 * 0.1 as 0.30000000000000004. A double has 15 digits that its decimals are sure of, so those behind are
/// no digits of a figure, and neither are the zeros to which the others are rounded.
pub fn step_of(number: &str) -> f64 {
    const SURE_DIGITS: usize = 15;
    let significant = number.trim_start_matches(['0', '.']);
    let digits = significant.bytes().take_while(|byte| !b"eE".contains(byte)).filter(u8::is_ascii_digit);
    if digits.count() > SURE_DIGITS
        && let Ok(value) = number.parse::<f64>()
    {
        let rounded = format!("{value:.*e}", SURE_DIGITS - 1);
        let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        return step_of(&format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.')));
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let exponent: f64 = exponent.parse().unwrap_or(0.0);
    // The power as decimals: 10 to the power of -2 is not 0.01 in binary everywhere.
    format!("1e{}", exponent - decimals as f64).parse().unwrap_or(0.0)
}

/// The digits, with every separator that stands before a digit.
fn body(text: &str, context: Context) -> &str {
    let is_separator = |c: char| match c {
        '.' | ':' => true,
        ',' => context != Context::List,
        ' ' => context == Context::Group,
        other => THOUSANDS.contains(&other),
    };
    let mut end = 0;
    for (at, character) in text.char_indices() {
        let next = text[at + character.len_utf8()..].bytes().next();
        let goes_on = character.is_ascii_digit()
            || is_separator(character) && next.is_some_and(|next| next.is_ascii_digit());
        if !goes_on {
            break;
        }
        end = at + character.len_utf8();
    }
    &text[..end]
}

/// `e-3`, if the text begins with an exponent.
fn exponent(text: &str) -> Option<&str> {
    let after = text.strip_prefix(['e', 'E'])?;
    let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &text[..text.len() - unsigned.len() + digits])
}

/// The number as Rust writes it: without separators of thousands, with a decimal point.
fn decimal(body: &str) -> Result<String, String> {
    let separators: Vec<(usize, char)> = body.char_indices().filter(|(_, c)| !c.is_ascii_digit()).collect();
    let (Some(&(_, first)), Some(&(at, last))) = (separators.first(), separators.last()) else {
        return Ok(body.to_owned());
    };
    let is_decimal_sign = matches!(last, '.' | ',');
    let times = separators.iter().filter(|(_, c)| *c == last).count();
    let decimals = &body[at + last.len_utf8()..];
    match (separators.len(), is_decimal_sign) {
        (1, true) if last == '.' => Ok(body.to_owned()),
        (1, true) if is_grouped(body, ',') => Err(format!(
            "{body} is {}{decimals} or {}.{decimals}; print it with a decimal point and without separators of thousands",
            &body[..at],
            &body[..at]
        )),
        (1, true) => Ok(body.replace(',', ".")),
        // A decimal sign behind groups of thousands.
        (_, true) if times == 1 && is_grouped(&body[..at], first) => {
            Ok(format!("{}.{decimals}", body[..at].replace(first, "")))
        }
        (_, _) if is_address(body) => {
            Err(format!("{body} may be an address; mark one number by a group in parentheses"))
        }
        (_, _) if is_grouped(body, first) => Ok(body.replace(first, "")),
        _ => Err(format!("the separators of {body} make no number; print it with a decimal point only")),
    }
}

/// Whether it may be an address of IPv4.
fn is_address(body: &str) -> bool {
    let parts: Vec<&str> = body.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

/// What a number tells about the decimal sign of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalSign {
    /// It has a decimal comma: "0,985", "1.450,5".
    Comma,
    /// It has one point before three digits: "1.450" is 1450 in a program with a decimal comma.
    PointOrThousands,
    /// Anything else.
    Unknown,
}

impl DecimalSign {
    /// The decimal sign of a number that [`number`] has read.
    pub fn of(text: &str) -> DecimalSign {
        let text = text.trim_start_matches(['-', '+', '−']);
        match (text.rfind(','), text.rfind('.')) {
            (Some(comma), point)
                if text.matches(',').count() == 1 && point.is_none_or(|point| point < comma) =>
            {
                DecimalSign::Comma
            }
            (None, Some(_)) if text.matches('.').count() == 1 && is_grouped(text, '.') => {
                DecimalSign::PointOrThousands
            }
            _ => DecimalSign::Unknown,
        }
    }

    /// Whether some number in a text certainly has a decimal comma: thousands with points and a comma behind them.
    pub fn is_comma_in(text: &str) -> bool {
        let words = text.split(|c: char| c.is_whitespace() || "=:;()[]{}\"".contains(c));
        words.map(|word| word.trim_end_matches(['.', ',', '%', '€'])).any(|word| {
            let (whole, decimals) = word.split_once(',').unwrap_or_default();
            let is_number = !decimals.is_empty() && decimals.bytes().all(|b| b.is_ascii_digit());
            is_number && is_grouped(whole, '.')
        })
    }
}

/// Whether these are digits in groups of three, between which `separator` stands.
fn is_grouped(text: &str, separator: char) -> bool {
    let mut groups = text.split(separator);
    let first = groups.next().unwrap_or_default();
    let are_digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
    let begins = matches!(first.len(), 1..=3) && are_digits(first) && !first.starts_with('0');
    let rest: Vec<&str> = groups.collect();
    begins && !rest.is_empty() && rest.iter().all(|group| group.len() == 3 && are_digits(group))
}

/// The seconds of `h:mm:ss` or `m:ss`, with decimals of the seconds.
fn clock(body: &str) -> Result<f64, String> {
    let below_sixty = |part: &str| part.len() == 2 && part < "60" && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = body.split(':').collect();
    let ([larger @ .., seconds], 2..=3) = (&parts[..], parts.len()) else { return Err(no_clock(body)) };
    let (whole, decimals) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    let is_first = |at: usize| at == 0;
    let well_formed = larger.iter().enumerate().all(|(at, part)| match is_first(at) {
        true => matches!(part.len(), 1..=9) && part.bytes().all(|b| b.is_ascii_digit()),
        false => below_sixty(part),
    });
    if !well_formed || !below_sixty(whole) || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return Err(no_clock(body));
    }
    let number = |digits: &str| digits.parse::<f64>().map_err(|_| no_clock(body));
    let minutes = larger.iter().try_fold(0.0, |sum, part| Ok::<f64, String>(60.0 * sum + number(part)?))?;
    Ok(60.0 * minutes + number(&format!("{whole}.{decimals}"))?)
}

fn no_clock(body: &str) -> String {
    format!("{body} is neither h:mm:ss nor m:ss; mark one number by a group in parentheses")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let read = number(text, Context::Text)?;
        assert_eq!(read.length, text.len(), "{text}");
        Ok(read.value)
    }

    #[test]
    fn numbers_are_read_to_their_end() {
        let cases = [
            ("7", 7.0),
            ("-3", -3.0),
            ("−3", -3.0),
            ("+2.5", 2.5),
            (".5", 0.5),
            ("0.985", 0.985),
            ("1.5e-3", 0.0015),
            ("2E4", 20_000.0),
            ("1.234", 1.234),
            ("0,985", 0.985),
            ("1,21", 1.21),
            ("12,3456", 12.3456),
            ("1234,567", 1234.567),
            ("1,234,567", 1_234_567.0),
            ("1,234,567.5", 1_234_567.5),
            ("1,234.5", 1234.5),
            ("1.234,5", 1234.5),
            ("1.234.567", 1_234_567.0),
            ("1'234'567.8", 1_234_567.8),
            ("1’234", 1234.0),
            ("1_234_567", 1_234_567.0),
            ("1\u{a0}234\u{a0}567,5", 1_234_567.5),
            ("1\u{202f}234", 1234.0),
            ("0:02.50", 2.5),
            ("2:30", 150.0),
            ("1:02:03", 3723.0),
            ("1:02:03,25", 3723.25),
            ("90:00", 5400.0),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn step_is_a_unit_of_the_last_digit() {
        let cases = [
            ("7", 1.0),
            ("1000", 1.0),
            ("-0.985", 0.001),
            ("1.50", 0.01),
            ("7.", 1.0),
            ("1.5e-3", 1e-4),
            ("2E4", 1e4),
            ("1,21", 0.01),
            ("1,234,567.5", 0.1),
            ("1'234'567", 1.0),
            ("0:02.50", 0.01),
            ("2:30", 1.0),
            ("1:02:03,25", 0.01),
        ];
        for (text, step) in cases {
            assert_eq!(number(text, Context::Text).unwrap().step, step, "{text}");
        }
    }

    #[test]
    fn doubtful_numbers_are_refused() {
        let cases = [
            "1,234",
            "999,000",
            "1,234e3",
            "1,23,456",
            "12,34.5",
            "1.2.3",
            "1,2,3",
            "1'23",
            "1_2",
            "1:2",
            "3:75",
            "1:60:00",
            "1:2:3:4",
            "1:00:00:00",
            "1,000:30",
            "1.5:30",
            "1e999",
            "1,234'567",
            "1.234,567.8",
            "10.0.0.1",
            "192.168.100.200",
        ];
        for text in cases {
            assert!(number(text, Context::Text).is_err(), "{text}: {:?}", number(text, Context::Text));
        }
        let why = number("1,234", Context::Text).unwrap_err();
        assert!(why.starts_with("1,234 is 1234 or 1.234;"), "{why}");
    }

    #[test]
    fn every_number_that_rust_prints_is_read_back() {
        let mut x = 1.0e-7_f64;
        while x < 1.0e12 {
            for shown in
                [format!("{x}"), format!("{x:e}"), format!("{x:.3}"), format!("{x:.0}"), format!("-{x}")]
            {
                assert_eq!(value(&shown), Ok(shown.parse().unwrap()), "{shown}");
            }
            x *= 7.3;
        }
    }

    #[test]
    fn decimal_comma_is_noticed() {
        for text in ["0,985", "1.450,5", "-1,21"] {
            assert_eq!(DecimalSign::of(text), DecimalSign::Comma, "{text}");
        }
        for text in ["1.450", "12.345"] {
            assert_eq!(DecimalSign::of(text), DecimalSign::PointOrThousands, "{text}");
        }
        for text in ["1.45", "0.985", "1450", "1,234,567.5", "1.234.567", "1234.567"] {
            assert_eq!(DecimalSign::of(text), DecimalSign::Unknown, "{text}");
        }
        assert!(DecimalSign::is_comma_in("total: 1.234,5 s") && DecimalSign::is_comma_in("(12.345,67%)"));
        for text in ["1.234 5", "1,234.5", "a.b,c", "1.2,3", "1.234,5.678"] {
            assert!(!DecimalSign::is_comma_in(text), "{text}");
        }
    }

    #[test]
    fn context_says_what_separates() {
        let read = |text, context| number(text, context).map(|read| (read.value, read.length));
        assert_eq!(read("12,34,56", Context::List), Ok((12.0, 2)));
        assert_eq!(read("1 234 567 x", Context::Group), Ok((1_234_567.0, 9)));
        assert_eq!(read("1 234", Context::Text), Ok((1.0, 1)));
        assert_eq!(read("7. And", Context::Text), Ok((7.0, 1)));
        assert_eq!(read("7, 8", Context::Text), Ok((7.0, 1)));
    }
}
