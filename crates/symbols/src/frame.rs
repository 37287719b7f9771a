//! The results of queries.

use std::fmt;

/// A function that contains an address of code, or that was inlined there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The demangled name, with the parameters of C++ functions, without the hashes of Rust. If it is unknown, the file
    /// and the offset in it: `libfoo.so+0x1234`; if the file is unknown too, the address.
    pub function: String,
    /// The name without parameters, return type, and compiler suffixes (`.part.0`, `.cold`).
    pub short: String,
    /// Offset in bytes from the start of the function that has the *machine code*; for an inlined frame that is the
    /// last one of its chain. It is the `0x70` of `symbol+0x70`. For a function without a name, from the start of the
    /// file.
    pub offset: u64,
    /// The line; for all frames except the innermost, the line of the call.
    pub location: Option<Location>,
    /// The file name of the module that holds the code, without its folder; empty if the address lies in no file.
    pub module: String,
    /// How the name was found.
    pub kind: SymbolKind,
}

/// The origin of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function with its own machine code.
    Function,
    /// A function that the compiler inlined into the next frame.
    Inlined,
    /// Code without a known name.
    Unknown,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The path, as the compiler recorded it.
    pub file: String,
    /// Counted from one; zero if the code belongs to no line.
    pub line: u32,
}

/// A static variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The demangled name. A variable within a function is prefixed with the function: `function::variable`.
    pub name: String,
    /// Offset in bytes from its start.
    pub offset: u64,
    /// Size of the whole variable in bytes.
    pub size: u64,
    /// The part at that offset, as written in source code, such as `[3].lock`. Empty if it is the whole variable, or if
    /// there is no debug information.
    pub member: String,
    /// Where the variable is declared.
    pub location: Option<Location>,
    /// The file name of the module that holds it, without its folder.
    pub module: String,
}

impl Frame {
    /// `symbol+0x70`, as in Lockmeter's output. For an inlined function only the name.
    pub fn with_offset(&self) -> String {
        match self.kind {
            SymbolKind::Function => format!("{}+{:#x}", self.short, self.offset),
            SymbolKind::Inlined | SymbolKind::Unknown => self.short.clone(),
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

/// `queue.c:31`, or `queue.c` if the line is unknown.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        match self.line {
            0 => f.write_str(name),
            line => write!(f, "{name}:{line}"),
        }
    }
}

/// `pool[3].lock (pool.c:12)`, or `pool+0x78` if the parts are unknown.
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
    fn display_forms() {
        let location = Location { file: "/src/app/queue.c".into(), line: 31 };
        assert_eq!(location.to_string(), "queue.c:31");
        assert_eq!(Location { line: 0, ..location.clone() }.to_string(), "queue.c");
        let mut frame = Frame {
            function: "push(int)".into(),
            short: "push".into(),
            offset: 0x70,
            location: Some(location.clone()),
            module: "app".into(),
            kind: SymbolKind::Function,
        };
        assert_eq!(frame.to_string(), "push (queue.c:31)");
        assert_eq!(frame.with_offset(), "push+0x70");
        frame.kind = SymbolKind::Inlined;
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
