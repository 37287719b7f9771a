//! Names for the addresses of a process that runs or has ended: for code, for static variables, and for the callers
//! found in a copied piece of a stack.
//!
//! The only input from the process is the text of its `/proc/PID/maps`, an [`AddressSpace`]. [`Symbols`] opens each
//! mapped file once and reads the parts that a query needs: symbol tables, DWARF, unwind tables, and the separate debug
//! files that a distribution installs. Nothing is guessed: for a file that is gone or was replaced since, the result is
//! `libfoo.so+0x1234`. Damaged input of any kind gives fewer results, never a panic.
//!
//! In the opposite direction, a [`File`] returns the addresses of its variables, functions and lines, whether or not it
//! runs.
//!
//! Not supported: thread-local variables (the maps do not show the block of a thread), debug information that
//! `-gsplit-dwarf` put into separate files (lines and symbols are found, inlined functions and members are not), and
//! names of code that was generated at run time.
//!
//! ```
//! use unspin_symbols::{AddressSpace, Symbols};
//!
//! fn here() -> u64 {
//!     here as fn() -> u64 as usize as u64 + 1 // any address within the function
//! }
//!
//! let space = AddressSpace::parse(&std::fs::read("/proc/self/maps").unwrap());
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

pub use file::{Code, File, StaticVariable};
pub use frame::{Frame, Location, SymbolKind, Variable};
pub use space::{AddressSpace, Module};
pub use symbols::Symbols;
pub use unwind::StackCopy;
