//! Which lock replaces which of a program's locks, and which of its waits poll before they sleep.
//!
//! ```text
//! --mutex KIND[@LOCK] ───┐
//! --rwlock, --spin ──────┤
//! --waits POLICY[@SITE] ─┼─► Plan ─► names become places ─► Compiled ─► UNSPIN_PLAN, which the preload library reads
//! --use-plan FILE ───────┘             │
//!   (PlanFile)                         └─ the program's files (closure, resolve), or a recording of it (observe)
//! ```
//!
//! There are two ways from a name to places, which are link-time addresses of a file:
//!
//! - `resolve` uses the files alone. It is the inverse of the meter's naming: each name that an address has leads back
//!   to the address (a test checks that). It cannot find plugins and stripped names.
//! - `unspin_observe::located` uses a recording, which has each lock's address, or the stack of its initialisation or
//!   first use. The chain of calls is cut at the frame that names the lock. So every lock that the meter names can be
//!   recognised again, and `unspin prove` uses this way.
//!
//! The *tally* of a run (`replacements`) says what the plan replaced, and why an entry replaced nothing.
//!
//! `unspin run` becomes the program, and the processes that the program starts read the compiled plan again. So it lies
//! in the cache folder, under the hash of its contents (`compiled`). A plan that is applied without unspin says in its file for which
//! builds it is (`deployed`).

mod choice;
mod closure;
mod code;
mod compiled;
pub mod deployed;
mod entry;
mod file;
pub mod kind;
mod located;
mod lock_name;
mod nearest;
mod place;
mod policy;
mod replacements;
mod resolve;
mod site;
mod site_name;
mod summary;
#[cfg(test)]
mod testing;
mod variable;
mod wait_choice;
mod wait_notice;
mod wakeup;

pub use choice::Choice;
pub use closure::Closure;
pub use compiled::Compiled;
pub use entry::{Entry, Plan, WaitEntry, Which};
pub use file::PlanFile;
pub use kind::{AnyKind, KindOfFamily};
pub use located::Located;
pub use lock_name::LockName;
pub use nearest::several as similar_names;
pub use place::{Address, By, Place, Span};
pub use policy::WaitPolicy;
pub use replacements::{NamesFrom, RunTally};
pub use resolve::Resolver;
pub use wait_choice::WaitChoice;
