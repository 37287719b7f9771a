//! Which lock replaces which of a program's mutexes, and which of its waits poll before they sleep.
//!
//! ```text
//! --mutex KIND[@LOCK] ───┐
//! --waits POLICY[@SITE] ─┼─► Plan ─► names become places ─► Compiled ─► UNSPIN_PLAN, which the preload library reads
//! --use-plan FILE ───────┘             │
//!   (PlanFile)                         └─ the program's files (closure, resolve), or a recording of it (located)
//! ```

mod choice;
mod closure;
mod code;
mod compiled;
mod entry;
mod file;
mod kind;
mod located;
mod lock_name;
mod nearest;
mod place;
mod policy;
mod resolve;
mod site;
mod site_name;
#[cfg(test)]
mod testing;
mod variable;
mod wait_choice;
mod wakeup;

pub use choice::Choice;
pub use compiled::Compiled;
pub use entry::{Entry, Plan, WaitEntry, Which};
pub use file::PlanFile;
pub use located::{Located, call_of};
pub use nearest::several as similar_names;
pub use place::{Place, Span};
pub use policy::WaitPolicy;
pub use wait_choice::WaitChoice;
