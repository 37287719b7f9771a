use std::fmt;

/// The implementation that answers the System V calls of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum World {
    /// The kernel, without the preload.
    Bare,
    /// The kernel, behind the preload: the control.
    Kernel,
    /// One lock for everything.
    Global,
    /// A lock per set, found under RCU.
    Rcu,
}

impl World {
    /// Those with the preload.
    pub const PRELOADED: [World; 3] = [World::Kernel, World::Global, World::Rcu];
    /// Those whose objects live in an arena.
    pub const ENGINES: [World; 2] = [World::Global, World::Rcu];

    /// The value of `UNSPIN_SYSV`; `None` without the preload.
    pub fn engine(self) -> Option<&'static str> {
        match self {
            World::Bare => None,
            World::Kernel => Some("kernel"),
            World::Global => Some("global"),
            World::Rcu => Some("rcu"),
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.engine().unwrap_or("bare"))
    }
}
