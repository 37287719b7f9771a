//! What attaches segments. A program of its own, because the tests of the other one fork: a child has its parent's segments attached
//! too, which counts, and keeps what is removed.

#[path = "../suite/common/noise.rs"]
mod noise;
#[path = "../suite/common/pages.rs"]
mod pages;
mod shm;
mod typed;
