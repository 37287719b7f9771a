//! C programs, Python, servers and scripts on the kernel, and under the preload library.

mod bypass;
mod conformance;
mod life;
mod meter_programs;
mod names;
mod notices;
mod programs;
mod pthread;
mod pthread_counts;
mod pthread_life;
mod random_programs;
mod random_waits;
mod rules;
mod rwlocks;
mod signals;
mod spin;
mod swap;
mod system_calls;
mod sysv_apache;
mod sysv_fakeroot;
mod sysv_postgres;
mod sysv_scripts;
mod sysv_tools;
mod waits;
mod waits_policy;
