//! Kernels: by which name, from which file.

mod archive;
mod cached;
mod image;
pub mod modules;
mod name;
mod packages;
mod release;

pub use archive::Archive;
pub use name::KernelName;
pub use release::{Flavour, Release};

use std::path::{Path, PathBuf};
use unspin_launch::error::Error;

/// A kernel that can be booted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// Its file.
    pub image: PathBuf,
    /// The files of the modules that the guest loads, in this order.
    pub modules: Vec<PathBuf>,
}

impl Kernel {
    /// Finds a kernel. One that is neither a file nor in the cache is taken from the archive.
    pub fn find(name: &KernelName, archive: &Archive) -> Result<Kernel, Error> {
        if let KernelName::File(file) = name {
            return Kernel::in_file(file);
        }
        let folder = match cached::find(name)? {
            Some(folder) => folder,
            None => archive.fetch(name)?,
        };
        let image = folder.join(cached::IMAGE);
        Ok(Kernel { release: image::release(&image)?, modules: modules::needed(&folder), image })
    }

    fn in_file(file: &Path) -> Result<Kernel, Error> {
        let release = image::release(file)?;
        // Beside the file, as the cache has them, or where the kernel's packages install them.
        let beside = file.parent().unwrap_or(Path::new(".")).to_path_buf();
        let installed = Path::new("/lib/modules").join(&release);
        let folder = [beside, installed].into_iter().find(|folder| folder.join("kernel").is_dir());
        let modules = folder.map(|folder| modules::needed(&folder)).unwrap_or_default();
        Ok(Kernel { release, image: file.to_path_buf(), modules })
    }
}
