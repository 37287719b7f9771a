//! The name of a call site, as `unspin meter` prints it.

use super::lock_name::Line;
use std::fmt;

/// The call site of a wait.
///
/// | written | means |
/// |---|---|
/// | `worker_loop+0x2d` | the call with this return address: the meter's name of callers |
/// | `libq.so+0x1135` | the same in a file without symbols |
/// | `worker_loop` | every wait that this function calls |
/// | `queue.c:88` | every wait that this line calls |
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteName {
    text: String,
}

/// The parts of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteMeaning<'n> {
    /// A line of source.
    Line(Line<'n>),
    /// The return address of one call: an offset in a function or file.
    Call {
        /// The function, or the file.
        within: &'n str,
        /// The offset in bytes.
        offset: u64,
    },
    /// A function.
    Function(&'n str),
}

impl SiteName {
    /// A name; none if the text is empty. The meter prints the source line after the name, two columns apart: it is
    /// ignored.
    pub fn new(text: &str) -> Option<SiteName> {
        let text = text.trim();
        let text = text.split_once("  ").map_or(text, |(name, _)| name);
        (!text.is_empty()).then(|| SiteName { text: text.to_owned() })
    }

    /// As the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The parts.
    pub fn meaning(&self) -> SiteMeaning<'_> {
        if let Some(line) = Line::parse(&self.text) {
            return SiteMeaning::Line(line);
        }
        let call = self.text.rsplit_once("+0x").and_then(|(within, digits)| {
            Some(SiteMeaning::Call { within, offset: u64::from_str_radix(digits, 16).ok()? })
        });
        call.unwrap_or(SiteMeaning::Function(&self.text))
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_sites_printed_by_the_meter_are_parsed() {
        let cases = [
            ("uv__io_poll+0x1d2", SiteMeaning::Call { within: "uv__io_poll", offset: 0x1d2 }),
            ("uv__io_poll+0x1d2  linux.c:1386", SiteMeaning::Call { within: "uv__io_poll", offset: 0x1d2 }),
            ("libq.so+0x1135", SiteMeaning::Call { within: "libq.so", offset: 0x1135 }),
            ("Queue<int, long>::pop", SiteMeaning::Function("Queue<int, long>::pop")),
            ("queue.c:88", SiteMeaning::Line(Line { file: "queue.c", line: 88 })),
            ("a+0xyz", SiteMeaning::Function("a+0xyz")),
        ];
        for (text, meaning) in cases {
            assert_eq!(SiteName::new(text).unwrap().meaning(), meaning, "{text}");
        }
        assert_eq!(SiteName::new("  "), None);
    }
}
