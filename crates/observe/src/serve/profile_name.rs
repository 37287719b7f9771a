//! The profiles that are served.

/// A profile of `/debug/pprof/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileName {
    /// The waits by the threads that waited.
    Block,
    /// The waits by the threads that made others wait.
    Mutex,
}

impl ProfileName {
    /// All, in the order of the index.
    pub const ALL: [ProfileName; 2] = [ProfileName::Block, ProfileName::Mutex];

    /// The name in the path.
    pub fn name(self) -> &'static str {
        match self {
            ProfileName::Block => "block",
            ProfileName::Mutex => "mutex",
        }
    }

    /// What it has, for the index.
    pub fn meaning(self) -> &'static str {
        match self {
            ProfileName::Block => {
                "Waiters: where threads waited for locks, conditions, barriers, semaphores and ends of threads. \
                 ?seconds=N for the next N seconds."
            }
            ProfileName::Mutex => {
                "Holders: where the threads had locked what others waited for. ?seconds=N for the next N seconds."
            }
        }
    }

    /// The heading of Go's text form.
    pub fn heading(self) -> &'static str {
        match self {
            ProfileName::Block => "--- contention:",
            ProfileName::Mutex => "--- mutex:",
        }
    }
}
