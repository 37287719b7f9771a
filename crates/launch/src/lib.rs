//! How unspin starts a program under its preload library.
//!
//! | question | module |
//! |---|---|
//! | Which program does the command line name, what does it run, and can the library reach that? | [`program`] |
//! | What is replaced in it? | [`replace`]; for mutexes and waits the [`plan`] |
//! | Where is the library, and how does it learn that? | [`library`] |
//! | Which scheduler of the kernel schedules it? | [`scheduler`] |
//! | What does the machine cost? | [`machine`] |
//! | Where do files and messages go? | [`output`] |
//! | What do `unspin` and `unspin-lab` share? | [`command`] |
//!
//! [`error::Error`] is the error of every command of unspin, with its exit code.
//!
//! ```
//! use std::path::Path;
//! use unspin_launch::library::environment::Environment;
//! use unspin_launch::program::Program;
//! use unspin_launch::replace::engine::Engine;
//!
//! let program = Program::at(Path::new("/bin/true"));
//! let mut command = program.command();
//! let library = Path::new("/cache/libunspin_preload.so");
//! let (arena, recording, plan, tally, looks) = (None, None, None, None, None);
//! Environment { library, engine: Engine::Kernel, arena, recording, plan, tally, looks }.apply(&mut command);
//! assert!(command.get_envs().any(|(name, _)| name == "LD_PRELOAD"));
//! ```
#![forbid(unsafe_code)]

pub mod command;
pub mod error;
pub mod library;
pub mod machine;
pub mod output;
pub mod plan;
pub mod program;
pub mod replace;
pub mod scheduler;
