//! Lenses: the waits that the kernel reports, beside those that the preload library sees.
//!
//! `unspin meter --lens pthread,futex,kernel,off-cpu` runs the program with the preload library and reads the kernel's events meanwhile
//! (`beside`). Without the pthread lens the program is not changed at all, and `run` is all there is.
//!
//! A lens is a folder and a row of `for_each_lens`. The folder has a `Collector`, which adds up the kernel's
//! events, and a `LensReport` with columns. What to do next about its rows is in `next/lens` of the crate `report`.
//! `lenses` and `reports` have all lenses of a session, `timeline` their waits with times (--firefox).

/// The table of the lenses that read the kernel's events: calls the macro `$then` with all rows. They are in the order in
/// which reports and tabs show them. Types are named as in the modules beside this one, which expand the table.
///
/// | column | meaning |
/// |---|---|
/// | documentation, variant, name | those of `Lens`. The help shows the documentation |
/// | `field` | the lens in JSON |
/// | `collector` | the type that adds up the kernel's events |
/// | `report` | the type of the report. Its function `new` makes it of the collector, the stacks, the names and the conditions; `timeline` makes the waits with names of the first three |
/// | `listed` | the position in the help, where the pthread lens is 0 |
macro_rules! for_each_lens {
    ($then:ident) => {
        $then! {
            /// Waits in futex(2) by any code, by the system call's tracepoints.
            Futex "futex" {
                field: futex, collector: super::futex::FutexLens, report: super::futex::FutexReport,
                listed: 2
            }
            /// The kernel's own locks, by its tracepoints.
            Kernel "kernel" {
                field: kernel, collector: super::kernel::KernelLens, report: super::kernel::KernelReport,
                listed: 1
            }
            /// Where the threads' time goes when they are not on a CPU, by context switches.
            OffCpu "off-cpu" {
                field: off_cpu, collector: super::off_cpu::OffCpuLens, report: super::off_cpu::OffCpuReport,
                listed: 3
            }
        }
    };
}
pub(crate) use for_each_lens;

mod futex;
mod kernel;
mod off_cpu;

pub mod beside;
mod callers;
mod collector;
mod conditions;
mod detail;
mod filters;
mod lens_report;
mod lenses;
pub mod live;
mod naming;
mod pthread_reach;
pub mod reports;
pub mod rows;
pub mod run;
mod section;
mod spaces;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod thread_time;
pub mod timeline;
