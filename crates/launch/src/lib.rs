//! How unspin starts a program under its preload library.
//!
//! | question | module |
//! |---|---|
//! | Which program does the command line name, and can the library reach it? | [`program`], [`run_queue_program`], [`reach`], [`runtime`] |
//! | What is replaced in it? | [`replace`], [`plan`], [`engine`], [`arena`], [`run_queue`] |
//! | How does the program learn that? | [`environment`] |
//! | Where is the library? | [`library`], [`cache`] |
//! | Which programs were executed, and which did the library reach? | [`programs_run`] |
//! | How does a command line name a time or an option? | [`command_line`] |
//! | What does the machine cost? | [`machine`], [`wakeup`] |
//! | Where do files and messages go? | [`scratch`], [`outfile`], [`output_file`], [`stdout`], [`stderr`], [`shell`] |
//!
//! [`error::Error`] is the error of every command of unspin, with its exit code.
//!
//! ```
//! use std::path::Path;
//! use unspin_launch::engine::Engine;
//! use unspin_launch::environment::Environment;
//! use unspin_launch::program::Program;
//!
//! let program = Program::at(Path::new("/bin/true"));
//! let mut command = program.command();
//! let library = Path::new("/cache/libunspin_preload.so");
//! let (arena, recording, plan, tally) = (None, None, None, None);
//! Environment { library, engine: Engine::Kernel, arena, recording, plan, tally }.apply(&mut command);
//! assert!(command.get_envs().any(|(name, _)| name == "LD_PRELOAD"));
//! ```
#![forbid(unsafe_code)]

pub mod arena;
pub mod cache;
pub mod command_line;
pub mod engine;
pub mod environment;
pub mod error;
pub mod ignored_signals;
pub mod lab;
pub mod library;
pub mod machine;
pub mod main_thread;
pub mod outfile;
pub mod output_file;
pub mod plan;
pub mod program;
pub mod programs_run;
pub mod reach;
pub mod replace;
pub mod run_queue;
pub mod run_queue_program;
pub mod runtime;
pub mod scratch;
pub mod shell;
pub mod stderr;
pub mod stdout;
pub mod system_code;
pub mod wait_notice;
pub mod wakeup;
pub mod workload;
