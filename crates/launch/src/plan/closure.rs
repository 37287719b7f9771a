//! The files that are loaded when a program starts.

use crate::library::environment;
use crate::program::Program;
use crate::program::reach;
use crate::program::system_code::is_library_of_system;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unspin_symbols::File;

/// A program, the libraries with which it is linked, and those that are preloaded, each as an open file. libc is left
/// out: it locks by other means, and defines what the others call.
pub struct Closure {
    /// The program as the user named it, and not the file to which a symbolic link leads; for a script its interpreter.
    pub program: PathBuf,
    /// The program first; for a script its interpreter. Empty if it cannot be read.
    pub files: Vec<File>,
    /// Whether the list is complete: no file is missing, and each can be read.
    pub is_complete: bool,
    /// The runtime libraries of its language, which lock on behalf of the program.
    pub runtime: Vec<File>,
}

impl Closure {
    /// Asks the program's own dynamic linker, which alone knows the search path. It lists the files and runs none of
    /// their code (`--list`, like ldd(1)).
    pub fn of(program: &Program) -> Closure {
        Closure::of_file(&reach::interpreter(&program.path))
    }

    /// The files that are loaded with a program or a library. It must be no script.
    pub fn of_file(path: &Path) -> Closure {
        let path = path.to_path_buf();
        let Some(file) = File::open(&path) else {
            return Closure { program: path, files: Vec::new(), is_complete: false, runtime: Vec::new() };
        };
        // A static program has no dynamic linker to ask. It has no libraries, but it may start any program.
        let listed = file.interpreter().and_then(|linker| list_libraries(&linker, file.path()));
        let paths = listed.as_deref().unwrap_or_default();
        let libraries: Vec<File> = paths.iter().filter_map(|library| File::open(library)).collect();
        let is_complete = listed.is_some() && libraries.len() == paths.len();
        let (runtime, libraries): (Vec<File>, Vec<File>) = libraries
            .into_iter()
            .filter(|file| !is_libc(file))
            .partition(|file| is_library_of_system(&file.name()));
        Closure { program: path, files: [file].into_iter().chain(libraries).collect(), is_complete, runtime }
    }

    /// `/usr/bin/x and its 3 libraries`
    pub fn describe(&self) -> String {
        let program = self.program.display().to_string();
        match self.files.len().saturating_sub(1) {
            0 => program,
            1 => format!("{program} and its library"),
            libraries => format!("{program} and its {libraries} libraries"),
        }
    }
}

fn is_libc(file: &File) -> bool {
    ["libc.so", "libc-", "libpthread", "ld-linux"].iter().any(|name| file.name().starts_with(name))
}

/// The paths of the loaded files; none if one is missing. `program` is the program's own path and not a link to it,
/// because `$ORIGIN` is the folder of that path.
fn list_libraries(linker: &Path, program: &Path) -> Option<Vec<PathBuf>> {
    let mut command = Command::new(linker);
    environment::clear(&mut command);
    command.arg("--list").arg(program).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = command.output().ok().filter(|listed| listed.status.success())?;
    Some(String::from_utf8_lossy(&listed.stdout).lines().filter_map(path_in).collect())
}

/// `libq.so => /usr/lib/libq.so (0x7f58bfd49000)`, `/lib64/ld-linux-x86-64.so.2 (0x7f58bfe00000)`, each after a tab.
fn path_in(line: &str) -> Option<PathBuf> {
    let (library, _) = line.trim_start().rsplit_once(" (0x")?;
    let path = library.split_once(" => ").map_or(library, |(_, path)| path);
    path.starts_with('/').then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_the_dynamic_linker_is_parsed() {
        let path = |line| path_in(line).map(|path| path.to_str().unwrap().to_owned());
        let cases = [
            ("\tlibq.so => /opt/a b (0x1)/libq.so (0x00007f58bfd49000)", Some("/opt/a b (0x1)/libq.so")),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f58bfe00000)", Some("/lib64/ld-linux-x86-64.so.2")),
            ("\tlinux-vdso.so.1 (0x00007ffe1e5f4000)", None),
            ("\tlibgone.so => not found", None),
            ("\tstatically linked", None),
        ];
        for (line, expected) in cases {
            assert_eq!(path(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn closure_of_this_program_contains_its_libraries() {
        let path = std::env::current_exe().unwrap();
        let program = Program::at(&path);
        let closure = Closure::of(&program);
        assert_eq!(closure.files[0].path(), path.canonicalize().unwrap());
        assert!(closure.runtime.iter().any(|file| file.name().starts_with("libgcc_s")));
        assert!(!closure.files.iter().any(is_libc));
    }
}
