//! Recordings and the reports on them.

mod causes;
mod document;
mod files;
mod kinds;
mod pprof;
mod printf;
mod report;
mod second_tables;
mod waits;
