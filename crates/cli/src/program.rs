//! The program to run: found, and checked for whether the preload library can reach it.
//!
//! The dynamic linker ignores `LD_PRELOAD` in silence where it does not apply; a measurement of such a program
//! would compare it with itself. So everything that can be known beforehand is checked, and said.

use crate::error::Error;
use object::LittleEndian;
use object::elf::{EM_X86_64, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_sys::creds::Creds;

/// The workloads that unspin has itself, by the name of their command.
pub const WORKLOADS: [&str; 1] = ["semopbench"];

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// What it is called by: its `argv[0]`.
    pub name: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Finds the program that a command line names, and checks that the preload library can reach it. The name
    /// of a workload means the workload; a program of that name is had by its path.
    pub fn find(command: &[OsString]) -> Result<Program, Error> {
        let (name, arguments) = command.split_first().expect("clap wants a command");
        if is_workload(name) {
            return Ok(Program { path: ourselves(), name: "unspin".into(), arguments: command.to_vec() });
        }
        let path = search(name, std::env::var_os("PATH"))?;
        check(&path, &Creds::current(), Depth(0))?;
        Ok(Program { path, name: name.clone(), arguments: arguments.to_vec() })
    }

    /// A command that starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.name).args(&self.arguments);
        command
    }

    /// The workload that it is, if it is one.
    pub fn workload(&self) -> Option<&'static str> {
        let first = self.arguments.first()?;
        WORKLOADS.into_iter().find(|w| self.path == ourselves() && first == w)
    }
}

fn is_workload(name: &OsStr) -> bool {
    WORKLOADS.iter().any(|w| name == *w)
}

/// Our own file; through `/proc` if it has been replaced or removed since we were started.
fn ourselves() -> PathBuf {
    std::env::current_exe().ok().filter(|p| p.exists()).unwrap_or_else(|| "/proc/self/exe".into())
}

/// As execvp(3) does: a name with a slash is a path, any other is looked for in `PATH`.
fn search(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, Error> {
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match fs::metadata(&file) {
            Ok(_) => Ok(file),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(Error::NotFound(format!("{shown}: there is no such program")))
            }
            Err(e) => Err(Error::CannotRun(format!("{shown}: {e}"))),
        };
    }
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let files = std::env::split_paths(&path).map(|folder| folder.join(name)).filter(|f| f.is_file());
    let mut unusable = None;
    for file in files {
        if executable(&file) {
            return Ok(file);
        }
        unusable.get_or_insert(file);
    }
    match unusable {
        Some(file) => Ok(file), // What is wrong with it is found, and said, by `check`.
        None => Err(Error::NotFound(format!(
            "{shown}: there is no such program in PATH (a file in this folder is ./{shown})"
        ))),
    }
}

/// Whether somebody may execute it. That we may is for exec to find out.
fn executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
}

/// How many interpreters of interpreters have been followed.
#[derive(Clone, Copy)]
struct Depth(u32);

/// The kernel gives up with ELOOP after this many: `exec_binprm` in fs/exec.c.
const DEPTH_MAX: u32 = 5;

fn check(path: &Path, creds: &Creds, depth: Depth) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::CannotRun(format!("{}: {why}", path.display())));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) => return refuse(e.to_string()),
    };
    if metadata.is_dir() {
        return refuse("is a folder, not a program".into());
    }
    if !executable(path) {
        return refuse("is not executable (chmod +x makes it so)".into());
    }
    let head = match read_head(path) {
        Ok(head) => head,
        // Execute permission suffices for exec; what we cannot read we cannot check.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(()),
        Err(e) => return refuse(e.to_string()),
    };
    if head.starts_with(b"#!") {
        return check_script(path, &head, creds, depth);
    }
    privileges(path, &metadata, creds).map_or(Ok(()), |why| {
        refuse(format!("{why}: the dynamic linker ignores LD_PRELOAD for it; run a copy without (cp)"))
    })?;
    linkage(&head).map_or(Ok(()), refuse)
}

/// Enough for the program headers, which linkers put right behind the file header, and for a `#!` line.
const HEAD_BYTES: u64 = 64 * 1024;

fn read_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

fn check_script(path: &Path, head: &[u8], creds: &Creds, depth: Depth) -> Result<(), Error> {
    let line = head[2..].split(|&b| b == b'\n').next().unwrap_or_default();
    let words = line.split(|b| b" \t\r".contains(b));
    let interpreter = words.into_iter().find(|word| !word.is_empty()).unwrap_or_default();
    let interpreter = Path::new(OsStr::from_bytes(interpreter));
    let refuse = |why: String| {
        let script = path.display();
        Err(Error::CannotRun(format!("{script}: its interpreter {}: {why}", interpreter.display())))
    };
    if depth.0 >= DEPTH_MAX {
        return refuse("is a script of a script of a script: the kernel gives up".into());
    }
    if !interpreter.exists() {
        return refuse("there is no such program (first line of the script)".into());
    }
    match check(interpreter, creds, Depth(depth.0 + 1)) {
        Err(Error::CannotRun(why)) => {
            Err(Error::CannotRun(format!("{}: its interpreter {why}", path.display())))
        }
        other => other,
    }
}

/// Why the kernel would start the program in secure mode (AT_SECURE of getauxval(3)), if it would.
fn privileges(path: &Path, metadata: &fs::Metadata, creds: &Creds) -> Option<&'static str> {
    let bits = Privileges {
        set_uid: (metadata.mode() & 0o4000 != 0).then(|| metadata.uid()),
        // Without group execute permission the bit means something else (mandatory locking).
        set_gid: (metadata.mode() & 0o2010 == 0o2010).then(|| metadata.gid()),
        capabilities: CString::new(path.as_os_str().as_bytes())
            .is_ok_and(|path| unspin_sys::file::has_attribute(&path, c"security.capability")),
    };
    bits.reason(creds)
}

struct Privileges {
    set_uid: Option<u32>,
    set_gid: Option<u32>,
    capabilities: bool,
}

impl Privileges {
    /// A change to the ids that we have is none, and to the superuser file capabilities add nothing.
    fn reason(&self, creds: &Creds) -> Option<&'static str> {
        if self.set_uid.is_some_and(|uid| uid != creds.uid) {
            Some("is set-uid")
        } else if self.set_gid.is_some_and(|gid| gid != creds.gid) {
            Some("is set-gid")
        } else if self.capabilities && creds.uid != 0 {
            Some("has file capabilities")
        } else {
            None
        }
    }
}

/// What stands between the library and a program with this head, if anything.
fn linkage(head: &[u8]) -> Option<String> {
    if !head.starts_with(b"\x7fELF") {
        return Some("is neither an ELF program nor a script that begins with #!".into());
    }
    let foreign = || Some("is not a 64-bit x86 program: the preload library is".into());
    // 32-bit programs have another header, so the class is looked at first: e_ident[EI_CLASS] of elf(5).
    if head.get(4) != Some(&2) || head.get(5) != Some(&1) {
        return foreign();
    }
    let Ok(header) = FileHeader64::<LittleEndian>::parse(head) else {
        return Some("its ELF header is damaged".into());
    };
    if header.e_machine(LittleEndian) != EM_X86_64 {
        return foreign();
    }
    let Ok(segments) = header.program_headers(LittleEndian, head) else {
        return Some("its ELF program headers are damaged".into());
    };
    let Some(segment) = segments.iter().find(|s| s.p_type(LittleEndian) == PT_INTERP) else {
        return Some("is statically linked: there is no dynamic linker to preload anything".into());
    };
    let interpreter = segment.data(LittleEndian, head).unwrap_or_default();
    let interpreter = String::from_utf8_lossy(interpreter.strip_suffix(b"\0").unwrap_or(interpreter));
    if interpreter.contains("ld-musl") {
        return Some(format!("uses another C library ({interpreter}); the preload library is for glibc"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(folder: &Path, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        check(path, &Creds::current(), Depth(0)).unwrap_err().to_string()
    }

    #[test]
    fn programs_are_found_as_execvp_finds_them() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        file(a.path(), "tool", b"", 0o644);
        let usable = file(b.path(), "tool", b"", 0o755);
        let path = std::env::join_paths([a.path(), b.path()]).unwrap();
        assert_eq!(search("tool".as_ref(), Some(path.clone())).unwrap(), usable);
        let only_a = Some(a.path().as_os_str().to_owned());
        assert_eq!(search("tool".as_ref(), only_a).unwrap(), a.path().join("tool"));
        assert!(matches!(search("nothing".as_ref(), Some(path)), Err(Error::NotFound(_))));
        assert!(matches!(search("/nothing/at/all".as_ref(), None), Err(Error::NotFound(_))));
    }

    #[test]
    fn what_cannot_be_executed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let f = |name, contents: &[u8], mode| refusal(&file(folder.path(), name, contents, mode));
        assert!(f("plain", b"\x7fELF", 0o644).contains("not executable"));
        assert!(f("text", b"hello\n", 0o755).contains("neither an ELF program nor a script"));
        assert!(f("short", b"\x7fELF\x02\x01", 0o755).contains("damaged"));
        assert!(f("32-bit", b"\x7fELF\x01\x01", 0o755).contains("not a 64-bit x86"));
        assert!(f("lost", b"#! /no/such/interpreter -x\n", 0o755).contains("/no/such/interpreter"));
        assert!(f("bare", b"#!\n", 0o755).contains("interpreter"));
        assert!(refusal(folder.path()).contains("is a folder"));
    }

    #[test]
    fn scripts_are_as_good_as_their_interpreters() {
        let folder = tempfile::tempdir().unwrap();
        let good = file(folder.path(), "good", b"#!/bin/sh\necho\n", 0o755);
        check(&good, &Creds::current(), Depth(0)).unwrap();
        let own = folder.path().join("loop");
        let looped = file(folder.path(), "loop", format!("#!{}\n", own.display()).as_bytes(), 0o755);
        assert!(refusal(&looped).contains("kernel gives up"));
    }

    #[test]
    fn headers_decide() {
        let ourselves = read_head(&ourselves()).unwrap();
        assert_eq!(linkage(&ourselves), None);
        let mut other_machine = ourselves.clone();
        other_machine[18] = 183; // e_machine: EM_AARCH64
        assert!(linkage(&other_machine).unwrap().contains("not a 64-bit x86"));
        let mut fixed = ourselves;
        fixed[56] = 0; // e_phnum: no program headers, so no interpreter
        fixed[57] = 0;
        assert!(linkage(&fixed).unwrap().contains("statically linked"));
    }

    #[test]
    fn privileges_that_change_nothing_do_not_matter() {
        let creds = |uid| Creds { uid, gid: 5, groups: Vec::new(), capabilities: 0 };
        let reason = |set_uid, set_gid, capabilities, uid| {
            Privileges { set_uid, set_gid, capabilities }.reason(&creds(uid))
        };
        assert_eq!(reason(Some(0), None, false, 1000), Some("is set-uid"));
        assert_eq!(reason(Some(0), None, false, 0), None);
        assert_eq!(reason(None, Some(5), false, 0), None);
        assert_eq!(reason(None, Some(6), false, 0), Some("is set-gid"));
        assert_eq!(reason(None, None, true, 1000), Some("has file capabilities"));
        assert_eq!(reason(None, None, true, 0), None);
    }
}
