//! Recordings.

mod recording;
