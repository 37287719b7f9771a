//! The answers.

use std::fmt;

/// A function that an address of code lies in, or that was inlined there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, demangled, with the parameters of C++ functions, without the hashes of Rust. Where it is unknown, the
    /// file and the offset within: `libfoo.so+0x1234`; where even that is unknown, the address.
    pub function: String,
    /// The name without parameters, return type, and the marks of compilers (`.part.0`, `.cold`).
    pub short: String,
    /// Bytes from the start of the function that the *machine code* belongs to, which for an inlined frame is the
    /// last of its chain: the `0x70` of `symbol+0x70`. For a function without a name, from the start of the file.
    pub offset: u64,
    /// The line, or for all but the innermost frame, the line of the call.
    pub location: Option<Location>,
    /// The name of the file that holds the code, without its folder; empty if the address lies in none.
    pub module: String,
    /// How its name was found.
    pub kind: Kind,
}

/// Where a frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function with machine code of its own.
    Function,
    /// One that the compiler put into the next frame.
    Inlined,
    /// Code of which no name is known.
    Unknown,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The path, as far as the compiler wrote it down.
    pub file: String,
    /// Counted from one; zero where the compiler made code that belongs to no line.
    pub line: u32,
}

/// A static variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, demangled; one within a function is named after it: `function::variable`.
    pub name: String,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes, of the whole variable.
    pub size: u64,
    /// The part of it that lies there, as one would write it in the source, such as `[3].lock`; empty if it is the
    /// whole, or if no debug information tells.
    pub member: String,
    /// Where it is declared.
    pub location: Option<Location>,
    /// The name of the file that holds it, without its folder.
    pub module: String,
}

impl Frame {
    /// `symbol+0x70`, as Lockmeter writes it. Of an inlined function only the name.
    pub fn with_offset(&self) -> String {
        match self.kind {
            Kind::Function => format!("{}+{:#x}", self.short, self.offset),
            Kind::Inlined | Kind::Unknown => self.short.clone(),
        }
    }
}

/// `Queue::push (queue.cc:31)`
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short)?;
        self.location.as_ref().map_or(Ok(()), |location| write!(f, " ({location})"))
    }
}

/// `queue.c:31`, or `queue.c` for what belongs to no line.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        match self.line {
            0 => f.write_str(name),
            line => write!(f, "{name}:{line}"),
        }
    }
}

/// `pool[3].lock (pool.c:12)`, or `pool+0x78` where the parts are unknown.
impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.member)?;
        if self.member.is_empty() && self.offset > 0 {
            write!(f, "+{:#x}", self.offset)?;
        }
        self.location.as_ref().map_or(Ok(()), |location| write!(f, " ({location})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_they_are_printed() {
        let location = Location { file: "/src/app/queue.c".into(), line: 31 };
        assert_eq!(location.to_string(), "queue.c:31");
        assert_eq!(Location { line: 0, ..location.clone() }.to_string(), "queue.c");
        let mut frame = Frame {
            function: "push(int)".into(),
            short: "push".into(),
            offset: 0x70,
            location: Some(location.clone()),
            module: "app".into(),
            kind: Kind::Function,
        };
        assert_eq!(frame.to_string(), "push (queue.c:31)");
        assert_eq!(frame.with_offset(), "push+0x70");
        frame.kind = Kind::Inlined;
        assert_eq!(frame.with_offset(), "push");
        let mut variable = Variable {
            name: "pool".into(),
            offset: 0x78,
            size: 400,
            member: String::new(),
            location: Some(location),
            module: "app".into(),
        };
        assert_eq!(variable.to_string(), "pool+0x78 (queue.c:31)");
        variable.member = "[3].lock".into();
        assert_eq!(variable.to_string(), "pool[3].lock (queue.c:31)");
    }
}
