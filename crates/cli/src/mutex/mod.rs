//! Which lock stands in for which of a program's mutexes.
//!
//! ```text
//! --mutex KIND[@LOCK] ─┐
//!                      ├─► Plan ─► names become places ─► Compiled ─► UNSPIN_MUTEXES, which the preload library reads
//! --mutex-plan FILE ───┘             │
//!   (PlanFile)                       └─ the program's files (closure, resolve), or a recording of it (located)
//! ```

mod choice;
mod closure;
mod code;
mod compiled;
mod file;
mod kind;
mod located;
mod lock_name;
mod nearest;
mod place;
mod plan;
mod resolve;
#[cfg(test)]
mod testing;
mod variable;

pub use choice::Choice;
pub use compiled::Compiled;
pub use file::PlanFile;
pub use kind::parse as parse_kind;
pub use located::Located;
pub use lock_name::LockName;
pub use place::{By, Place, Span};
pub use plan::{Entry, Plan, Waits, Which};
pub use unspin_locks::Kind;
