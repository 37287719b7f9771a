//! The waits of the lenses with their times, as a file for viewers of timelines: the processed format of the Firefox Profiler.
//!
//! A lens that is asked to (`Collector::keep_waits`) keeps its longest waits (`longest`); otherwise it only adds them up. `threads` has
//! the names of the threads that wait, `lens_timeline` the waits of a lens with names, `tracks` the waits by thread, `profile` converts them, `file` writes them
//! and says what the file lacks.

pub mod file;
pub mod lens_timeline;
pub mod longest;
mod profile;
#[cfg(test)]
pub mod testing;
pub mod threads;
pub mod track;
mod tracks;
