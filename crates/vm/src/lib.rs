//! Runs a command line on another kernel: boots a kernel of Debian in qemu, with the command's programs in the initramfs, and
//! returns its output and exit code.
//!
//! | question | module |
//! |---|---|
//! | Which kernel, and where does its file come from? | [`kernel`] |
//! | What does the guest see as its files? | [`initramfs`] |
//! | How is qemu started, watched and ended? | [`machine`] |
//! | What does the first process of the guest do? | [`guest`] |
//!
//! The two sides exchange the lines of `status.rs`.
//!
//! ```
//! use unspin_vm::kernel::{Archive, Kernel};
//! use unspin_vm::machine::Machine;
//!
//! # fn boots() -> Result<(), unspin_launch::error::Error> {
//! let kernel = Kernel::find(&"cloud".parse()?, &Archive::default())?;
//! let ended = Machine::new(kernel).cpus(4).run(&["uname".into(), "-r".into()], None)?;
//! assert_eq!(ended.code, 0);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod machine;
mod status;
