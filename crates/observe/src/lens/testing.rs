//! Reports for tests of what shows them.

use super::reports::Reports;
use super::{futex, kernel, off_cpu};

/// Waits for locks of the kernel.
pub fn kernel() -> Reports {
    Reports { kernel: Some(kernel::testing::example()), ..Reports::default() }
}

/// Waits at futexes.
pub fn futex() -> Reports {
    Reports { futex: Some(futex::testing::example()), ..Reports::default() }
}

/// A thread's time.
pub fn off_cpu() -> Reports {
    Reports { off_cpu: Some(off_cpu::testing::example()), ..Reports::default() }
}
