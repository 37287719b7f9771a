use std::fmt;
use unspin_sysv::Kind;

/// The implementation that answers the System V calls of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum World {
    /// The kernel, without the preload.
    Bare,
    /// The kernel, behind the preload: the control.
    Kernel,
    /// An engine whose objects live in an arena.
    Engine(Kind),
}

impl World {
    /// All of them.
    pub const ALL: [World; Kind::IN_ARENAS.len() + 2] = last();
    /// Those with the preload.
    pub const PRELOADED: [World; Kind::IN_ARENAS.len() + 1] = last();
    /// Those whose objects live in an arena.
    pub const ENGINES: [World; Kind::IN_ARENAS.len()] = last();
    /// The engine that stands for all where one is enough.
    pub const RCU: World = World::Engine(Kind::Rcu);

    /// The value of `UNSPIN_SYSV`; `None` without the preload.
    pub fn engine(self) -> Option<&'static str> {
        match self {
            World::Bare => None,
            World::Kernel => Some("kernel"),
            World::Engine(kind) => Some(kind.name()),
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.engine().unwrap_or("bare"))
    }
}

/// The last of all worlds.
const fn last<const COUNT: usize>() -> [World; COUNT] {
    let mut worlds = [World::Bare; COUNT];
    let mut n = 0;
    while n < COUNT {
        worlds[n] = match Kind::IN_ARENAS.len() + 2 - COUNT + n {
            0 => World::Bare,
            1 => World::Kernel,
            engine => World::Engine(Kind::IN_ARENAS[engine - 2]),
        };
        n += 1;
    }
    worlds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_are_in_order() {
        assert_eq!(World::ALL[..2], [World::Bare, World::Kernel]);
        assert_eq!((&World::ALL[1..], &World::ALL[2..]), (&World::PRELOADED[..], &World::ENGINES[..]));
        assert_eq!(World::ENGINES, Kind::IN_ARENAS.map(World::Engine));
    }
}
