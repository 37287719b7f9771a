//! Names for the addresses of a process that runs or has ended: of code, of static variables, and of the callers that a
//! copied piece of a stack holds.
//!
//! All that is asked of the process is the text of its `/proc/PID/maps`, a [`Space`]. [`Symbols`] opens the files that
//! are mapped there, once each, and reads of them what a question needs: symbol tables, DWARF, unwind tables, and the
//! separate debug files that a distribution installs. What cannot be known is said, never guessed: a file that is gone
//! or was replaced since gives `libfoo.so+0x1234`, and damaged input of any kind gives less, not a panic.
//!
//! The other way round, a [`File`] tells where its variables, functions and lines lie, whether or not it runs.
//!
//! Not found are variables of single threads (where a thread has its block is not in the text), what `-gsplit-dwarf` put
//! into files of its own (lines and symbols are there, inlined functions and members are not), and names of code that
//! was made at run time.
//!
//! ```
//! use unspin_symbols::{Space, Symbols};
//!
//! fn here() -> u64 {
//!     here as fn() -> u64 as usize as u64 + 1 // any address within the function
//! }
//!
//! let space = Space::parse(&std::fs::read("/proc/self/maps").unwrap());
//! let frames = Symbols::new().code(&space, here());
//! assert!(frames.last().unwrap().short.ends_with("here"));
//! ```
#![forbid(unsafe_code)]

mod binary;
mod calls;
mod debug;
mod die;
mod dwarf;
mod elf;
mod file;
mod frame;
mod functions;
mod lines;
mod member;
mod name;
mod scope;
mod space;
mod statics;
mod symbols;
mod table;
mod unwind;

pub use file::{Code, File, Static};
pub use frame::{Frame, Kind, Location, Variable};
pub use space::{Module, Space};
pub use symbols::Symbols;
pub use unwind::Stack;
