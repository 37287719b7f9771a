//! What a program needs beside its own file: its libraries, its dynamic linker, its interpreter.

use super::archive::{files_below, unreadable};
use super::tree::Tree;
use std::collections::HashSet;
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unspin_launch::error::Error;
use unspin_sys::child;

/// Adds files to a tree, with all that they need.
pub(super) struct Closure<'t> {
    tree: &'t mut Tree,
    /// Files of the host whose needs have been added.
    seen: HashSet<PathBuf>,
}

impl<'t> Closure<'t> {
    /// Adds to this tree.
    pub fn new(tree: &'t mut Tree) -> Closure<'t> {
        Closure { tree, seen: HashSet::new() }
    }

    /// Adds a program at its own path. If that is a symbolic link, it stays one: programs look for files beside their target.
    pub fn add_program(&mut self, program: &Path) -> Result<(), Error> {
        self.add(program, &std::path::absolute(program).map_err(|error| unreadable(program, error))?)
    }

    /// Adds a file of the host, or a folder with all its files, at a path of the guest.
    pub fn add(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        if host.is_dir() {
            let files = files_below(host).map_err(|error| unreadable(host, error))?;
            self.tree.add_folder(guest);
            return files.iter().try_for_each(|file| match file.strip_prefix(host) {
                Ok(below) if file.exists() => self.add(file, &guest.join(below)),
                // A symbolic link to nothing.
                _ => Ok(()),
            });
        }
        if self.tree.has(guest) {
            return Ok(());
        }
        let real = fs::canonicalize(host).map_err(|error| unreadable(host, error))?;
        self.tree.add_file(if host == guest { &real } else { guest }, &real);
        self.tree.add_link(guest, &real);
        self.add_libraries(&real)
    }

    /// Adds the libraries of a program or library, or the interpreter of a script. Other files need nothing.
    pub fn add_libraries(&mut self, file: &Path) -> Result<(), Error> {
        if !self.seen.insert(file.to_owned()) {
            return Ok(());
        }
        match interpreter_line(file) {
            Some(words) => words.iter().try_for_each(|word| self.add_program(word)),
            None => {
                let Some(linker) = unspin_symbols::File::open(file).and_then(|elf| elf.interpreter()) else {
                    return Ok(());
                };
                self.add_program(&linker)?;
                libraries(&linker, file)?.iter().try_for_each(|library| self.add_program(library))
            }
        }
    }
}

/// The programs that a script's first line names: its interpreter, and the program that env(1) executes. None if the file is no
/// script.
fn interpreter_line(file: &Path) -> Option<Vec<PathBuf>> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(256).read_to_end(&mut head).ok()?;
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
    files.find(|file| unspin_launch::program::reach::is_executable(file))
}

/// The libraries of a program, by its own dynamic linker, which knows all the places where they may lie.
fn libraries(linker: &Path, program: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut list = Command::new(linker);
    list.arg("--list").arg(program).env_remove("LD_PRELOAD").stdin(Stdio::null());
    let listed = child::kill_on_parent_death(&mut list).output().map_err(|error| {
        Error::CannotRun(format!("{}: its dynamic linker {}: {error}", program.display(), linker.display()))
    })?;
    let text = String::from_utf8_lossy(&listed.stdout);
    parse_list(&text).map_err(|missing| {
        Error::CannotRun(format!("{}: its library {missing} is not there: install it", program.display()))
    })
}

/// The paths in what `ld.so --list` prints; the name of a library that is missing as error.
fn parse_list(text: &str) -> Result<Vec<PathBuf>, &str> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let (name, file) = line.split_once(" => ").unwrap_or((line, line));
        if file.starts_with("not found") {
            return Err(name);
        }
        let file = file.rsplit_once(" (0x").map_or(file, |(file, _)| file);
        if file.starts_with('/') {
            found.push(file.into());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn libraries_are_those_with_a_path() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse_list(text), Ok(paths.to_vec()));
        assert_eq!(parse_list("\tlibgone.so.1 => not found\n"), Err("libgone.so.1"));
        assert_eq!(parse_list("\tstatically linked\n"), Ok(Vec::new()));
    }

    #[test]
    fn program_comes_with_its_libraries_and_a_script_with_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let (script, link) = (folder.path().join("script"), folder.path().join("link"));
        fs::write(&script, "#!/usr/bin/env -S sh -e\necho\n").unwrap();
        symlink(&script, &link).unwrap();
        let mut tree = Tree::with_system();
        Closure::new(&mut tree).add_program(&link).unwrap();
        for path in [&script, &link, Path::new("/usr/bin/env"), &in_path("sh").unwrap()] {
            assert!(tree.has(path), "{}", path.display());
        }
        let has_libc = tree.nodes().any(|(path, _)| path.ends_with("libc.so.6"));
        assert!(has_libc && tree.has(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    #[test]
    fn folder_comes_with_the_files_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/data"), "x").unwrap();
        symlink("/nothing", folder.path().join("dangling")).unwrap();
        let mut tree = Tree::with_system();
        Closure::new(&mut tree).add(folder.path(), Path::new("/data")).unwrap();
        assert!(tree.has(Path::new("/data/sub/data")) && !tree.has(Path::new("/data/dangling")));
    }
}
