//! A *deployed* plan: a compiled plan that is applied without `unspin`, in a file that says for which builds of which files it is.
//!
//! ```text
//! unspin deployed plan 2 LENGTH CHECKSUM
//! library<tab>VERSION
//! program<tab>id:HEX|length:BYTES<tab>PATH
//! module<tab>id:HEX|length:BYTES<tab>PATH
//! entry<tab>LABEL
//! …
//! ```
//!
//! LENGTH, in decimal, and CHECKSUM, in hexadecimal, are of what follows the first line. `library` is the version of the
//! library that the plan is for, and stands first. The plan is in effect in the programs of its `program` lines and in no
//! other; both `program` and `module` name a file of the places. A file is recognised by its build id, wherever it lies; one
//! without a build id by its path and its length. The rules behind an `entry`, to the next, are what the user wrote in one
//! table of the plan file.

use super::{TITLE, Wrong, parse_decimal, split};
use core::fmt;

/// A file in one build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltFile<'text> {
    /// The absolute path.
    pub path: &'text [u8],
    /// The build.
    pub build: FileBuild<'text>,
}

/// What distinguishes a build of a file from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileBuild<'text> {
    /// The build id, in lower-case hexadecimal.
    Id(&'text [u8]),
    /// The file has no build id: its length in bytes.
    Length(u64),
}

impl FileBuild<'_> {
    /// Whether this is the build id of these bytes.
    pub fn is_id(&self, id: &[u8]) -> bool {
        let FileBuild::Id(digits) = self else { return false };
        let (pairs, rest) = digits.as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        rest.is_empty()
            && pairs.len() == id.len()
            && pairs.iter().zip(id).all(|(pair, &own)| byte(pair) == Some(own.into()))
    }
}

/// `id:3f2a…`, `length:81920`
impl fmt::Display for FileBuild<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileBuild::Id(id) => write!(f, "id:{}", String::from_utf8_lossy(id)),
            FileBuild::Length(bytes) => write!(f, "length:{bytes}"),
        }
    }
}

/// What follows the word and the tab.
impl fmt::Display for BuiltFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}", self.build, String::from_utf8_lossy(self.path))
    }
}

pub(super) fn parse_file(text: &[u8]) -> Option<BuiltFile<'_>> {
    let (build, path) = split(text, b'\t')?;
    let build = match split(build, b':')? {
        (b"id", id) if !id.is_empty() && id.iter().all(u8::is_ascii_hexdigit) => FileBuild::Id(id),
        (b"length", bytes) => FileBuild::Length(parse_decimal(bytes)?),
        _ => return None,
    };
    (path.first() == Some(&b'/')).then_some(BuiltFile { path, build })
}

/// The file of a deployed plan: the title in front of its other lines, each of which ends with a line break.
pub fn seal(lines: &str) -> String {
    format!("{DEPLOYED} {} {:016x}\n{lines}", lines.len(), checksum(lines.as_bytes()))
}

/// The beginning of the first line. No beginning of it is the first line of another plan, so a plan that was cut off is noticed.
const DEPLOYED: &str = "unspin deployed plan 2";

/// Whether a text begins as a deployed plan of this version does.
pub fn is_deployed(text: &[u8]) -> bool {
    text.starts_with(DEPLOYED.as_bytes())
}

/// Checks the first line against what follows it.
pub(super) fn check(title: &[u8], lines: &[u8]) -> Result<(), Wrong> {
    if title == TITLE.as_bytes() {
        return Ok(());
    }
    let rest = title.strip_prefix(DEPLOYED.as_bytes()).ok_or(Wrong::Title)?;
    let rest = rest.strip_prefix(b" ").ok_or(Wrong::Damaged)?;
    let (length, sum) = split(rest, b' ').ok_or(Wrong::Damaged)?;
    let sum = core::str::from_utf8(sum).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let is_whole = parse_decimal(length) == Some(lines.len() as u64) && sum == Some(checksum(lines));
    if is_whole { Ok(()) } else { Err(Wrong::Damaged) }
}

/// FNV-1a, of 64 bits (draft-eastlake-fnv): finds accidents, not forgery. A user who may write the file of a program's plan may
/// write the file of its library, too.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::super::{AnyKind, Line, parse};
    use super::*;

    type Kind = AnyKind<String, String, String>;

    fn lines(text: &[u8]) -> Result<Vec<Line<'_, Kind>>, Wrong> {
        let mut lines = Vec::new();
        parse(text, |line| {
            lines.push(line);
            true
        })?;
        Ok(lines)
    }

    fn text() -> String {
        let program = BuiltFile { path: b"/usr/bin/a b", build: FileBuild::Id(b"0aff") };
        let module = BuiltFile { path: b"/usr/lib/c.so", build: FileBuild::Length(81920) };
        let entry = "entry\tadaptive@q, static, q.c:3\nadaptive\tvariable\t4040-4068@/usr/bin/a b\n";
        seal(&format!("library\t0.1.0\nprogram\t{program}\nmodule\t{module}\n{entry}"))
    }

    #[test]
    fn deployed_plan_is_read_as_written() {
        let text = text();
        let lines = lines(text.as_bytes()).unwrap();
        let [
            Line::Library(version),
            Line::Program(program),
            Line::Module(module),
            Line::Entry(label),
            Line::Locks(..),
        ] = lines[..]
        else {
            panic!("{lines:?}")
        };
        assert_eq!((version, label), (&b"0.1.0"[..], &b"adaptive@q, static, q.c:3"[..]));
        assert_eq!((program.path, module.build), (&b"/usr/bin/a b"[..], FileBuild::Length(81920)));
        assert!(
            program.build.is_id(&[0x0a, 0xff]) && !program.build.is_id(&[0x0a]) && !module.build.is_id(&[])
        );
        assert!(is_deployed(text.as_bytes()) && !is_deployed(b"unspin plan 2\n"));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let text = text();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert!(lines(&changed).is_err(), "byte {at}");
            assert!(lines(&text.as_bytes()[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(lines(format!("{text}\n").as_bytes()), Err(Wrong::Damaged));
        assert_eq!(lines(text.replacen("plan 2", "plan", 1).as_bytes()), Err(Wrong::Title));
        assert_eq!(lines(&[0; 4096]), Err(Wrong::Title));
    }

    proptest::proptest! {
        /// The checksum keeps accidents out, and not what is written on purpose.
        #[test]
        fn lines_of_any_content_are_parsed_or_refused(
            lines in proptest::collection::vec((0..9usize, proptest::collection::vec("[ -~]{0,12}", 0..4)), 0..8)
        ) {
            const WORDS: [&str; 9] = ["library", "program", "module", "entry", "wakeup", "waits", "poll", "rwlock", "fair"];
            let text: String = lines.iter().map(|(word, rest)| format!("{}\t{}\n", WORDS[*word], rest.join("\t"))).collect();
            let sealed = seal(&text);
            match super::tests::lines(sealed.as_bytes()) {
                Ok(read) => assert!(read.len() <= lines.len()),
                Err(wrong) => assert!(matches!(wrong, Wrong::Line(_)), "{wrong:?}"),
            }
        }
    }

    #[test]
    fn file_without_build_or_path_is_refused() {
        for line in ["id:0aff", "id:\t/a", "id:xy\t/a", "length:-1\t/a", "crc:1\t/a", "id:0aff\ta", ""] {
            assert_eq!(lines(seal(&format!("program\t{line}\n")).as_bytes()), Err(Wrong::Line(2)), "{line}");
        }
    }
}
