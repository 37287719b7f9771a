//! The guest's files: the initramfs, which the kernel unpacks into memory before it starts the first process.
//!
//! It has the first process, the command's programs with their libraries, the files that were asked for, and nothing else of the
//! host. Programs lie in the guest where they lie on the host.

mod archive;
mod closure;
mod command;
mod elf;
mod folder;
mod libraries;
mod tree;

pub(crate) use archive::Initramfs;
pub use command::GuestCommand;

use crate::kernel::Kernel;
use closure::{Closure, Needs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tree::Tree;
use unspin_launch::error::Error;

/// The file of the command line in the guest.
pub(crate) const COMMAND: &str = "/unspin-vm/command";
/// The folder of the modules in the guest, whose names tell the order in which they are loaded.
pub(crate) const MODULES: &str = "/unspin-vm/modules";

/// A file or folder of the host that the guest gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestFile {
    /// Its path on the host.
    pub host: PathBuf,
    /// Its path in the guest, from the root.
    pub guest: PathBuf,
}

impl FromStr for GuestFile {
    type Err = Error;

    /// `HOST[:GUEST]`.
    fn from_str(text: &str) -> Result<GuestFile, Error> {
        let refuse = |why: &str| Error::Usage(format!("--file {text}: {why}"));
        let (host, guest) = text.split_once(':').unwrap_or((text, ""));
        let absolute = std::path::absolute(host).map_err(|error| refuse(&error.to_string()))?;
        let guest = if guest.is_empty() { absolute.clone() } else { guest.into() };
        if !guest.is_absolute() {
            return Err(refuse("the path in the guest must begin with a slash: HOST:/PATH"));
        }
        match absolute.metadata() {
            Ok(about) if about.is_file() || about.is_dir() => {}
            Ok(_) => return Err(refuse("is neither a file nor a folder")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(refuse(&format!("there is no file {host}")));
            }
            Err(error) => return Err(refuse(&error.to_string())),
        }
        Ok(GuestFile { host: absolute, guest })
    }
}

/// Makes the initramfs for a command. `init` is the program that becomes the first process.
pub(crate) fn make(
    kernel: &Kernel,
    init: &Path,
    command: &GuestCommand,
    files: &[GuestFile],
) -> Result<Initramfs, Error> {
    let mut tree = Tree::with_system();
    tree.add_bytes(Path::new(COMMAND), command.encode());
    for (order, module) in kernel.modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        tree.add_file(&Path::new(MODULES).join(format!("{order}-{name}")), module);
    }
    let mut closure = Closure::new(&mut tree);
    let init = std::fs::canonicalize(init).map_err(|error| archive::unreadable(init, error))?;
    closure.add_command(&init)?;
    closure.add_command(&command.program)?;
    if let Some(scheduler) = &command.scheduler {
        closure.add_command(Path::new(&scheduler.words[0]))?;
    }
    for program in &command.programs {
        closure.add_program(program, Needs::IfThere)?;
    }
    for file in files {
        closure.add(&file.host, &file.guest)?;
    }
    // For the libraries of folders that only the configuration of the dynamic linker names.
    if Path::new(libraries::CACHE).is_file() {
        tree.add_file(Path::new(libraries::CACHE), Path::new(libraries::CACHE));
    }
    for (link, target) in &command.links {
        tree.add_link(link, target);
    }
    tree.add_link(Path::new("/init"), &init);
    tree.add_folder(&command.folder);
    archive::write(&tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_the_guest_is_named_with_or_without_its_path_there() {
        let file = |text: &str| text.parse::<GuestFile>();
        assert_eq!(file("/etc/passwd").unwrap().guest, Path::new("/etc/passwd"));
        assert_eq!(file("/etc/passwd:/x").unwrap().guest, Path::new("/x"));
        assert!(file("/dev/null").unwrap_err().to_string().ends_with("is neither a file nor a folder"));
        assert!(file("/etc/passwd:x").unwrap_err().to_string().contains("must begin with a slash"));
        let absent = file("/no/such/file").unwrap_err();
        assert_eq!(absent.to_string(), "--file /no/such/file: there is no file /no/such/file");
    }
}
