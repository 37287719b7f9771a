//! One record of the kernel.

use crate::stacks::StackId;

/// Number of values of a sample.
pub const VALUES: usize = 8;

/// A record of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The record's time, in nanoseconds of CLOCK_MONOTONIC.
    pub time: u64,
    /// The process; 0 in the kernel's idle thread.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What it reports.
    pub payload: Payload,
}

/// What a record reports; the names are those of perf_event_open(2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A sample.
    Sample(Sample),
    /// The thread has another name now; it has executed a program if `exec`.
    Comm {
        /// The name, at most 15 bytes.
        name: String,
        /// Whether execve(2) gave it.
        exec: bool,
    },
    /// The thread was created: a process if `pid` and `tid` are equal.
    Fork {
        /// The process that created it.
        parent: u32,
    },
    /// The thread has ended.
    Exit,
    /// The process has mapped code.
    Mmap(Mapping),
    /// The thread gets a CPU, or leaves it.
    Switch(Switch),
}

/// The direction of a context switch, as the thread of the record sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// The thread gets the CPU.
    In,
    /// The thread leaves the CPU.
    Out,
}

/// A sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The event: an index into [`Config::events`](crate::Config::events).
    pub event: usize,
    /// The CPU.
    pub cpu: u32,
    /// The program counter.
    pub ip: u64,
    /// Whether the program counter is the kernel's.
    pub in_kernel: bool,
    /// The fields of the tracepoint, in the order of [`Tracepoint::fields`](crate::Tracepoint::fields); else 0.
    pub values: [u64; VALUES],
    /// The stack.
    pub stack: StackId,
}

/// A mapped part of a file with code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The mapping's first address.
    pub start: u64,
    /// The mapping's length.
    pub length: u64,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// The file's device and inode.
    pub major: u32,
    /// See `major`.
    pub minor: u32,
    /// See `major`.
    pub inode: u64,
    /// The file, or a name such as `[vdso]`.
    pub path: Vec<u8>,
}

impl Mapping {
    /// As a line of `/proc/PID/maps`.
    pub fn line(&self) -> Vec<u8> {
        let Mapping { start, offset, major, minor, inode, .. } = self;
        let end = start.saturating_add(self.length);
        let mut line =
            format!("{start:x}-{end:x} r-xp {offset:08x} {major:02x}:{minor:02x} {inode} ").into_bytes();
        line.extend_from_slice(&self.path);
        line.push(b'\n');
        line
    }
}
