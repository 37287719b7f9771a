//! Steven Rostedt, announcement of a Linux 2.6.24 real-time tree, linux-kernel, 19 May 2008: hackbench 50 on 4 CPUs.
//!
//! The report has no figure of a lock and no other number of CPUs, so no model of a lock predicts any of these.

/// CPUs of the machine.
pub const CPUS: u32 = 4;
/// Seconds of ten runs of the real-time kernel before the patches.
pub const BEFORE_S: [f64; 10] =
    [16.651, 16.773, 16.500, 17.437, 16.267, 18.296, 16.524, 17.452, 18.595, 18.357];
/// With lateral lock stealing.
pub const LATERAL_STEALING_S: [f64; 10] =
    [7.853, 8.219, 7.967, 8.118, 8.195, 8.349, 8.122, 8.146, 8.197, 8.026];
/// And with one exchange fewer.
pub const FEWER_EXCHANGES_S: [f64; 10] =
    [7.741, 8.007, 8.061, 8.080, 8.105, 8.223, 8.207, 8.220, 8.230, 8.214];
/// And with adaptive spinning.
pub const ADAPTIVE_S: [f64; 10] = [4.752, 4.830, 4.896, 4.858, 4.801, 4.885, 4.794, 4.883, 4.852, 4.911];
/// The kernel without the real-time patch.
pub const VANILLA_S: f64 = 3.9;
