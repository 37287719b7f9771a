//! Shared by the tests of the engine.

pub mod child;
pub mod noise;
pub mod pages;
