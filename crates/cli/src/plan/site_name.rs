//! The name of a call site, as `unspin meter` prints it.

use super::lock_name::Line;
use std::fmt;

/// Where in the program a wait is called.
///
/// | written | means |
/// |---|---|
/// | `worker_loop+0x2d` | the call that returns there: so the meter names callers |
/// | `libq.so+0x1135` | the same in a file without names |
/// | `worker_loop` | every wait that this function calls |
/// | `queue.c:88` | every wait that is called in this line |
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteName {
    text: String,
}

/// What a name says, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteMeaning<'n> {
    /// A line of source.
    Line(Line<'n>),
    /// The return address of one call: so many bytes into a function, or into a file.
    Call {
        /// The function, or the file.
        within: &'n str,
        /// Bytes from its beginning.
        offset: u64,
    },
    /// A function.
    Function(&'n str),
}

impl SiteName {
    /// A name; none if there is nothing in it. The meter prints the line of source behind the name, two columns apart: that is
    /// left out.
    pub fn new(text: &str) -> Option<SiteName> {
        let text = text.trim();
        let text = text.split_once("  ").map_or(text, |(name, _)| name);
        (!text.is_empty()).then(|| SiteName { text: text.to_owned() })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What it says.
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
    fn names_of_the_meter_are_understood() {
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
