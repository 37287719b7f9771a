//! What a program needs beside its own file: its libraries, its dynamic linker, its interpreter.

use super::archive::unreadable;
use super::elf::ElfFile;
use super::folder::{Entry, entries_below};
use super::libraries::Search;
use super::tree::Tree;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::program::reach;
use unspin_sys::regular::{self, Links};

/// Adds files to a tree, with all that they need.
pub(super) struct Closure<'t> {
    tree: &'t mut Tree,
    search: Search,
    /// Files of the host whose needs have been added, and what it meant where one was not there.
    seen: HashMap<PathBuf, Needs>,
}

/// What it means if something that a file needs is not there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Needs {
    /// Nothing: it may be executed or not.
    IfThere,
    /// Nothing is booted: the file is to be executed.
    Required,
}

impl<'t> Closure<'t> {
    /// Adds to this tree.
    pub fn new(tree: &'t mut Tree) -> Closure<'t> {
        Closure { tree, search: Search::new(), seen: HashMap::new() }
    }

    /// Adds a program that is to be executed.
    pub fn add_command(&mut self, program: &Path) -> Result<(), Error> {
        if let ElfFile::Unusable = ElfFile::read(program) {
            return Err(Error::CannotRun(format!(
                "{}: is damaged, or for another processor: the virtual machine has one of x86-64",
                program.display()
            )));
        }
        self.add_program(program, Needs::Required)
    }

    /// Adds a program at its own path. If that is a symbolic link, it stays one: programs look for files beside their target.
    pub fn add_program(&mut self, program: &Path, needs: Needs) -> Result<(), Error> {
        let path = std::path::absolute(program).map_err(|error| unreadable(program, error))?;
        self.add_file(program, &path, needs)
    }

    /// Adds a file of the host, or a folder with all that is below it, at a path of the guest.
    pub fn add(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        if !host.is_dir() {
            let needs = if reach::is_executable(host) { Needs::Required } else { Needs::IfThere };
            return self.add_file(host, guest, needs);
        }
        self.tree.add_folder(guest);
        for (path, entry) in entries_below(host).map_err(|error| unreadable(host, error))? {
            let Ok(below) = path.strip_prefix(host) else { continue };
            let guest = guest.join(below);
            match entry {
                Entry::Folder => self.tree.add_folder(&guest),
                Entry::Link(target) => self.tree.add_link(&guest, &target),
                Entry::File => {
                    self.tree.add_file(&guest, &path);
                    self.add_needs(&path, Needs::IfThere)?;
                }
            }
        }
        Ok(())
    }

    fn add_file(&mut self, host: &Path, guest: &Path, needs: Needs) -> Result<(), Error> {
        let real = fs::canonicalize(host).map_err(|error| unreadable(host, error))?;
        if !self.tree.has(guest) {
            self.tree.add_file(if host == guest { &real } else { guest }, &real);
            self.tree.add_link(guest, &real);
        }
        self.add_needs(&real, needs)
    }

    /// Adds the libraries of a program or library, or the interpreter of a script. Other files need nothing.
    fn add_needs(&mut self, file: &Path, needs: Needs) -> Result<(), Error> {
        if self.seen.get(file).is_some_and(|seen| *seen >= needs) {
            return Ok(());
        }
        self.seen.insert(file.to_owned(), needs);
        if let Some(words) = interpreter_line(file) {
            return words.iter().try_for_each(|word| self.add_interpreter(file, word, needs));
        }
        let Some(elf) = ElfFile::read(file).usable() else { return Ok(()) };
        if let Some(linker) = &elf.interpreter {
            self.add_interpreter(file, linker, needs)?;
        }
        let libraries = self.search.libraries(file, elf);
        match libraries.missing {
            Some(missing) if needs == Needs::Required => {
                let (file, missing) = (file.display(), missing.display());
                Err(Error::CannotRun(format!("{file}: its library {missing} is not there: install it")))
            }
            _ => libraries.files.iter().try_for_each(|library| self.add_program(library, Needs::IfThere)),
        }
    }

    /// Adds what executes a file. A data file can name anything, also a folder.
    fn add_interpreter(&mut self, file: &Path, interpreter: &Path, needs: Needs) -> Result<(), Error> {
        match interpreter.is_file() {
            true => self.add_program(interpreter, Needs::IfThere),
            false if needs == Needs::IfThere => Ok(()),
            false => Err(Error::CannotRun(format!(
                "{}: what executes it, {}, is not there: install it",
                file.display(),
                interpreter.display()
            ))),
        }
    }
}

/// The programs that a script's first line names: its interpreter, and the program that env(1) executes. None if the file is no
/// script.
fn interpreter_line(file: &Path) -> Option<Vec<PathBuf>> {
    let mut head = Vec::new();
    regular::open(file, Links::Followed).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let interpreter = PathBuf::from(words.next()?);
    let is_env = interpreter.file_name().is_some_and(|name| name == "env");
    let executed = words.find(|word| !word.starts_with('-')).filter(|_| is_env).and_then(in_path);
    Some([interpreter].into_iter().chain(executed).collect())
}

/// The executable file of this name in the host's `PATH`.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut files =
        env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    files.find(|file| reach::is_executable(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::initramfs::tree::Node;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn program_comes_with_its_libraries_and_a_script_with_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let (script, link) = (folder.path().join("script"), folder.path().join("link"));
        fs::write(&script, "#!/usr/bin/env -S sh -e\necho\n").unwrap();
        symlink(&script, &link).unwrap();
        let mut tree = Tree::with_system();
        Closure::new(&mut tree).add_command(&link).unwrap();
        for path in [&script, &link, Path::new("/usr/bin/env"), &in_path("sh").unwrap()] {
            assert!(tree.has(path), "{}", path.display());
        }
        let has_libc = tree.nodes().any(|(path, _)| path.ends_with("libc.so.6"));
        assert!(has_libc && tree.has(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    /// The bytes of this test's program with another dynamic linker.
    fn with_linker(linker: &str) -> Vec<u8> {
        let mut bytes = fs::read("/proc/self/exe").unwrap();
        let old = b"/lib64/ld-linux-x86-64.so.2\0";
        let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
        bytes[at..at + old.len()].fill(0);
        bytes[at..at + linker.len()].copy_from_slice(linker.as_bytes());
        bytes
    }

    #[test]
    fn folder_comes_with_all_that_can_be_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("sub/empty")).unwrap();
        fs::write(path("sub/data"), "x").unwrap();
        symlink("/nothing", path("dangling")).unwrap();
        symlink("sub", path("link")).unwrap();
        nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(path("broken"), b"\x7fELF\x02\x01\x01").unwrap();
        fs::write(path("script"), "#!/no/such/interpreter\n").unwrap();
        fs::write(path("strange"), with_linker("/")).unwrap();
        let mut tree = Tree::with_system();
        Closure::new(&mut tree).add(folder.path(), Path::new("/data")).unwrap();
        let node = |name: &str| {
            let path = Path::new("/data").join(name);
            tree.nodes().find(|(at, _)| *at == path).map(|(_, node)| node.clone())
        };
        for name in ["sub/data", "broken", "script", "strange"] {
            assert_eq!(node(name), Some(Node::File(path(name))));
        }
        assert_eq!(node("sub/empty"), Some(Node::Folder));
        assert_eq!(node("dangling"), Some(Node::Link("/nothing".into())));
        assert_eq!(node("link"), Some(Node::Link("sub".into())));
        assert_eq!(node("fifo"), None);
        assert!(!tree.has(Path::new("/root/.profile")) && !tree.has(Path::new("/boot")), "/ was added");
    }

    #[test]
    fn command_in_a_folder_that_came_before_needs_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        let mut tree = Tree::with_system();
        let mut closure = Closure::new(&mut tree);
        closure.add(folder.path(), folder.path()).unwrap();
        assert_eq!(closure.add_command(&script).unwrap_err().code(), 126);
    }

    #[test]
    fn linker_that_a_file_names_is_not_executed() {
        let folder = tempfile::tempdir().unwrap();
        let (linker, mark) = (folder.path().join("l"), folder.path().join("mark"));
        fs::write(&linker, format!("#!/bin/sh\necho run >{}\n", mark.display())).unwrap();
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("program");
        fs::write(&program, with_linker(linker.to_str().unwrap())).unwrap();
        let mut tree = Tree::with_system();
        Closure::new(&mut tree).add(folder.path(), folder.path()).unwrap();
        assert!(tree.has(&program) && !mark.exists());
    }

    #[test]
    fn command_that_cannot_be_executed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let refusal = |bytes: &[u8]| {
            fs::write(&program, bytes).unwrap();
            let mut tree = Tree::with_system();
            let error = Closure::new(&mut tree).add_command(&program).unwrap_err();
            assert_eq!(error.code(), 126);
            error.to_string()
        };
        assert!(refusal(b"\x7fELF\x02\x01\x01").contains("is damaged, or for another processor: "));
        assert!(
            refusal(b"#!/no/such/interpreter\n").contains("executes it, /no/such/interpreter, is not there")
        );
        assert!(refusal(&with_linker("/no/linker")).contains("/no/linker, is not there: install it"));
    }
}
