//! Names of real programs, against their source.

mod files;
mod source;
mod support;
