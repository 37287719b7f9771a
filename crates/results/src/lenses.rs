//! What the lenses of the kernel's events saw: the fields `kernel`, `futex`, `off_cpu` and `thread_time`.

use serde::Deserialize;

/// One report of each lens.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct StoredLenses {
    /// Locks of the kernel.
    #[serde(default)]
    pub kernel: Option<StoredKernel>,
    /// Waits at futexes.
    #[serde(default)]
    pub futex: Option<StoredFutexes>,
    /// Time off the CPUs.
    #[serde(default)]
    pub off_cpu: Option<StoredOffCpu>,
    /// The total of all lenses, if there are several.
    #[serde(default)]
    pub thread_time: Option<StoredThreadTime>,
}

impl StoredLenses {
    /// Whether no lens has a report.
    pub fn is_empty(&self) -> bool {
        *self == StoredLenses::default()
    }
}

/// What to do next about a row: words, and a command that can be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StoredNext {
    /// In words.
    #[serde(default)]
    pub next: Option<String>,
    /// The command; none if unspin has none.
    #[serde(default)]
    pub command: Option<String>,
}

/// Locks of the kernel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredKernel {
    /// What waited: `command`, `process` or `system`.
    pub target: String,
    /// Records that the kernel could not pass on.
    pub lost_records: u64,
    /// Records that unspin could not parse.
    #[serde(default)]
    pub unreadable_records: u64,
    /// All locks together.
    pub total: StoredKernelRow,
    /// Most time lost first.
    pub locks: Vec<StoredKernelLock>,
}

/// Waits for a lock of the kernel. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredKernelRow {
    /// The lock's or the caller's name.
    pub name: String,
    /// Attempts that had to wait.
    pub waits: u64,
    /// Time spun.
    pub spin: f64,
    /// Time slept.
    pub sleep: f64,
    /// Time waited: the sum of both.
    pub lost: f64,
    /// Mean wait.
    pub wait_mean: f64,
    /// Longest wait.
    pub wait_max: f64,
}

/// A lock of the kernel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredKernelLock {
    /// Its waits.
    #[serde(flatten)]
    pub row: StoredKernelRow,
    /// `spinlock`, `mutex`, ….
    pub kind: String,
    /// By kind of use.
    pub uses: Vec<StoredKernelUse>,
    /// What to do next.
    #[serde(flatten)]
    pub next: StoredNext,
}

/// One kind of use.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredKernelUse {
    /// The kind.
    pub kind: String,
    /// Its waits.
    #[serde(flatten)]
    pub row: StoredKernelRow,
    /// By caller, most time lost first.
    pub callers: Vec<StoredKernelCaller>,
}

/// A function that waits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredKernelCaller {
    /// Its waits.
    #[serde(flatten)]
    pub row: StoredKernelRow,
    /// The stacks from the caller outwards, most time lost first.
    pub stacks: Vec<StoredStack>,
}

/// Waits with one stack.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredStack {
    /// Function and offset of each frame, innermost first.
    pub frames: Vec<String>,
    /// Number of waits.
    pub waits: u64,
    /// Time waited, in seconds.
    #[serde(alias = "lost")]
    pub waited: f64,
}

/// Waits at futexes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredFutexes {
    /// What waited: `command`, `process` or `system`.
    pub target: String,
    /// Records that the kernel could not pass on.
    pub lost_records: u64,
    /// Records that unspin could not parse.
    #[serde(default)]
    pub unreadable_records: u64,
    /// All futexes together.
    pub total: StoredFutexRow,
    /// Most time waited first.
    pub futexes: Vec<StoredFutex>,
}

/// Waits at a futex. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredFutexRow {
    /// The futex's or the caller's name.
    pub name: String,
    /// Number of waits.
    pub waits: u64,
    /// Of these, the woken ones.
    pub woken: u64,
    /// Of these, those that a timeout ended.
    pub timed_out: u64,
    /// Of the woken waits, those after which the thread waited there again at once.
    pub waited_again: u64,
    /// Time waited.
    pub waited: f64,
    /// Mean wait.
    pub wait_mean: f64,
    /// Longest wait.
    pub wait_max: f64,
}

/// A futex.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredFutex {
    /// Its waits.
    #[serde(flatten)]
    pub row: StoredFutexRow,
    /// The process's name; none if the futex is shared.
    pub process: Option<String>,
    /// By caller, most time waited first.
    pub callers: Vec<StoredFutexCaller>,
    /// What to do next.
    #[serde(flatten)]
    pub next: StoredNext,
}

/// A place that waits at a futex.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredFutexCaller {
    /// Its waits.
    #[serde(flatten)]
    pub row: StoredFutexRow,
    /// The stacks, innermost frame first.
    pub stacks: Vec<StoredStack>,
}

/// Time off the CPUs, in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredOffCpu {
    /// What the threads belong to: `command`, `process` or `system`.
    pub target: String,
    /// Records that the kernel could not pass on.
    pub lost_records: u64,
    /// Records that unspin could not parse.
    #[serde(default)]
    pub unreadable_records: u64,
    /// Threads that were seen.
    pub threads: u64,
    /// The time of all threads.
    pub thread_seconds: f64,
    /// The part on a CPU.
    pub on_cpu: f64,
    /// The part ready to run, without a CPU.
    pub runnable: f64,
    /// The part blocked.
    pub blocked: f64,
    /// The reasons. Their times add up to `blocked`.
    pub reasons: Vec<StoredBlockedReason>,
    /// What to do next about the time on CPUs.
    #[serde(default)]
    pub on_cpu_next: Option<StoredNext>,
    /// What to do next about the time without a CPU.
    #[serde(default)]
    pub runnable_next: Option<StoredNext>,
}

/// Why threads were blocked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredBlockedReason {
    /// `futex`, `kernel-lock`, `io`, ….
    pub reason: String,
    /// How often.
    pub count: u64,
    /// How long, in seconds.
    pub blocked: f64,
    /// The longest, in seconds.
    pub max: f64,
    /// By caller, most time first.
    pub callers: Vec<StoredBlockedCaller>,
    /// What to do next.
    #[serde(flatten)]
    pub next: StoredNext,
}

/// A place that blocks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredBlockedCaller {
    /// Its name.
    pub name: String,
    /// The system call; none if it is not known.
    pub system_call: Option<String>,
    /// How often.
    pub count: u64,
    /// How long, in seconds.
    pub blocked: f64,
    /// The longest, in seconds.
    pub max: f64,
    /// The stack, innermost frame first.
    pub frames: Vec<String>,
}

/// Where the threads' time went.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredThreadTime {
    /// The time of all threads; none without the off-cpu lens.
    pub thread_seconds: Option<f64>,
    /// The parts.
    pub parts: Vec<StoredTimePart>,
}

/// A part of the threads' time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredTimePart {
    /// What the threads did.
    pub name: String,
    /// Whether it is time spent for locks: `yes`, `no`, `unknown`.
    pub lock: String,
    /// Seconds.
    pub seconds: f64,
}
