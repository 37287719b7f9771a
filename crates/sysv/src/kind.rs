//! The table of engines: one row for each.

use crate::rules::{Lookup, ObjectLock, Rules, SingleOp};
use core::fmt;
use core::str::FromStr;

/// Generates [`Kind`] from the table. A row has the engine's name, what the engine does in the words of `--help`, and the
/// [`Rules`] of an engine that keeps its objects in an arena. Its position is the engine's number in the arena's header
/// and in the C header, so a new row is the last.
macro_rules! engines {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $summary:literal, $rules:expr;)*) => {
        /// An engine.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All engines.
            pub const ALL: [Kind; [$($name),*].len()] = [$(Kind::$kind),*];

            /// The name that commands and the environment use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// What the engine does, as the help says it after the name.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Kind::$kind => $summary,)*
                }
            }

            /// The rules of an engine that keeps its objects in an arena. `None` for the kernel.
            pub(crate) const fn rules(self) -> Option<Rules> {
                match self {
                    $(Kind::$kind => $rules,)*
                }
            }
        }
    };
}

engines! {
    /// The running kernel's own System V IPC: the control.
    Kernel = "kernel", "passes every call to the kernel", None;

    /// One spin lock for all ids, held during every operation: the kernel before the patch of Morton 2002.
    Global = "global", "has one lock for all objects", Some(Rules {
        object_lock: ObjectLock::OneForAll,
        lookup: Lookup::Locked,
        single_op: SingleOp::Locked,
    });

    /// One lock for each id; ids are looked up under RCU. That is the patched kernel. In addition, simple operations
    /// take no lock.
    Rcu = "rcu", "has one lock for each object", Some(Rules {
        object_lock: ObjectLock::Own,
        lookup: Lookup::Rcu,
        single_op: SingleOp::CompareAndSwap,
    });
}

impl Kind {
    /// The engines that keep their objects in an arena: all but the kernel. `unspin prove` judges them.
    pub const IN_ARENAS: [Kind; Kind::count_in_arenas()] = {
        let mut kinds = [Kind::Kernel; Kind::count_in_arenas()];
        let (mut n, mut found) = (0, 0);
        while n < Kind::ALL.len() {
            if let Some(rules) = Kind::ALL[n].rules() {
                assert!(rules.agree(), "see `Rules::agree`");
                kinds[found] = Kind::ALL[n];
                found += 1;
            }
            n += 1;
        }
        kinds
    };

    const fn count_in_arenas() -> usize {
        let (mut n, mut found) = (0, 0);
        while n < Kind::ALL.len() {
            found += Kind::ALL[n].rules().is_some() as usize;
            n += 1;
        }
        found
    }

    /// The names of all engines, as a message lists them.
    pub fn choices() -> String {
        let names = Kind::ALL.map(Kind::name);
        let (last, others) = names.split_last().expect("there are engines");
        format!("{} or {last}", others.join(", "))
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
        write!(f, "unknown engine '{}': choose {}", self.0, Kind::choices())
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownKind(name.into()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn engines_are_known_by_name_and_number() {
        for kind in Kind::ALL {
            assert_eq!((kind.name().parse(), Kind::from_number(kind.number())), (Ok(kind), Some(kind)));
        }
        assert_eq!(
            "rcv".parse::<Kind>().unwrap_err().to_string(),
            "unknown engine 'rcv': choose kernel, global or rcu"
        );
    }
}
