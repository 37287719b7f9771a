//! A number with everything that belongs to it: the parts of a time, the unit, and what may follow.

use super::dimension::Dimension;
use super::elsewhere::Position;
use super::number::{Context, DecimalSign, Form, Number, THOUSANDS, number, step_of};
use super::unit::{self, Known};
use super::{Reading, Unit, surroundings};
use regex::Regex;
use std::sync::LazyLock;

/// What a group in the expression marks.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    /// Length of the group's text, in bytes.
    pub length: usize,
    /// Whether the expression names the text behind the group, too.
    pub is_followed_by_match: bool,
    /// The text behind the group that the expression states literally.
    pub literal: &'a str,
}

impl Marked<'_> {
    /// Whether the expression says that something else begins with this word, which is not empty.
    fn names(self, rest: &str, word: &str) -> bool {
        !word.is_empty() && self.literal.starts_with(word) && rest.starts_with(self.literal)
    }
}

/// "· 10^3", "* 1000", "**3", "^3".
static POWER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[xX×*·⋅∙•]\s*\d|(?:\*\*|\^)\s*[-+]?\d)").expect("the expression is valid")
});

/// "1' 30\"": minutes and seconds.
static PRIMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^['’′]\s*\d+(?:[.,]\d+)?\s*(?:["”″]|'')"#).expect("the expression is valid")
});

/// What joins the parts of a time: "1 min. 50 s", "1 minute(s) and 50 s".
static JOINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\([a-z]{1,2}\))?[\s.,:;+&\-–]*(?:(?:and|und|et|y|plus)\s+)?")
        .expect("the expression is valid")
});

/// The larger part of a time before its figure: "1 min. " of "1 min. 50 s".
static LARGER_PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[^\d.,])(\d+)\s*(\p{L}+)(?:\([a-z]{1,2}\))?[\s.,:;+&\-–]*(?:(?:and|und|et|y|plus)\s+)?$",
    )
    .expect("the expression is valid")
});

const MARK: &str = "mark the figure alone by a group in parentheses";

/// Reads the figure at the beginning of `line`. Returns it with its length. `before` is the text of the line up to the
/// figure; `label` is the end of `before` that the expression has matched.
pub fn whole_figure(
    before: &str,
    label: &str,
    line: &str,
    marked: Option<Marked<'_>>,
    position: Position<'_>,
) -> Result<(Reading, usize), String> {
    let (line, skipped) = without_leader(before, line);
    let before = if skipped > 0 { "" } else { before };
    refuse_second_half(before, marked)?;
    refuse_tail(before, label, line)?;
    let begins = |text: &str| {
        text.trim_start_matches(['-', '+', '−'])
            .trim_start_matches('.')
            .starts_with(|c: char| c.is_ascii_digit())
    };
    if !begins(line) {
        return Err("the group in parentheses does not begin with a number; mark the number alone".into());
    }
    if let Some((seconds, step, length)) = several_parts(line)? {
        if !is_named(&line[length..], marked) {
            refuse_continuation(&line[length..], marked)?;
        }
        return Ok((Reading::of_time(seconds, step), skipped + length));
    }
    let number = number(line, context(before, line, marked))?;
    let rest = &line[number.length..];
    if let Some(marked) = marked.filter(|marked| marked.length < number.length) {
        return Err(format!(
            "the group in parentheses ends inside the number {}: it has only {}",
            &line[..number.length],
            line.get(..marked.length).unwrap_or_default()
        ));
    }
    if let Some(marked) = marked
        && line
            .get(number.length..marked.length)
            .is_some_and(|more| more.contains(|c: char| c.is_ascii_digit()))
    {
        return Err("the group in parentheses has more than one number; mark one alone".into());
    }
    if number.form == Form::Clock {
        if !is_named(rest, marked) {
            refuse_continuation(rest, marked)?;
        }
        let word = unit::leading_word(rest.trim_start_matches(' '));
        if unit::seconds_of_part(word).is_some_and(|seconds| seconds > 60.0) {
            return Err(format!("{} {word} is no time that is known; {MARK}", &line[..number.length]));
        }
        return Ok((Reading::of_time(number.value, number.step), skipped + number.length));
    }
    refuse_spaced_digits(&number, line, marked)?;
    let rest = without_deviation(rest, marked)?;
    let sign = DecimalSign::of(&line[..number.length]);
    refuse_smaller_part(before, label, rest)?;
    let position = Position { end: position.begin + skipped + number.length, ..position };
    let (known, length) = match unit_after(number.form == Form::Digits, rest, marked)? {
        Some((known, length)) => (Some(known), Some(length)),
        None => (unit_in_brackets(label).map_or_else(|| position.unit(), |known| Ok(Some(known)))?, None),
    };
    let (unit, factor) = match known {
        Some(Known { factor, base }) => (Unit::Base(base), factor),
        None => (word_after(rest).map_or(Unit::NONE, Unit::Word), 1.0),
    };
    // Both search many lines.
    let (dimension, surroundings) = match position.has_surroundings {
        true => (
            Dimension::of(&unit, &position),
            surroundings::of(&position, behind_unit(rest, &unit, length), unit.is_complete()),
        ),
        false => (Dimension::Other, Vec::new()),
    };
    let reading = Reading {
        value: number.value * factor,
        step: number.step * factor,
        printed_unit: Some(factor),
        unit,
        sign,
        surroundings,
        dimension,
        line: String::new(),
    };
    Ok((reading, skipped + number.length + length.unwrap_or(0)))
}

/// What follows the unit at a number, or the word that may be one.
fn behind_unit<'a>(rest: &'a str, unit: &Unit, attached: Option<usize>) -> &'a str {
    let is_at_number = attached.is_some() || matches!(unit, Unit::Word(_));
    let spaced = rest.trim_start_matches(|c: char| c.is_whitespace() || "([".contains(c));
    if is_at_number { &spaced[unit::leading_word(spaced).len()..] } else { rest }
}

/// The line without the point or dash that leads to its number: "......5", "---5".
fn without_leader<'a>(before: &str, line: &'a str) -> (&'a str, usize) {
    let is_leader =
        ['.', '-', '+'].iter().any(|&leader| line.starts_with(leader) && before.ends_with(leader));
    match line.strip_prefix(['-', '+']) {
        // "--.5" has two.
        Some(_) if is_leader => (&line[1..], 1),
        None if is_leader => (&line[1..], 1),
        _ => (line, 0),
    }
}

/// Refuses an expression that ends inside a number: the text behind it is only the second part of that number.
fn refuse_second_half(before: &str, marked: Option<Marked<'_>>) -> Result<(), String> {
    let mut letters = before.chars().rev();
    let (last, last_but_one) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    if last.is_ascii_digit() || matches!(last, '.' | '\'' | '_') && last_but_one.is_ascii_digit() {
        return Err("the expression ends inside a number, of which it leaves the second part; name the text before it".into());
    }
    if marked.is_none() && (last.is_alphabetic() || last == '_') {
        return Err(format!("the next number is a part of a name; {MARK}"));
    }
    Ok(())
}

/// Refuses a group that leaves out the beginning of a number: "1,450", "1:02.34", "9.5e-05", "2m30", "-5", ".5". Text
/// that the expression itself matches before the group is left out on purpose.
fn refuse_tail(before: &str, label: &str, line: &str) -> Result<(), String> {
    let mut letters = before.chars().rev();
    let Some(last) = letters.next().filter(|last| !label.ends_with(*last)) else { return Ok(()) };
    let last_but_one = letters.next().unwrap_or(' ');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let unsigned = before.trim_end_matches(['-', '+', '−']);
    let is_exponent = unsigned
        .strip_suffix(['e', 'E'])
        .is_some_and(|mantissa| mantissa.ends_with(|c: char| c.is_ascii_digit() || c == '.'));
    let is_tail = match last {
        _ if is_exponent => true,
        ',' | ':' => last_but_one.is_ascii_digit(),
        ' ' => last_but_one.is_ascii_digit() && digits == 3,
        'm' | 'h' | 'd' => last_but_one.is_ascii_digit(),
        // The last of several leads to the number.
        '-' | '+' | '−' | '.' => last_but_one != last && !last_but_one.is_alphanumeric(),
        other => THOUSANDS.contains(&other) && last_but_one.is_ascii_digit(),
    };
    match is_tail {
        true => Err(format!(
            "the group in parentheses leaves out \"{}\" before the digits, which belongs to the number; let it begin there",
            &before[before.trim_end_matches(|c: char| !c.is_whitespace() || c == last).len()..]
        )),
        false => Ok(()),
    }
}

/// Refuses a part of a time: "50 s" of "1 min 50 s", unless the expression itself matches "1 min".
fn refuse_smaller_part(before: &str, label: &str, rest: &str) -> Result<(), String> {
    let Some(larger) = LARGER_PART.captures(before) else { return Ok(()) };
    let is_named = larger.get(1).is_some_and(|digits| digits.start() + label.len() >= before.len());
    let seconds = |word: &str| unit::seconds_of_part(word);
    match (seconds(&larger[2]), seconds(unit::leading_word(rest.trim_start()))) {
        (Some(larger), Some(smaller)) if larger > smaller && !is_named => {
            Err("it is a part of the time that begins before it; name the text before it, too".into())
        }
        _ => Ok(()),
    }
}

/// The text behind the deviation of a number, "1.23 ± 0.04 ms", "1.23(4) ms": the unit of both. Refuses a range, which
/// has two figures.
fn without_deviation<'a>(rest: &'a str, marked: Option<Marked<'_>>) -> Result<&'a str, String> {
    let spaced = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let number_ends =
        |text: &str| text.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).unwrap_or(text.len());
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    for sign in ["±", "+/-", "+-"] {
        if let Some(deviation) = spaced.strip_prefix(sign).map(str::trim_start).filter(|text| begins(text)) {
            return Ok(&deviation[number_ends(deviation)..]);
        }
    }
    if let Some(inner) = rest.strip_prefix('(').filter(|text| begins(text))
        && let Some(after) = inner[number_ends(inner)..].strip_prefix(')')
    {
        return Ok(after);
    }
    let is_range = |sign: &str| spaced.strip_prefix(sign).map(str::trim_start).is_some_and(begins);
    let goes_on = marked.is_none_or(|marked| !marked.is_followed_by_match);
    if goes_on && ["-", "–", "to ", ".."].iter().any(|sign| is_range(sign)) {
        return Err(format!("a range has two figures; {MARK}"));
    }
    let is_power = goes_on && POWER.is_match(spaced) || spaced.strip_prefix(['e', 'E']).is_some_and(begins);
    match is_power {
        true => Err("the number goes on with a power or a factor; print it as 1.2e3".into()),
        false => Ok(rest),
    }
}

/// After a comma or an opening bracket, commas separate the elements of a list.
fn context(before: &str, line: &str, marked: Option<Marked<'_>>) -> Context {
    let is_in_list = before.ends_with([',', ';', '[', '(', '{']);
    let has_spaces = |text: &str| text.trim_end().contains(' ') && text.trim_end().bytes().all(is_of_number);
    match marked {
        Some(marked) if line.get(..marked.length).is_some_and(has_spaces) => Context::Group,
        _ if is_in_list => Context::List,
        _ => Context::Text,
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b" .,+-".contains(&byte)
}

/// Refuses "12 345", which is one number or two, unless a group marks the figure.
fn refuse_spaced_digits(number: &Number, line: &str, marked: Option<Marked<'_>>) -> Result<(), String> {
    let digits = &line[..number.length];
    let next = line[number.length..].strip_prefix(' ').unwrap_or_default();
    let count = next.bytes().take_while(u8::is_ascii_digit).count();
    let is_group =
        count == 3 && digits.trim_start_matches(['-', '+']).len() <= 3 && number.form == Form::Digits;
    match marked {
        None if is_group => Err(format!("{digits} {} is one number or two; {MARK}", &next[..3])),
        _ => Ok(()),
    }
}

/// The unit behind a number, and its length if it is attached. Behind a space it may belong to what follows: "3 tps: 4".
fn unit_after(
    is_whole: bool,
    rest: &str,
    marked: Option<Marked<'_>>,
) -> Result<Option<(Known, usize)>, String> {
    if PRIMES.is_match(rest) {
        return Err(format!("the time goes on, or another begins; {MARK}"));
    }
    let spaced = rest.trim_start_matches([' ', '\t', '\u{a0}', '\u{202f}', '\u{2009}']);
    let space = rest.len() - spaced.len();
    if let Some(known) = unit_in_brackets(&spaced[..spaced.find([')', ']']).map_or(0, |end| end + 1)])
        .filter(|_| spaced.starts_with(['(', '[']))
    {
        return Ok(Some((known, 0)));
    }
    let word = unit::leading_word(spaced);
    match unit::find(word).filter(|_| !word.is_empty()) {
        Some(known) => match refuse_continuation(&spaced[word.len()..], marked) {
            // "1 min.50 s".
            Err(why) if unit::is_time(word) && spaced[word.len()..].starts_with(['.', ':', '+']) => Err(why),
            // Of a word behind a space only the whole can be a unit.
            Err(_) if space > 0 => Ok(None),
            Err(why) => Err(why),
            Ok(()) => {
                refuse_next_part(is_whole, word, &spaced[word.len()..], marked)?;
                Ok(Some((known, if space > 0 { 0 } else { word.len() })))
            }
        },
        None if space > 0 || is_named(rest, marked) => {
            refuse_next_part(is_whole, word, &spaced[word.len()..], marked).map(|()| None)
        }
        None if word.is_empty() => refuse_continuation(rest, marked).map(|()| None),
        None if marked.is_some() => Err(format!(
            "\"{word}\" behind the digits is no unit that is known; name it behind the group, too, or print a space before it"
        )),
        None => Err(format!(
            "\"{word}\" behind the digits is no unit that is known; print a space before it, or none of it"
        )),
    }
}

/// "5s 300ms" is one time or two columns. Columns have decimals mostly: "1.21s 635.91ms".
fn refuse_next_part(
    is_whole: bool,
    unit: &str,
    rest: &str,
    marked: Option<Marked<'_>>,
) -> Result<(), String> {
    let is_other = unit::is_other_time(unit);
    let seconds = unit::seconds_of_part(unit).or(is_other.then_some(f64::INFINITY));
    let Some(seconds) = seconds.filter(|_| marked.is_none()) else { return Ok(()) };
    let next = &rest[JOINT.find(rest).map_or(0, |joint| joint.end())..];
    let goes_on = match part(next) {
        Some(next) => {
            let fits = is_whole && next.value * next.seconds < seconds;
            next.seconds < seconds && (next.is_whole || fits)
        }
        // "1h 30", "1 day, 0:00:05", "2 Stunden 30 Minuten".
        None => seconds >= 60.0 && next.starts_with(|c: char| c.is_ascii_digit()),
    };
    match goes_on {
        true => Err(format!("the time goes on, or another begins; {MARK}")),
        false => Ok(()),
    }
}

/// The word behind a number that has no unit.
fn word_after(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([' ', '\t', '(']);
    let word = unit::leading_word(rest);
    // Another number is no word.
    word.starts_with(|c: char| !c.is_ascii_digit()).then(|| word.to_owned())
}

/// The last unit that a label names in brackets: "latency (ms): ".
fn unit_in_brackets(label: &str) -> Option<Known> {
    let inner = label
        .rmatch_indices(['(', '['])
        .filter_map(|(at, _)| label[at + 1..].split_once([')', ']']))
        .map(|(inner, _)| inner.trim());
    inner.filter(|inner| !inner.is_empty()).find_map(unit::find_in_brackets)
}

/// Whether the expression states literally all of the word, or the sign, that is attached to the number.
fn is_named(rest: &str, marked: Option<Marked<'_>>) -> bool {
    let word = match unit::leading_word(rest) {
        "" => {
            rest.get(..1).filter(|_| !rest[1..].starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
        }
        word => word,
    };
    marked.is_some_and(|marked| marked.names(rest, word))
}

/// After a figure only a space, an end or punctuation may come, and no other digit.
fn refuse_continuation(rest: &str, marked: Option<Marked<'_>>) -> Result<(), String> {
    let mut letters = rest.chars();
    let Some(next) = letters.next() else { return Ok(()) };
    let has_digit = letters.next().is_some_and(|c| c.is_ascii_digit());
    let separates = match next {
        c if c.is_whitespace() => true,
        // The expression itself says that something else begins.
        '/' | '-' if marked.is_some_and(|marked| marked.is_followed_by_match) => true,
        ',' if marked.is_none() && has_digit => false,
        '-' | '–' | '+' | ':' | '.' | '\'' | '_' | '*' | '/' | '^' | '~' | '=' => !has_digit && next != '_',
        ',' | ';' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '<' | '>' | '|' | '#' | '&'
        | '`' | '±' | '…' => true,
        _ => false,
    };
    match separates {
        true => Ok(()),
        false if marked.is_some() => Err(format!(
            "what follows the number, \"{next}\", may belong to it; name the text behind the group, too, or print a space behind the number"
        )),
        false => Err(format!(
            "what follows the number, \"{next}\", may belong to it; {MARK}, or print a space behind it"
        )),
    }
}

/// One part of a time such as "2m30s".
struct Part {
    value: f64,
    seconds: f64,
    /// A unit of its last digit, in seconds.
    step: f64,
    is_whole: bool,
    length: usize,
}

fn part(text: &str) -> Option<Part> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = &text[digits..];
    let space = usize::from(unit.starts_with(' '));
    let letters = unit[space..].find(|c: char| !c.is_alphabetic()).map_or(unit.len(), |end| end + space);
    let seconds = unit::seconds_of_part(&unit[space..letters])?;
    let number = &text[..digits];
    let length = digits + letters;
    let step = step_of(number) * seconds;
    Some(Part { value: number.parse().ok()?, seconds, step, is_whole: !number.contains('.'), length })
}

/// A time of several parts, in descending units: "1h5m", "2m 30s", "1 min 30 s"; with the step of the last part, and the length.
/// None if there is only one part.
fn several_parts(line: &str) -> Result<Option<(f64, f64, usize)>, String> {
    let Some(mut last) = part(line) else { return Ok(None) };
    let (mut sum, mut length, mut parts) = (last.value * last.seconds, last.length, 1);
    loop {
        let rest = &line[length..];
        let is_attached = rest.starts_with(|c: char| c.is_ascii_digit());
        let spaced = rest.strip_prefix(' ').filter(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        let next = match (is_attached, spaced) {
            (true, _) => part(rest),
            // Columns of a table are no parts; those of times that people read begin with a minute or more.
            (false, Some(next)) if last.is_whole && (parts > 1 || last.seconds >= 60.0) => part(next),
            _ => None,
        };
        let fits = |next: &Part| {
            next.seconds < last.seconds && next.value * next.seconds < last.seconds && last.is_whole
        };
        match next.filter(fits) {
            Some(next) => {
                (sum, parts) = (sum + next.value * next.seconds, parts + 1);
                length += usize::from(!is_attached) + next.length;
                last = next;
            }
            None if is_attached => {
                return Err(format!("{}… is no time; print it in seconds", &line[..=length]));
            }
            None => return Ok((parts > 1).then_some((sum, last.step, length))),
        }
    }
}
