//! Andrew Morton, "PATCH: use RCU for IPC locking", Linux 2.5.46, November 2002: DBT1 by Cliff White on 2 CPUs.
//!
//! The report has no figure of a lock, so no model of a lock predicts any of these.

/// CPUs of the machine.
pub const CPUS: u32 = 2;
/// Mean of 5 runs in transactions a second, 2.5.42-mm2 without and with the patch.
pub const MEAN: [f64; 2] = [85.0, 89.8];
/// Standard deviation of 5 runs.
pub const DEVIATION: [f64; 2] = [7.4, 1.0];
/// Mean of the best 4 runs.
pub const MEAN_OF_BEST_4: [f64; 2] = [88.15, 90.2];
/// Standard deviation of the best 4 runs.
pub const DEVIATION_OF_BEST_4: [f64; 2] = [2.8, 0.5];
