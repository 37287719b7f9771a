//! Recordings and the reports on them.

mod document;
mod files;
mod kinds;
mod pprof;
mod printf;
mod recording;
mod report;
mod waits;
