//! Recovery from the death of threads and processes, and from damage to an arena.

pub mod damage;
mod participant_life;
pub(crate) mod process;
pub(crate) mod process_table;
pub(crate) mod sweep;
