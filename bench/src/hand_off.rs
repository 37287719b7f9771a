//! Hand-offs between sleeping processes, as `bench/c/handoff.c` makes them.

/// What the processes of `handoff.c` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandOff {
    /// How they wait.
    pub way: Way,
    /// Rings, or locks.
    pub groups: u32,
    /// Processes of each.
    pub processes: u32,
    /// Rounds of each ring's token.
    pub rounds: u32,
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// A post.
    Posts,
    /// A semaphore that becomes zero.
    Zero,
    /// The lock of the textbook.
    Lock,
    /// A message.
    Message,
    /// A futex, with nothing around the two system calls.
    Futex,
}

impl HandOff {
    /// The arguments of the program.
    pub fn words(&self) -> [String; 4] {
        let way = match self.way {
            Way::Posts => "posts",
            Way::Zero => "zero",
            Way::Lock => "lock",
            Way::Message => "message",
            Way::Futex => "futex",
        };
        [way.to_owned(), self.groups.to_string(), self.processes.to_string(), self.rounds.to_string()]
    }
}
