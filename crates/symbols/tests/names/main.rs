//! Names of real programs, compared with their source.

mod back;
mod files;
mod noise;
mod own;
mod source;
mod support;
