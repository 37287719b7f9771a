//! The engines and their names.

use core::fmt;
use core::str::FromStr;

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The running kernel's own System V IPC: the control.
    Kernel,
    /// One spin lock for all ids, held during every operation: the kernel before the patch of Morton 2002.
    Global,
    /// One lock for each id; ids are looked up under RCU. That is the patched kernel. In addition, simple operations
    /// take no lock.
    Rcu,
}

impl Kind {
    /// All engines.
    pub const ALL: [Kind; 3] = [Kind::Kernel, Kind::Global, Kind::Rcu];

    /// The name that commands and the environment use.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Global => "global",
            Kind::Rcu => "rcu",
        }
    }

    pub(crate) fn number(self) -> u32 {
        self as u32
    }

    pub(crate) fn from_number(n: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == n)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not the name of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownKind(pub String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown engine '{}': choose kernel, global or rcu", self.0)
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownKind(name.into()))
    }
}
