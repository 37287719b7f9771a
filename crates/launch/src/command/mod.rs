//! What the commands of `unspin` and `unspin-lab` share: their lines, their main thread, and how one program finds the other.

pub mod ignored_signals;
pub mod lab;
pub mod line;
pub mod main_thread;
pub mod words;
