//! Names of real programs, against their source.

mod back;
mod files;
mod noise;
mod own;
mod source;
mod support;
