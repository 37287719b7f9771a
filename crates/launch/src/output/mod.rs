//! Where messages, reports and files go.

pub mod captured;
pub mod document;
pub mod outfile;
pub mod scratch;
pub mod shell;
pub mod stderr;
pub mod stdout;
pub mod trimmer;
